// The header of a request that names the server.
#ifndef FGNN_SHARED_HTTP_HOST_HEADER_H_
#define FGNN_SHARED_HTTP_HOST_HEADER_H_

#include <string>

namespace fgnn {

// Whether a request with this Host header ("NAME" or "NAME:PORT") may be
// answered. A page of another site can give its own name an address of this
// machine, and then read what is served here: its requests bear that name.
// So the name has to be numeric, "localhost", or `bound_host`.
bool IsHostAllowed(const std::string& host_header,
                   const std::string& bound_host);

}  // namespace fgnn

#endif  // FGNN_SHARED_HTTP_HOST_HEADER_H_
