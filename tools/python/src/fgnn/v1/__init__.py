"""What the protos of the package fgnn.v1 say, made when this was built."""
