// Serves ExecutorService for a daemon, on <state dir>/executors/<name>.sock.
// Shows no protobuf.
#ifndef FGNN_SHARED_RPC_EXECUTOR_SERVER_H_
#define FGNN_SHARED_RPC_EXECUTOR_SERVER_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/types.h"
#include "shared/config/job_spec.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fgnn {

struct JobAttachment {
  std::string job_id;
  JobSpec spec;  // Effective.
  OwnerIndex owner = kNoOwner;
  std::optional<uint32_t> overflow_block;  // Samplers: theirs.
  uint64_t scheduler_generation = 0;
  // Its number among the job's of its role; where devices take turns, of its
  // device.
  uint32_t device = 0;
};

// What a daemon does when the scheduler asks. Called on threads of the server,
// never two calls at once.
class ExecutorHandler {
 public:
  virtual ~ExecutorHandler() = default;
  // Takes part in the job; returns when the work loop is attached. Idempotent
  // for the same job id. FailedPrecondition: attached to another job.
  virtual absl::Status Attach(const JobAttachment& attachment) = 0;
  // Leaves the job; OK if it is not attached to it.
  virtual absl::Status Detach(const std::string& job_id) = 0;
  // Asks the daemon to drain and exit; returns at once.
  virtual void RequestStop() = 0;
};

class ExecutorServer {
 public:
  // `handler` and `extra_services` (SamplerService, TrainerService) are
  // borrowed until after Shutdown(). Errors as those of RpcServer::Start().
  static absl::StatusOr<std::unique_ptr<ExecutorServer>> Start(
      const std::filesystem::path& state_dir, const std::string& name,
      ExecutorHandler* handler,
      const std::vector<grpc::Service*>& extra_services);
  ~ExecutorServer();
  ExecutorServer(const ExecutorServer&) = delete;
  ExecutorServer& operator=(const ExecutorServer&) = delete;

  // As RpcServer::Shutdown().
  void Shutdown(std::chrono::milliseconds grace);

 private:
  class Impl;
  explicit ExecutorServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_RPC_EXECUTOR_SERVER_H_
