// Hands over the descriptor of a job's segment, which gRPC cannot carry: to a
// daemon that is being attached, and back to a scheduler that was restarted.
// And that of memory that its trainers share: their hot table, and memory for
// one evaluation.
//
// A SOCK_SEQPACKET Unix socket; one request and one reply a connection:
//
//   daemon -> scheduler   "segment <job id>"
//   scheduler -> daemon   "ok" with the descriptor (SCM_RIGHTS)
//
//   daemon -> scheduler   "scratch <number> <job id>"
//   scheduler -> daemon   "ok" with the descriptor
//
//   daemon -> scheduler   "return <job id>" with the descriptor
//   scheduler -> daemon   "ok"
//
//   trainer -> scheduler  "table <job id>" with the descriptor
//   scheduler -> trainer  "ok"
//
// or "error <canonical code> <message>" to either.
//
// The kernel names the peer (SO_PEERCRED): processes of another user are
// refused. Sees neither gRPC nor protobuf.
#ifndef FGNN_SHARED_RPC_SOCKETS_DESCRIPTORS_H_
#define FGNN_SHARED_RPC_SOCKETS_DESCRIPTORS_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"

namespace fgnn {

// Called for peers of this process's user, on the server's thread. Must not
// block.
struct DescriptorHandlers {
  // Returns the job's descriptor to be sent, borrowed until the next call, or
  // an error.
  std::function<absl::StatusOr<int>(pid_t peer, const std::string& job_id)>
      give;
  // Returns the shared memory of that number, or an error. Empty: there is no
  // such memory.
  std::function<absl::StatusOr<UniqueFd>(pid_t peer, const std::string& job_id,
                                         uint64_t number)>
      give_scratch = nullptr;
  // Takes a segment that a daemon returns. Empty: none is taken.
  std::function<absl::Status(const std::string& job_id, UniqueFd fd)>
      take_back = nullptr;
  // Takes a hot table that a trainer returns. Empty: none is taken.
  std::function<absl::Status(const std::string& job_id, UniqueFd fd)>
      take_table = nullptr;
};

class DescriptorServer {
 public:
  // Errors: those of RpcServer::Start().
  static absl::StatusOr<std::unique_ptr<DescriptorServer>> Start(
      const std::filesystem::path& socket_path, DescriptorHandlers handlers);
  // Stops the thread and removes the socket.
  ~DescriptorServer();
  DescriptorServer(const DescriptorServer&) = delete;
  DescriptorServer& operator=(const DescriptorServer&) = delete;

 private:
  struct State;
  explicit DescriptorServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Asks for the segment of a job. Returns the handler's error unchanged.
// PermissionDenied: the server runs as another user. Unavailable: no server
// listens, or it went away. DeadlineExceeded.
absl::StatusOr<UniqueFd> RequestSegment(
    const std::filesystem::path& socket_path, const std::string& job_id,
    Deadline deadline);

// Asks for the memory of that number that trainers of a job share. Errors:
// those of RequestSegment().
absl::StatusOr<UniqueFd> RequestScratch(
    const std::filesystem::path& socket_path, const std::string& job_id,
    uint64_t number, Deadline deadline);

// Gives `fd`, the segment of a job that an earlier scheduler made, to the
// scheduler that listens now. Errors: those of RequestSegment().
absl::Status ReturnSegment(const std::filesystem::path& socket_path,
                           const std::string& job_id, int fd,
                           Deadline deadline);
// Does the same with the hot table that the trainers of the job share.
absl::Status ReturnTable(const std::filesystem::path& socket_path,
                         const std::string& job_id, int fd, Deadline deadline);

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_SOCKETS_DESCRIPTORS_H_
