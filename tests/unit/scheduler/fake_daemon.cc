// A daemon for tests of the host part: registers, attaches, moves empty tasks.
// Its log line "holding" says that it holds a slot and will not let go. Built
// as fgnn-sampler and fgnn-trainer of a folder of its own.
//
// Its behaviour is read from the file `orders` of the state folder, a word per
// line: "die-at-start", "mute" (never registers), "hold" or "hold:NAME" (all
// daemons, or the one of that name, claim and hold until killed), "poison"
// (crash once batch 7 is claimed), "die-validating" (SIGBUS once it is asked to
// validate a dataset).
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include "fgnn/v1/executor.grpc.pb.h"
#include "scheduler/planning/placement.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/threads/signal_waiter.h"
#include "shared/config/job_spec.h"
#include "shared/graph/dataset.h"
#include "shared/queue/segment_layout.h"
#include "shared/rpc/executor_daemon.h"
#include "shared/rpc/executor_server.h"
#include "shared/rpc/host_session.h"
#include "shared/rpc/server.h"
#include "shared/rpc/status.h"
#include "shared/telemetry/log.h"
#include "tests/fakes/default_job.h"
#include "tests/unit/scheduler/fake_executor.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;

// Long, so that no daemon ends because it had no turn on a core.
constexpr milliseconds kRegisterWithin{100'000};
constexpr milliseconds kSegmentWithin{100'000};

bool IsOrdered(const std::filesystem::path& state_dir,
               const std::string& wanted) {
  std::ifstream orders(state_dir / "orders");
  std::string word;
  while (orders >> word) {
    if (word == wanted) return true;
  }
  return false;
}

class FakeDaemon final : public ExecutorHandler,
                         public v1::SamplerService::Service,
                         public v1::TrainerService::Service {
 public:
  FakeDaemon(ExecutorRole role, const SignalWaiter* stop)
      : stop_(stop), executor_(role) {}
  FakeExecutor& executor() { return executor_; }
  void DieValidating() { dies_validating_ = true; }
  void UseSession(const HostSession* session) {
    const std::lock_guard<std::mutex> lock(mutex_);
    session_ = session;
    changed_.notify_all();
  }

  void Open(OpenJobRequest request) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    dataset_ = request.spec.dataset;
  }
  absl::Status Attach(const AttachJobRequest& attachment) override {
    const HostSession* session = nullptr;
    {
      // The scheduler may call as soon as it has heard of this daemon, before
      // the daemon has heard that it did.
      std::unique_lock<std::mutex> lock(mutex_);
      if (!changed_.wait_until(lock, DeadlineIn(kRegisterWithin),
                               [this] { return session_ != nullptr; })) {
        return absl::UnavailableError("starting");
      }
      session = session_;
    }
    FGNN_ASSIGN_OR_RETURN(
        UniqueFd segment,
        session->RequestSegment(attachment.job_id, DeadlineIn(kSegmentWithin)));
    return executor_.Attach(std::move(segment), attachment.job_id,
                            attachment.owner);
  }
  absl::Status Detach(const std::string& /*job_id*/) override {
    executor_.Detach();
    return absl::OkStatus();
  }
  std::string MetricsText() override { return "fgnn_x 1\n"; }
  void RequestStop() override { stop_->RequestStop(); }

  grpc::Status ProfileSampling(grpc::ServerContext* /*context*/,
                               const v1::ProfileSamplingRequest* /*request*/,
                               v1::ProfileSamplingResponse* response) override {
    response->set_max_task_bytes(4096);
    response->set_bound_task_bytes(4096);
    response->set_max_input_nodes(10);
    return grpc::Status::OK;
  }
  grpc::Status ValidateDataset(grpc::ServerContext* /*context*/,
                               const v1::ValidateDatasetRequest* /*request*/,
                               v1::ValidateDatasetResponse* response) override {
    if (dies_validating_) {
      // A sanitizer would make an exit code of it.
      ::signal(SIGBUS, SIG_DFL);
      ::raise(SIGBUS);
    }
    std::filesystem::path dataset;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      dataset = dataset_;
    }
    const auto validated = ValidateOnce(dataset, {});
    if (!validated.ok()) return ToGrpc(validated.status());
    response->set_state(validated->state);
    response->set_content(validated->content);
    return grpc::Status::OK;
  }
  grpc::Status ProfileTraining(grpc::ServerContext* /*context*/,
                               const v1::ProfileTrainingRequest* /*request*/,
                               v1::ProfileTrainingResponse* response) override {
    response->set_num_parameters(4);
    return grpc::Status::OK;
  }
  grpc::Status Evaluate(grpc::ServerContext* /*context*/,
                        const v1::EvaluateRequest* request,
                        v1::EvaluateResponse* response) override {
    for (const std::string& split : request->splits()) {
      v1::SplitScore* score = response->add_scores();
      score->set_split(split);
      score->set_num_vertices(4);
      score->set_num_correct(3);
      score->mutable_scores()->set_accuracy(0.75);
      score->mutable_scores()->set_macro_f1(0.5);
      score->mutable_scores()->set_roc_auc(0.25);
    }
    return grpc::Status::OK;
  }
  grpc::Status SaveCheckpoint(
      grpc::ServerContext* /*context*/,
      const v1::SaveCheckpointRequest* request,
      v1::SaveCheckpointResponse* /*response*/) override {
    // A text, and behind its end the epoch.
    std::ofstream(request->path()) << executor_.NewestWeight().value_or(-1)
                                   << '\0' << request->epochs_done();
    return grpc::Status::OK;
  }
  grpc::Status DescribeCheckpoint(
      grpc::ServerContext* /*context*/,
      const v1::DescribeCheckpointRequest* request,
      v1::DescribeCheckpointResponse* response) override {
    std::ifstream file(request->path());
    std::string weight;
    uint32_t epoch = 0;
    if (!std::getline(file, weight, '\0') || !(file >> epoch)) {
      return {grpc::StatusCode::DATA_LOSS, "no checkpoint of this fake"};
    }
    response->set_epochs_done(epoch);
    response->set_seed(DefaultJob().training.seed);
    return grpc::Status::OK;
  }

 private:
  const SignalWaiter* const stop_;
  FakeExecutor executor_;
  bool dies_validating_ = false;  // Set before it serves.
  std::mutex mutex_;
  std::condition_variable changed_;
  const HostSession* session_ = nullptr;  // Guarded by mutex_.
  std::string dataset_;  // Dataset of the open job; guarded by mutex_.
};

int Run(const std::map<std::string, std::string>& flags) {
  const SignalWaiter stop({SIGTERM, SIGINT});
  const std::string name = flags.at("--name");
  const std::filesystem::path state_dir = flags.at("--state-dir");
  const ExecutorRole role = ParseRole(name.substr(0, name.find('.'))).value();
  if (IsOrdered(state_dir, "die-at-start")) {
    // Bytes that are no UTF-8, and that a terminal obeys.
    std::fputs("last words \xff\x1b[31m\n", stderr);
    Crash();
  }
  if (IsOrdered(state_dir, "mute")) {
    stop.WaitUntil(DeadlineIn(std::chrono::minutes(5)));
    return 0;
  }
  FakeDaemon daemon(role, &stop);
  daemon.executor().Pause(IsOrdered(state_dir, "hold") ||
                          IsOrdered(state_dir, "hold:" + name));
  if (IsOrdered(state_dir, "die-validating")) daemon.DieValidating();
  if (IsOrdered(state_dir, "poison")) daemon.executor().CrashOn(BatchSeq(7));
  const auto server = ExecutorServer::Start(
      state_dir, name, &daemon,
      {static_cast<v1::SamplerService::Service*>(&daemon),
       static_cast<v1::TrainerService::Service*>(&daemon)});
  if (!server.ok()) return DaemonExitCode(server.status());
  HostSessionOptions options;
  options.state_dir = state_dir;
  options.name = name;
  options.role = NameOf(role);
  options.device = flags.at("--device");
  options.version = "test";
  options.segment_layout_version = kSegmentLayoutVersion;
  const auto session = HostSession::Start(
      options,
      {.report = [] { return WorkReport(); },
       .standing = [](uint64_t) { return std::optional<JobStanding>(); },
       .on_orphaned = [&stop] { stop.RequestStop(); }},
      DeadlineIn(kRegisterWithin));
  if (!session.ok()) {
    LogError("{}", MessageOf(session.status()));
    return DaemonExitCode(session.status());
  }
  daemon.UseSession(session->get());
  stop.WaitUntil(DeadlineIn(std::chrono::minutes(5)));
  daemon.UseSession(nullptr);
  (*server)->Shutdown(milliseconds(500));
  return 0;
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  std::map<std::string, std::string> flags;
  for (int i = 1; i + 1 < argc; i += 2) flags[argv[i]] = argv[i + 1];
  return fgnn::Run(flags);
}
