// Packets on the socket for descriptors: their words, and how they are sent and
// received. Private to this folder; descriptors.h has the protocol.
#ifndef FGNN_SHARED_RPC_SOCKETS_DESCRIPTOR_PACKET_H_
#define FGNN_SHARED_RPC_SOCKETS_DESCRIPTOR_PACKET_H_

#include <sys/socket.h>

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

inline constexpr size_t kMaxPacketBytes = 4096;
inline constexpr absl::string_view kRequestWord = "segment";
inline constexpr absl::string_view kScratchWord = "scratch";
inline constexpr absl::string_view kReturnWord = "return";
inline constexpr absl::string_view kTableWord = "table";
inline constexpr absl::string_view kDoneWord = "ok";
inline constexpr absl::string_view kErrorWord = "error";

struct Packet {
  std::string text;
  UniqueFd fd;  // Descriptor that came with the text; invalid: none.
};

// `what` is the caller's doing, for messages.

// Sends `text`, with `fd` if it is not negative. Does not wait.
absl::Status SendPacket(int socket, absl::string_view text, int fd,
                        const std::string& what);
// Waits for a packet. DeadlineExceeded: none came. Unavailable: the peer went
// away. InvalidArgument: the packet is too long, or has several descriptors.
absl::StatusOr<Packet> ReceivePacket(int socket, Deadline deadline,
                                     const std::string& what);
// Returns the peer. PermissionDenied: it runs as another user.
absl::StatusOr<ucred> PeerOfSameUser(int socket, const std::string& what);
// Returns the Status that the text "error 5 no such job" stands for. Internal:
// the text is no error.
absl::Status ParseError(const std::string& text, const std::string& what);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_SOCKETS_DESCRIPTOR_PACKET_H_
