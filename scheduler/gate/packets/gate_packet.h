// What the scheduler and a gate say to each other, on a pair of SOCK_SEQPACKET
// sockets:
//
//   gate -> scheduler   "failed CODE TEXT", if it cannot begin, or
//   gate -> scheduler   "ready", and later, at any time:
//   gate -> scheduler   "expires SECONDS"          end of its certificate
//   gate -> scheduler   "says TEXT"                a line for the log
//   gate -> scheduler   "refused REASON KEY TEXT"  a connection that it ended
//   scheduler -> gate   KEY with two descriptors: a client's connection, and
//                       one end of a pair whose other end gRPC serves
//
// The key says whose connection it is: an address, or "uid:1000". REASON is a
// word of RefusalReason.
#ifndef FGNN_SCHEDULER_GATE_PACKETS_GATE_PACKET_H_
#define FGNN_SCHEDULER_GATE_PACKETS_GATE_PACKET_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

struct HandedConnection {
  std::string key;
  UniqueFd client;  // The connection of the client.
  UniqueFd server;  // The connection to the scheduler's gRPC server.
};

// Headers that the gate adds to each call. Those of a client that begin so are
// dropped.
inline constexpr absl::string_view kGateHeaderPrefix = "fgnn-";
// The client's key.
inline constexpr char kClientHeader[] = "fgnn-client";
// The certificates in PEM that the client has shown, its own first. gRPC's
// metadata of that name has their bytes.
inline constexpr char kCertificatesHeader[] = "fgnn-certificates-bin";

inline constexpr absl::string_view kReadyWord = "ready";
inline constexpr absl::string_view kFailedWord = "failed";
inline constexpr absl::string_view kExpiresWord = "expires";
inline constexpr absl::string_view kSaysWord = "says";
inline constexpr absl::string_view kRefusedWord = "refused";

// Sends the connection. Does not wait. ResourceExhausted: the socket is full.
// Unavailable: the gate has ended.
absl::Status SendConnection(int socket, const HandedConnection& connection);
// Returns the next connection; nullopt: none waits. Unavailable: the scheduler
// has ended.
absl::StatusOr<std::optional<HandedConnection>> ReceiveConnection(int socket);

// Sends a text, of which the first 4,000 bytes count. Does not wait. Errors as
// of SendConnection().
absl::Status SendReport(int socket, absl::string_view text);
// Returns the next text; nullopt: none waits. Unavailable: the gate has ended.
absl::StatusOr<std::optional<std::string>> ReceiveReport(int socket);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_GATE_PACKETS_GATE_PACKET_H_
