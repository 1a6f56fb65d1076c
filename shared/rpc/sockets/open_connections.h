// Connections that were handed to gRPC, which closes them.
#ifndef FGNN_SHARED_RPC_SOCKETS_OPEN_CONNECTIONS_H_
#define FGNN_SHARED_RPC_SOCKETS_OPEN_CONNECTIONS_H_

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace fgnn {

// Thread-compatible.
class OpenConnections {
 public:
  // Adds an open socket. This object does not own it.
  void Add(int fd);
  // Forgets those that have been closed since.
  void ForgetClosed();
  // Returns the number of connections; some may have been closed meanwhile.
  size_t size() const { return connections_.size(); }
  bool empty() const { return connections_.empty(); }

 private:
  // The inode tells whether the descriptor still belongs to that connection.
  struct Connection {
    int fd = -1;
    ino_t inode = 0;
  };
  std::vector<Connection> connections_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_SOCKETS_OPEN_CONNECTIONS_H_
