// Serves ExecutorService for a daemon, on <state dir>/executors/<name>.sock.
// The header needs no protobuf.
#ifndef FGNN_SHARED_RPC_EXECUTOR_SERVER_H_
#define FGNN_SHARED_RPC_EXECUTOR_SERVER_H_

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/executors/executor_messages.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace fgnn {

// Carries out the scheduler's calls. Called on threads of the server; Open(),
// Attach() and Detach() one at a time.
class ExecutorHandler {
 public:
  virtual ~ExecutorHandler() = default;
  // Keeps the job's spec for the calls that name the job by its id.
  virtual void Open(OpenJobRequest request) = 0;
  // Takes part in the job; returns when the work loop is attached. Idempotent
  // for the same job id and scheduler generation. FailedPrecondition: the
  // daemon is attached to another job, or by another scheduler. Unavailable:
  // the job is not open.
  virtual absl::Status Attach(const AttachJobRequest& request) = 0;
  // Leaves the job. OK if the daemon is not attached to it.
  virtual absl::Status Detach(const std::string& job_id) = 0;
  // Returns the daemon's figures as text for Prometheus. May be called during
  // the other calls; returns soon.
  virtual std::string MetricsText() = 0;
  // Asks the daemon to drain and exit; returns at once.
  virtual void RequestStop() = 0;
};

class ExecutorServer {
 public:
  // `handler` and `extra_services` (SamplerService, TrainerService) are
  // borrowed until after Shutdown(). Errors: those of RpcServer::Start().
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
