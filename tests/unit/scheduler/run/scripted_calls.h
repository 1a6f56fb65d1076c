// The scheduler's calls to daemons, which do what a test says. The daemons live
// in this process.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_RUN_SCRIPTED_CALLS_H_
#define FGNN_TESTS_UNIT_SCHEDULER_RUN_SCRIPTED_CALLS_H_

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
#include "scheduler/executors/executor_calls.h"
#include "scheduler/host/daemon_host.h"
#include "shared/base/files/file.h"
#include "shared/base/files/guarded_path.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/base/threads/notification.h"
#include "shared/graph/dataset.h"
#include "shared/graph/untrained_classes.h"
#include "tests/unit/scheduler/fake_executor.h"

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

  absl::Status Open(const std::string& socket, const OpenJobRequest& call,
                    const Patience& /*patience*/) override {
    opened[socket].push_back(call.job_id);
    return absl::OkStatus();
  }
  absl::Status Attach(const std::string& socket, const AttachJobRequest& call,
                      const Patience& /*patience*/) override {
    if (on_attach) on_attach();
    if (!attaches.empty()) FGNN_RETURN_IF_ERROR(TakeFirst(&attaches));
    const auto segment = host_->SegmentFor(::getpid(), call.job_id);
    if (!segment.ok()) return segment.status();
    const auto plan =
        Segment::Attach(UniqueFd(::dup(*segment)), HashString(call.job_id));
    if (!plan.ok()) return plan.status();
    plans[socket] = (*plan)->options();
    devices[socket] = call.device;
    seeds[socket] = call.hosts.seeds;
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
      const std::string& socket, const ProfileSamplingRequest& call,
      const Patience& /*patience*/) override {
    if (profile_on) FGNN_RETURN_IF_ERROR(profile_on(socket));
    profiled_batches = call.num_batches;
    if (on_profile) on_profile();
    return SamplingProfile{.max_task_bytes = 4096,
                           .bound_task_bytes = 8192,
                           .hops = {{4, 9, 5}, {9, 20, 11}}};
  }
  // Validates the dataset as a sampler does.
  absl::StatusOr<ValidatedDataset> ValidateDataset(
      const std::string& /*socket*/, const std::string& /*job_id*/,
      const Patience& /*patience*/) override {
    FGNN_ASSIGN_OR_RETURN(const ValidatedFolder folder,
                          ValidateOnce(dataset, {}));
    FGNN_ASSIGN_OR_RETURN(const Dataset graph,
                          Dataset::Open(dataset, Validation::kShapes));
    return ValidatedDataset{
        .state = folder.state,
        .content = folder.content,
        .warning = UntrainedClassesWarning(graph).value().value_or(""),
        .book = book,
        .train_of_parts = TrainInOnePart(graph.train().size())};
  }
  absl::Status CountInputNodes(const std::string& socket,
                               const CountInputNodesRequest& call,
                               const Patience& /*patience*/) override {
    const std::lock_guard<std::mutex> lock(counted_mutex);
    if (!lost_counts.empty()) return TakeFirst(&lost_counts);
    counted.push_back(call);
    std::ofstream(call.path) << socket;
    return absl::OkStatus();
  }
  absl::Status WriteCounts(const std::string& socket, const std::string& job_id,
                           const fs::path& path,
                           const Patience& /*patience*/) override {
    const std::lock_guard<std::mutex> lock(counted_mutex);
    if (!lost_counts.empty()) return TakeFirst(&lost_counts);
    EXPECT_FALSE(job_id.empty());
    written.push_back(path);
    std::ofstream(path) << socket;
    return absl::OkStatus();
  }
  absl::StatusOr<RankedVertices> RankVertices(
      const std::string& /*socket*/, const RankVerticesRequest& call,
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
      const std::string& /*socket*/, const ProfileTrainingRequest& call,
      const Patience& /*patience*/) override {
    profiled_hops = call.hops;
    if (!training.ok()) return training.status();
    return TrainingProfile{.num_parameters = 4,
                           .optimizer_floats_per_parameter = 0,
                           .step_bytes = *training};
  }
  absl::StatusOr<Evaluation> Evaluate(const std::string& socket,
                                      const EvaluateRequest& call,
                                      const Patience& patience) override {
    if (call.scratch != 0) return EvaluateTogether(socket, call, patience);
    return EvaluateAlone(call, patience);
  }
  absl::StatusOr<Evaluation> EvaluateAlone(const EvaluateRequest& call,
                                           const Patience& patience) {
    evaluated.push_back(
        absl::StrCat(call.splits.at(0), " of ",
                     call.checkpoint.empty()
                         ? "segment"
                         : fs::path(call.checkpoint).filename().string()));
    if (on_evaluate) on_evaluate();
    if (patience.keep_going) FGNN_RETURN_IF_ERROR(patience.keep_going());
    if (while_evaluating) while_evaluating();
    if (evaluations.empty()) return absl::InternalError("no more evaluations");
    FGNN_ASSIGN_OR_RETURN(const uint64_t correct, TakeFirst(&evaluations));
    const auto rank = static_cast<double>(correct);
    SplitScore scores = {.split = call.splits.at(0), .num_vertices = 4};
    if (objective == Objective::kValues) {
      scores.scores = {.rmse = 8 - rank, .mae = rank / 8, .r2 = -rank};
    } else if (objective == Objective::kLinks) {
      scores.num_vertices = 1;
      scores.scores = {.mrr = rank / 8, .mean_rank = 8 - rank};
    } else {
      scores.num_correct = correct;
      scores.scores = {
          .accuracy = rank / 4, .macro_f1 = rank / 8, .roc_auc = rank / 16};
    }
    return Evaluation{.scores = {scores}, .seconds = 0.5};
  }
  // The first trainer takes the answer for all trainers. If the answer is an
  // error, the other trainers wait, as for the first one's part, until they are
  // told to end.
  absl::StatusOr<Evaluation> EvaluateTogether(const std::string& socket,
                                              const EvaluateRequest& call,
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
      FGNN_RETURN_IF_ERROR(patience.keep_going());
      never.WaitUntil(DeadlineIn(std::chrono::milliseconds(5)));
    }
  }
  absl::Status SaveCheckpoint(const std::string& socket,
                              const SaveCheckpointRequest& call,
                              const Patience& /*patience*/) override {
    if (before_save) before_save();
    if (!saves.empty()) FGNN_RETURN_IF_ERROR(TakeFirst(&saves));
    FGNN_ASSIGN_OR_RETURN(const HeldFolder folder,
                          HeldFolder::Open(call.path.parent_path()));
    FGNN_RETURN_IF_ERROR(folder.CheckIs(call.folder));
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
  absl::StatusOr<std::string> LoadCheckpoint(
      const std::string& socket, const std::string& /*job_id*/,
      const fs::path& path, const Patience& /*patience*/) override {
    loaded.push_back(path.filename().string());
    FGNN_RETURN_IF_ERROR(daemons_.at(socket)->PublishFirst(
        std::stof(ReadSmallFile(path).value())));
    return warning_of_load;
  }

  absl::StatusOr<std::vector<HostReach>> ReadReach(
      const std::string& /*socket*/, const std::string& /*job_id*/,
      const Patience& /*patience*/) override {
    return std::vector<HostReach>();
  }
  absl::Status TradeChunks(const std::string& /*socket*/,
                           const std::string& /*job_id*/, uint64_t /*scratch*/,
                           const Patience& /*patience*/) override {
    return absl::UnimplementedError("");
  }

  // The next answers: how many of four vertices are right.
  std::deque<absl::StatusOr<uint64_t>> evaluations;
  // Whether the answers are eighths of an MRR instead.
  Objective objective = Objective::kClasses;  // Decides which scores it gives.
  fs::path dataset;                           // Dataset of the job's spec.
  std::deque<absl::Status> saves;             // Next answers; empty: OK.
  std::deque<absl::Status> attaches;          // Next answers; empty: OK.
  std::string warning_of_load;                // Answer to LoadCheckpoint().
  absl::StatusOr<uint64_t> training = 1 << 20;  // Bytes of a step.
  std::function<void()> on_attach;
  std::function<void()> on_profile;
  // Asked by each sampler that is to measure; samplers of two kinds ask at
  // once.
  std::function<absl::Status(const std::string&)> profile_on;
  std::function<void()> on_evaluate;
  std::function<void()> while_evaluating;  // Called after a tick of the job.
  std::function<void()> before_save;
  std::function<void(const fs::path&)> on_save;
  // The calls so far.
  // Ids of the jobs that each daemon was told the spec of.
  std::map<std::string, std::vector<std::string>> opened;
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
  std::map<std::string, SeedShares> seeds;      // Shares by attached daemon.
  uint64_t book = 0;  // Key of the dataset's partition book.
  bool order_is_saved = false;
  std::vector<RankVerticesRequest> ranked;
  std::vector<fs::path> written;  // Files of WriteCounts().
  std::mutex counted_mutex;       // All samplers count at once.
  std::vector<CountInputNodesRequest> counted;
  std::deque<absl::Status> lost_counts;  // Next answers; empty: OK.

 private:
  static std::vector<uint64_t> TrainInOnePart(uint64_t num_train) {
    std::vector<uint64_t> train(kFineParts);
    train[0] = num_train;
    return train;
  }
  template <typename Answer>
  static Answer TakeFirst(std::deque<Answer>* answers) {
    Answer first = answers->front();
    answers->pop_front();
    return first;
  }

  std::map<std::string, std::unique_ptr<FakeExecutor>> daemons_;
  std::map<ino_t, fs::path> saved_as_;  // Checkpoints by inode of their file.
  DaemonHost* host_ = nullptr;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_RUN_SCRIPTED_CALLS_H_
