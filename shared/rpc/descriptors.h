// Hands over the descriptor of a job's segment, which gRPC cannot carry.
//
// A SOCK_SEQPACKET Unix socket; one request and one reply a connection:
//
//   daemon -> scheduler   "segment <job id>"
//   scheduler -> daemon   "ok" with the descriptor (SCM_RIGHTS), or
//                         "error <canonical code> <message>"
//
// The kernel names the peer (SO_PEERCRED): processes of another user are
// refused. Sees neither gRPC nor protobuf.
#ifndef FGNN_SHARED_RPC_DESCRIPTORS_H_
#define FGNN_SHARED_RPC_DESCRIPTORS_H_

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/base/unique_fd.h"

namespace fgnn {

class DescriptorServer {
 public:
  // Answers a peer of our own user, on the server's thread: the descriptor to
  // be sent, borrowed until the next call, or why not. Must not block.
  using Handler =
      std::function<absl::StatusOr<int>(pid_t peer, const std::string& job_id)>;

  // Errors as those of RpcServer::Start().
  static absl::StatusOr<std::unique_ptr<DescriptorServer>> Start(
      const std::filesystem::path& socket_path, Handler handler);
  // Stops the thread, removes the socket.
  ~DescriptorServer();
  DescriptorServer(const DescriptorServer&) = delete;
  DescriptorServer& operator=(const DescriptorServer&) = delete;

 private:
  struct State;
  explicit DescriptorServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Asks for the segment of a job. The handler's error as it was;
// PermissionDenied: the server runs as another user; Unavailable: nobody
// listens or it went away; DeadlineExceeded.
absl::StatusOr<UniqueFd> RequestSegment(
    const std::filesystem::path& socket_path, const std::string& job_id,
    Deadline deadline);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_DESCRIPTORS_H_
