// Requests as bytes, to every handler of the scheduler's two sockets and of a
// daemon's. Byte 0 chooses the method.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

#include "scheduler/host/daemon_host.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/rpc/control_server.h"
#include "scheduler/rpc/grpc_executor_calls.h"
#include "scheduler/rpc/idle_end.h"
#include "shared/config/state_dir.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/executor_server.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/temp_folder.h"
#include "tests/fuzz/fuzz_target.h"

namespace fgnn {
namespace {

constexpr const char* kMethods[] = {
    "/fgnn.v1.JobService/SubmitJob",      "/fgnn.v1.JobService/GetJob",
    "/fgnn.v1.JobService/ListJobs",       "/fgnn.v1.JobService/WatchJob",
    "/fgnn.v1.JobService/CancelJob",      "/fgnn.v1.JobService/GetService",
    "/fgnn.v1.JobService/Shutdown",       "/fgnn.v1.HostService/Register",
    "/fgnn.v1.HostService/Heartbeat",     "/fgnn.v1.ExecutorService/AttachJob",
    "/fgnn.v1.ExecutorService/DetachJob", "/fgnn.v1.ExecutorService/Stop",
    "/fgnn.v1.ExecutorService/OpenJob",   "/fgnn.v1.JobService/NoSuchMethod",
    "/fgnn.v1.JobService/PauseJob",       "/fgnn.v1.JobService/ContinueJob",
    "/fgnn.v1.JobService/GetMetrics",     "/fgnn.v1.JobService/DeleteJob",
    "/fgnn.v1.JobService/KeepRunning"};
constexpr size_t kFirstOfHost = 7;
constexpr size_t kFirstOfExecutor = 9;
constexpr size_t kLastOfExecutor = 12;
constexpr size_t kUnknown = 13;
constexpr std::chrono::milliseconds kPatience{200};

class Handler final : public ExecutorHandler {
 public:
  void Open(OpenJobRequest) override {}
  absl::Status Attach(const AttachJobRequest&) override {
    return absl::OkStatus();
  }
  absl::Status Detach(const std::string&) override { return absl::OkStatus(); }
  std::string MetricsText() override { return ""; }
  void RequestStop() override {}
};

// Lives as long as the process.
struct Servers {
  Servers() {
    const auto& folder = temp.path();
    table = JobTable::Open(JobStore::Open(folder / "jobs.sqlite").value(),
                           folder, {.max_queued = 100})
                .value();
    DaemonHostOptions options;
    options.state_dir = folder;
    options.version = "test";
    host = DaemonHost::Start(std::move(options), calls.get()).value();
    std::filesystem::create_directories(LogPath(folder, "audit").parent_path());
    server = ControlServer::Start({.version = "test",
                                   .state_dir = folder.string(),
                                   .started_ms = 1,
                                   .devices = Devs({"cpu:0"}),
                                   .idle_end = &idle_end,
                                   .shut_down = [] {}},
                                  table.get(), host.get())
                 .value();
    std::filesystem::create_directories(
        ExecutorSocketPath(folder, "sampler.0").parent_path());
    executor = ExecutorServer::Start(folder, "sampler.0", &handler, {}).value();
    scheduler_stub = std::make_unique<grpc::GenericStub>(
        MakeChannel(SchedulerSocketPath(folder)).value());
    host_stub = std::make_unique<grpc::GenericStub>(
        MakeChannel(DaemonsSocketPath(folder)).value());
    executor_stub = std::make_unique<grpc::GenericStub>(
        MakeChannel(ExecutorSocketPath(folder, "sampler.0")).value());
  }

  // The stub of the socket that serves the method.
  grpc::GenericStub& StubOf(size_t method) const {
    if (method < kFirstOfHost || method > kLastOfExecutor) {
      return *scheduler_stub;
    }
    return method < kFirstOfExecutor ? *host_stub : *executor_stub;
  }

  TempFolder temp;
  Handler handler;
  const std::unique_ptr<ExecutorCalls> calls = NewGrpcExecutorCalls();
  std::unique_ptr<JobTable> table;
  std::unique_ptr<DaemonHost> host;
  IdleEnd idle_end{/*ends_when_idle=*/false};
  std::unique_ptr<ControlServer> server;
  std::unique_ptr<ExecutorServer> executor;
  std::unique_ptr<grpc::GenericStub> scheduler_stub, host_stub, executor_stub;
};

// The answer does not matter, but there is one in time.
void Call(const Servers& servers, size_t method,
          const grpc::ByteBuffer& request) {
  grpc::ClientContext context;
  SetDeadline(context, kPatience);
  grpc::CompletionQueue queue;
  const auto reader = servers.StubOf(method).PrepareUnaryCall(
      &context, kMethods[method], request, &queue);
  reader->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  reader->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  Require(queue.Next(&tag, &ok), "no answer");
  queue.Shutdown();
  Require(status.error_code() != grpc::StatusCode::UNAVAILABLE,
          "the server has gone");
  // gRPC's own answer has no words.
  const bool is_served =
      status.error_code() != grpc::StatusCode::UNIMPLEMENTED ||
      !status.error_message().empty();
  Require(is_served != (method == kUnknown) ||
              status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED,
          "the socket serves the methods it is to serve, and no other");
}

}  // namespace
}  // namespace fgnn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fgnn;
  static Servers servers;  // Shut down at exit.
  if (size == 0) return 0;
  const size_t method = data[0] % std::size(kMethods);
  const grpc::Slice slice(data + 1, size - 1);
  Call(servers, method, grpc::ByteBuffer(&slice, 1));
  return 0;
}
