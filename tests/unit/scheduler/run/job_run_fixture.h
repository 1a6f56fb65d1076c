// One job with daemons that live in this process. Queue, board, host part and
// job table are real ones. The calls to daemons do what the test says.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_RUN_JOB_RUN_FIXTURE_H_
#define FGNN_TESTS_UNIT_SCHEDULER_RUN_JOB_RUN_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "scheduler/jobs/job_table.h"
#include "scheduler/run/job_run.h"
#include "scheduler/run/job_runner.h"
#include "scheduler/store/job_store.h"
#include "shared/base/files/file.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/base/threads/notification.h"
#include "shared/graph/dataset.h"
#include "shared/graph/untrained_classes.h"
#include "shared/queue/segment_layout.h"
#include "shared/telemetry/process.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/scheduler/fake_executor.h"
#include "tests/unit/scheduler/ring_dataset.h"

namespace fgnn {

namespace fs = std::filesystem;

// The name of a daemon is also its socket here. Called only on the job's
// thread.
class ScriptedCalls final : public ExecutorCalls {
 public:
  explicit ScriptedCalls(std::vector<std::string> names) {
    for (const std::string& name : names) {
      daemons_[name] = std::make_unique<FakeExecutor>(
          name[0] == 's' ? ExecutorRole::kSampler : ExecutorRole::kTrainer);
    }
  }
  void UseHost(DaemonHost* host) { host_ = host; }
  void AddSampler(const std::string& name) {
    daemons_[name] = std::make_unique<FakeExecutor>(ExecutorRole::kSampler);
  }
  FakeExecutor& daemon(const std::string& name) { return *daemons_.at(name); }

  absl::Status Attach(const std::string& socket, const AttachCall& call,
                      const Patience& /*patience*/) override {
    if (on_attach) on_attach();
    const auto segment = host_->SegmentFor(::getpid(), call.job_id);
    if (!segment.ok()) return segment.status();
    const auto plan =
        Segment::Attach(UniqueFd(::dup(*segment)), HashString(call.job_id));
    if (!plan.ok()) return plan.status();
    plans[socket] = (*plan)->options();
    devices[socket] = call.device;
    return daemons_.at(socket)->Attach(UniqueFd(::dup(*segment)), call.job_id,
                                       call.owner);
  }
  absl::Status Detach(const std::string& socket, const std::string& /*job_id*/,
                      const Patience& /*patience*/) override {
    daemons_.at(socket)->Detach();
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> ReadMetrics(
      const std::string& /*socket*/, const Patience& /*patience*/) override {
    return absl::UnimplementedError("");
  }
  absl::Status Stop(const std::string& /*socket*/,
                    const Patience& /*patience*/) override {
    return absl::OkStatus();
  }
  absl::StatusOr<SamplingProfile> ProfileSampling(
      const std::string& socket, const std::string& /*spec_bytes*/,
      uint32_t num_batches, const Patience& /*patience*/) override {
    if (profile_on) FGNN_RETURN_IF_ERROR(profile_on(socket));
    profiled_batches = num_batches;
    if (on_profile) on_profile();
    return SamplingProfile{.max_task_bytes = 4096,
                           .bound_task_bytes = 8192,
                           .hops = {{4, 9, 5}, {9, 20, 11}}};
  }
  // Validates the dataset as a sampler does.
  absl::StatusOr<ValidatedDataset> ValidateDataset(
      const std::string& /*socket*/, const std::string& /*spec_bytes*/,
      const Patience& /*patience*/) override {
    FGNN_ASSIGN_OR_RETURN(const ValidatedFolder folder, ValidateOnce(dataset));
    FGNN_ASSIGN_OR_RETURN(const Dataset opened,
                          Dataset::Open(dataset, Validation::kShapes));
    return ValidatedDataset{
        .state = folder.state,
        .content = folder.content,
        .warning = UntrainedClassesWarning(opened).value_or("")};
  }
  absl::Status CountInputNodes(const std::string& socket, const CountCall& call,
                               const Patience& /*patience*/) override {
    const std::lock_guard<std::mutex> lock(counted_mutex);
    if (!lost_counts.empty()) {
      const absl::Status answer = lost_counts.front();
      lost_counts.pop_front();
      return answer;
    }
    counted.push_back(call);
    std::ofstream(call.path) << socket;
    return absl::OkStatus();
  }
  absl::Status WriteCounts(const std::string& socket, const std::string& job_id,
                           const fs::path& path,
                           const Patience& /*patience*/) override {
    const std::lock_guard<std::mutex> lock(counted_mutex);
    if (!lost_counts.empty()) {
      const absl::Status answer = lost_counts.front();
      lost_counts.pop_front();
      return answer;
    }
    EXPECT_FALSE(job_id.empty());
    written.push_back(path);
    std::ofstream(path) << socket;
    return absl::OkStatus();
  }
  absl::StatusOr<RankedVertices> RankVertices(
      const std::string& /*socket*/, const RankCall& call,
      const Patience& /*patience*/) override {
    for (const fs::path& path : call.counts) {
      EXPECT_TRUE(fs::exists(path)) << path;
    }
    ranked.push_back(call);
    return RankedVertices{
        .rank_order_key = 77,
        .needs_counts = !order_is_saved && call.counts.empty()};
  }
  absl::StatusOr<TrainingProfile> ProfileTraining(
      const std::string& /*socket*/, const std::string& /*spec_bytes*/,
      const std::vector<HopSize>& hops, const Patience& /*patience*/) override {
    profiled_hops = hops;
    if (!training.ok()) return training.status();
    return TrainingProfile{.num_parameters = 4,
                           .optimizer_floats_per_parameter = 0,
                           .step_bytes = *training};
  }
  absl::StatusOr<Evaluation> Evaluate(const std::string& socket,
                                      const EvaluateCall& call,
                                      const Patience& patience) override {
    if (call.scratch != 0) return EvaluateTogether(socket, call, patience);
    return EvaluateAlone(call, patience);
  }
  absl::StatusOr<Evaluation> EvaluateAlone(const EvaluateCall& call,
                                           const Patience& patience) {
    evaluated.push_back(
        absl::StrCat(call.splits.at(0), " of ",
                     call.checkpoint.empty()
                         ? "segment"
                         : fs::path(call.checkpoint).filename().string()));
    if (on_evaluate) on_evaluate();
    if (patience.keep_going) {
      if (absl::Status go_on = patience.keep_going(); !go_on.ok()) {
        return go_on;
      }
    }
    if (evaluations.empty()) return absl::InternalError("no more evaluations");
    absl::StatusOr<uint64_t> correct = evaluations.front();
    evaluations.pop_front();
    if (!correct.ok()) return correct.status();
    if (objective == Objective::kValues) {
      return Evaluation{.scores = {{.split = call.splits.at(0),
                                    .num_vertices = 4,
                                    .rmse = double(8 - *correct),
                                    .mae = double(*correct) / 8,
                                    .r2 = -double(*correct)}},
                        .seconds = 0.5};
    }
    if (objective == Objective::kLinks) {
      return Evaluation{.scores = {{.split = call.splits.at(0),
                                    .num_vertices = 1,
                                    .mean_rank = double(8 - *correct),
                                    .mrr = double(*correct) / 8}},
                        .seconds = 0.5};
    }
    return Evaluation{.scores = {{.split = call.splits.at(0),
                                  .num_vertices = 4,
                                  .num_correct = *correct,
                                  .loss = 0,
                                  .macro_f1 = double(*correct) / 8,
                                  .roc_auc = double(*correct) / 16}},
                      .seconds = 0.5};
  }
  // The first trainer takes the answer for all trainers. If the answer is an
  // error, the other trainers wait, as for the first one's part, until they are
  // told to end.
  absl::StatusOr<Evaluation> EvaluateTogether(const std::string& socket,
                                              const EvaluateCall& call,
                                              const Patience& patience) {
    Shared* mine = nullptr;
    bool is_first = false;
    {
      const std::lock_guard<std::mutex> lock(shared_mutex);
      mine = &shared[call.scratch];
      is_first = mine->trainers.empty();
      mine->trainers.push_back(socket);
      if (is_first) mine->answer = EvaluateAlone(call, {});
    }
    if (is_first || mine->answer.ok()) return mine->answer;
    while (true) {
      const absl::Status go_on = patience.keep_going();
      if (!go_on.ok()) return go_on;
      never.WaitUntil(DeadlineIn(std::chrono::milliseconds(5)));
    }
  }
  absl::Status SaveCheckpoint(const std::string& socket,
                              const SaveCheckpointCall& call,
                              const Patience& /*patience*/) override {
    if (!saves.empty()) {
      const absl::Status answer = saves.front();
      saves.pop_front();
      if (!answer.ok()) return answer;
    }
    const FakeExecutor& daemon = *daemons_.at(socket);
    // The file is as large as the plan says and replaces an older one, as a
    // trainer's file does.
    const fs::path temporary = call.path.string() + ".new";
    std::ofstream(temporary) << daemon.NewestWeight().value_or(-1);
    fs::resize_file(temporary, daemon.checkpoint_bytes());
    fs::rename(temporary, call.path);
    struct stat file {};
    EXPECT_EQ(::stat(call.path.c_str(), &file), 0);
    saved_as_[file.st_ino] = call.path;
    checkpoints[call.path] = {.version = daemon.version().value_or(0),
                              .epochs_done = call.epochs_done,
                              .seed = 1,
                              .run_state = call.run_state};
    if (on_save) on_save(call.path);
    return absl::OkStatus();
  }
  absl::StatusOr<CheckpointProfile> DescribeCheckpoint(
      const std::string& /*socket*/, const fs::path& path,
      const Patience& /*patience*/) override {
    if (unreadable.contains(path)) return unreadable.at(path);
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0) {
      return absl::NotFoundError(path.string());
    }
    // A link to a checkpoint has the facts of that checkpoint.
    const auto saved = saved_as_.find(file.st_ino);
    const fs::path& sound = saved == saved_as_.end() ? path : saved->second;
    if (!checkpoints.contains(sound)) {
      return absl::DataLossError(path.string() + ": torn");
    }
    return checkpoints.at(sound);
  }
  absl::Status LoadCheckpoint(const std::string& socket,
                              const std::string& /*job_id*/,
                              const fs::path& path,
                              const Patience& /*patience*/) override {
    loaded.push_back(path.filename().string());
    return daemons_.at(socket)->PublishFirst(
        std::stof(ReadSmallFile(path).value()));
  }

  // The next answers: how many of four vertices are right.
  std::deque<absl::StatusOr<uint64_t>> evaluations;
  // Whether the answers are eighths of an MRR instead.
  Objective objective = Objective::kClasses;  // Decides which scores it gives.
  fs::path dataset;                           // Dataset of the job's spec.
  std::deque<absl::Status> saves;             // Next answers; empty: OK.
  absl::StatusOr<uint64_t> training = 1 << 20;  // Bytes of a step.
  std::function<void()> on_attach;
  std::function<void()> on_profile;
  // Asked by each sampler that is to measure; samplers of two kinds ask at
  // once.
  std::function<absl::Status(const std::string&)> profile_on;
  std::function<void()> on_evaluate;
  std::function<void(const fs::path&)> on_save;
  // The calls so far.
  std::vector<std::string> evaluated;
  struct Shared {
    std::vector<std::string> trainers;
    absl::StatusOr<Evaluation> answer;
  };
  std::mutex shared_mutex;            // Trainers evaluate at once.
  std::map<uint64_t, Shared> shared;  // By the number of the shared memory.
  Notification never;
  std::vector<std::string> loaded;
  std::map<fs::path, CheckpointProfile> checkpoints;  // Sound checkpoints.
  std::map<fs::path, absl::Status> unreadable;        // Other checkpoints.
  std::atomic<uint32_t> profiled_batches = 0;
  std::vector<HopSize> profiled_hops;
  std::map<std::string, SegmentOptions> plans;  // Plans by attached daemon.
  std::map<std::string, uint32_t> devices;      // Devices by attached daemon.
  bool order_is_saved = false;
  std::vector<RankCall> ranked;
  std::vector<fs::path> written;  // Files of WriteCounts().
  std::mutex counted_mutex;       // All samplers count at once.
  std::vector<CountCall> counted;
  std::deque<absl::Status> lost_counts;  // Next answers; empty: OK.

 private:
  std::map<std::string, std::unique_ptr<FakeExecutor>> daemons_;
  std::map<ino_t, fs::path> saved_as_;  // Checkpoints by inode of their file.
  DaemonHost* host_ = nullptr;
};

class JobRunTest : public testing::Test {
 protected:
  JobRunTest() : calls_({"sampler.0", "trainer.0", "trainer.1"}) {
    WriteRing(temp_ / "ring", {});
    spec_.dataset = (temp_ / "ring").string();
    spec_.model.layers = 1;
    spec_.model.hidden = 4;
    spec_.sampling.fanouts = {2};
    spec_.sampling.batch_size = 4;  // 5 batches an epoch.
    spec_.training.epochs = 4;
    spec_.training.batches_per_step = 2;

    StartHost({});
    for (const char* name : {"sampler.0", "trainer.0", "trainer.1"}) {
      RegisterHere(name);
    }
  }

  void StartHost(DaemonHostOptions options) {
    host_.reset();
    options.state_dir = temp_.path();
    options.version = "test";
    // These daemons send no heartbeats.
    options.hang.late_after = std::chrono::hours(1);
    host_ = DaemonHost::Start(std::move(options), &calls_).value();
    calls_.UseHost(host_.get());
  }

  void RegisterHere(const std::string& name, const std::string& job_id = "",
                    OwnerIndex owner = kNoOwner,
                    const std::string& device = "cpu:0") {
    EXPECT_THAT(
        host_->Register({.name = name,
                         .role = name.substr(0, 7),
                         .device = device,
                         .pid = ::getpid(),
                         .start_time = ReadProcessStartTime(::getpid()).value(),
                         .socket_path = name,
                         .version = "test",
                         .segment_layout_version = kSegmentLayoutVersion,
                         .job_id = job_id,
                         .owner = owner}),
        IsOk());
  }

  // Runs the job as the service does. Returns the job at its end.
  Job Run() { return Run({}); }
  // Resumes the job in the folder of the run before.
  Job Resume() { return Run(RunDir()); }

  Job Run(const fs::path& resumed_dir) {
    table_.reset();
    table_ = JobTable::Open(JobStore::Open(temp_ / "jobs.sqlite").value(),
                            temp_.path())
                 .value();
    JobRequest request = request_;
    request.spec_bytes = "spec";
    request.digest = true;
    request.resume = !resumed_dir.empty();
    request.run_dir = resumed_dir.string();
    id_ = table_->Submit(request)->id;
    return RunToItsEnd();
  }

  // Runs the job of id_, which waits in table_.
  Job RunToItsEnd() {
    const JobRunner runner({.environment = {.dispatcher = &table_->dispatcher(),
                                            .host = host_.get(),
                                            .calls = &calls_},
                            .decode =
                                [this](const Job&) {
                                  calls_.dataset = spec_.dataset;
                                  return DecodedSpec{.spec = spec_,
                                                     .yaml = "effective\n",
                                                     .bytes = "spec"};
                                },
                            .kept = {}});
    if (while_it_runs_) while_it_runs_();
    EXPECT_TRUE(table_->WaitForChange(id_, 0, /*only_end=*/true,
                                      DeadlineIn(std::chrono::seconds(60))));
    Job job = table_->Get(id_)->job;
    run_dir_ = job.run_dir;
    table_->Close();
    return job;
  }

  fs::path RunDir() const { return run_dir_; }
  // Reads a file of the run. For a checkpoint, returns its first line: the rest
  // is zeros.
  std::string ReadRun(const std::string& name) const {
    return ReadSmallFile(RunDir() / name).value().c_str();
  }
  nlohmann::json Summary() const {
    return nlohmann::json::parse(ReadRun("summary.json"));
  }
  std::vector<nlohmann::json> Metrics() const {
    std::ifstream file(RunDir() / "metrics.jsonl");
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(file, line);) {
      lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  }
  // Expects each batch of four epochs of five once: in the weights, in the
  // metrics and in batches.crc. A fake's weights count the batches in them.
  void ExpectEveryBatchOnce() {
    EXPECT_EQ(ReadRun("checkpoints/epoch-0004.safetensors"), "20");
    const std::vector<nlohmann::json> metrics = Metrics();
    ASSERT_EQ(metrics.size(), 4U);
    for (size_t epoch = 0; epoch < 4; ++epoch) {
      EXPECT_EQ(metrics[epoch]["epoch"], epoch + 1);
      EXPECT_EQ(metrics[epoch]["batches"], 5);
      EXPECT_EQ(metrics[epoch]["edges"], 500);
    }
    std::ifstream digests(RunDir() / "batches.crc");
    int lines = 0;
    for (std::string line; std::getline(digests, line); ++lines) {
      EXPECT_THAT(line, testing::StartsWith(absl::StrCat(lines, " ")));
    }
    EXPECT_EQ(lines, 20);
    EXPECT_EQ(Summary()["state"], "completed");
    EXPECT_EQ(Summary()["batches_committed"], 20);
  }
  bool HasCheckpoint(const std::string& name) const {
    return fs::exists(RunDir() / "checkpoints" / (name + ".safetensors"));
  }
  // Waits until `is_so` returns true for the job as clients see it.
  void WaitUntil(const std::string& id,
                 const std::function<bool(const Job&)>& is_so) {
    const Deadline deadline = DeadlineIn(std::chrono::seconds(60));
    while (true) {
      const JobVersion seen = table_->Get(id).value();
      if (is_so(seen.job)) return;
      ASSERT_TRUE(
          table_->WaitForChange(id, seen.change, /*only_end=*/false, deadline))
          << NameOf(seen.job.state);
      ASSERT_FALSE(IsFinal(seen.job.state)) << seen.job.error;
    }
  }

  TempFolder temp_;
  JobSpec spec_ = DefaultJob();
  JobRequest request_;                   // Further fields that Run() submits.
  std::function<void()> while_it_runs_;  // Called on the test's thread.
  ScriptedCalls calls_;
  std::unique_ptr<DaemonHost> host_;
  std::unique_ptr<JobTable> table_;
  std::string id_;
  fs::path run_dir_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_RUN_JOB_RUN_FIXTURE_H_
