#include "shared/rpc/executor_server.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "fgnn/v1/executor.grpc.pb.h"
#include "shared/base/status.h"
#include "shared/base/threads/mutex.h"
#include "shared/config/state_dir.h"
#include "shared/rpc/executor_proto.h"
#include "shared/rpc/server.h"

namespace fgnn {
class ExecutorServer::Impl final : public v1::ExecutorService::Service {
 public:
  explicit Impl(ExecutorHandler* handler) : handler_(handler) {}

  absl::Status Serve(const std::filesystem::path& socket_path,
                     const std::vector<grpc::Service*>& extra_services) {
    std::vector<grpc::Service*> services = extra_services;
    services.push_back(this);
    FGNN_ASSIGN_OR_RETURN(server_, RpcServer::Start(socket_path, services));
    return absl::OkStatus();
  }

  void Shutdown(std::chrono::milliseconds grace) { server_->Shutdown(grace); }

  grpc::Status OpenJob(grpc::ServerContext* context,
                       const v1::OpenJobRequest* request,
                       v1::OpenJobResponse*) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(OpenJobRequest read, FromProto(*request));
      const MutexLock lock(&mutex_);
      handler_->Open(std::move(read));
      return absl::OkStatus();
    });
  }

  grpc::Status AttachJob(grpc::ServerContext* context,
                         const v1::AttachJobRequest* request,
                         v1::AttachJobResponse*) override {
    return ServeCall(*context, [&]() -> absl::Status {
      FGNN_ASSIGN_OR_RETURN(const AttachJobRequest read, FromProto(*request));
      const MutexLock lock(&mutex_);
      const uint64_t generation = read.scheduler_generation;
      FGNN_RETURN_IF_ERROR(CheckNotReplacedLocked(generation));
      FGNN_RETURN_IF_ERROR(handler_->Attach(read));
      // The generation is stored only if the attach succeeds: a failed attach
      // must not keep other schedulers out.
      newest_generation_ = generation;
      return absl::OkStatus();
    });
  }

  grpc::Status DetachJob(grpc::ServerContext* context,
                         const v1::DetachJobRequest* request,
                         v1::DetachJobResponse*) override {
    return ServeCall(*context, [&] {
      const MutexLock lock(&mutex_);
      return handler_->Detach(request->job_id());
    });
  }

  grpc::Status ReadMetrics(grpc::ServerContext* context,
                           const v1::ReadMetricsRequest*,
                           v1::ReadMetricsResponse* response) override {
    return ServeCall(*context, [&] {
      response->set_text(handler_->MetricsText());
      return absl::OkStatus();
    });
  }

  grpc::Status Stop(grpc::ServerContext* context, const v1::StopRequest*,
                    v1::StopResponse*) override {
    // Not under the mutex: a daemon can be stopped while it attaches.
    return ServeCall(*context, [&] {
      handler_->RequestStop();
      return absl::OkStatus();
    });
  }

 private:
  // Refuses a scheduler that was replaced and does not know it yet.
  absl::Status CheckNotReplacedLocked(uint64_t generation) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (generation >= newest_generation_) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("attach: scheduler generation ", generation,
                     " has been replaced by ", newest_generation_));
  }

  ExecutorHandler* handler_;
  Mutex mutex_;
  // Newest generation of a scheduler that has attached this daemon.
  uint64_t newest_generation_ ABSL_GUARDED_BY(mutex_) = 0;
  // Last member: it calls the members above.
  std::unique_ptr<RpcServer> server_;
};

ExecutorServer::ExecutorServer(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

ExecutorServer::~ExecutorServer() = default;

absl::StatusOr<std::unique_ptr<ExecutorServer>> ExecutorServer::Start(
    const std::filesystem::path& state_dir, const std::string& name,
    ExecutorHandler* handler,
    const std::vector<grpc::Service*>& extra_services) {
  auto impl = std::make_unique<Impl>(handler);
  FGNN_RETURN_IF_ERROR(
      impl->Serve(ExecutorSocketPath(state_dir, name), extra_services));
  return std::unique_ptr<ExecutorServer>(new ExecutorServer(std::move(impl)));
}

void ExecutorServer::Shutdown(std::chrono::milliseconds grace) {
  impl_->Shutdown(grace);
}

}  // namespace fgnn
