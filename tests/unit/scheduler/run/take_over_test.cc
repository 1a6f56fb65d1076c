// Jobs whose scheduler died: the next one goes on with their segment and their
// daemons, at whatever point they are.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/hash.h"
#include "shared/graph/dataset.h"
#include "tests/unit/scheduler/run/job_run_fixture.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::chrono::seconds kLong{60};

// Epochs of 5 batches and 3 steps.
class TakeOverTest : public JobRunTest {
 protected:
  TakeOverTest() {
    spec_.training.evaluate_every = 0;
    table_ = JobTable::Open(JobStore::Open(temp_ / "jobs.sqlite").value(),
                            temp_.path())
                 .value();
    JobRequest request;
    request.spec = SharedSpec();
    request.options.digest = true;
    id_ = table_->Submit(request)->id;
    EXPECT_TRUE(table_->dispatcher().StartNext(DeadlineIn(kLong)).has_value());
    table_->dispatcher().MarkRunning(id_);
    run_dir_ = table_->Get(id_)->job.run_dir;
    folder_ = RunFolder::Create(run_dir_, "effective\n", {}).value();
    EXPECT_THAT(table_->dispatcher().OwnFolder(id_), IsOk());
    SegmentOptions options;
    options.job_key = HashString(id_);
    options.num_slots = 6;
    options.slot_bytes = 8192;
    options.batches_per_epoch = 5;
    options.epochs = 4;
    options.batches_per_step = 2;
    options.num_parameters = 4;
    options.optimizer_floats_per_parameter = 0;
    before_ = JobSegment::Create(id_, options).value();
    for (const auto& [name, owner] : kOwners) {
      EXPECT_THAT(calls_.daemon(name).Attach(UniqueFd(::dup(before_->fd())),
                                             id_, owner),
                  IsOk());
    }
  }

  // Lets the daemons train up to this version, as the dead scheduler did.
  void TrainTo(uint64_t version) {
    before_->queue().OpenForSampling(BatchSeq(10));
    before_->board().OpenForTraining(StepNumber(version));
    const auto there =
        before_->board().WaitForVersion(version, DeadlineIn(kLong));
    ASSERT_TRUE(there.ok() && *there);
  }
  void WriteMetrics(uint32_t epochs) {
    WriteLines(std::vector<std::optional<double>>(epochs));
  }
  // Lines of epochs with so many sevenths of right answers, which no number of
  // decimals tells exactly.
  void WriteScores(const std::vector<uint64_t>& sevenths) {
    std::vector<std::optional<double>> scores;
    for (const uint64_t correct : sevenths) {
      scores.push_back(static_cast<double>(correct) / 7);
    }
    WriteLines(scores);
  }
  void WriteLines(const std::vector<std::optional<double>>& scores) {
    EpochSum sum;
    BatchRecord record;
    record.num_edges = 100;
    for (int i = 0; i < 5; ++i) sum.Add(record);
    EpochFacts facts;
    for (const std::optional<double>& score : scores) {
      facts.valid.accuracy = score;
      EXPECT_THAT(folder_->AppendMetrics(MetricsLine(facts, sum)), IsOk());
      ++facts.epoch;
    }
  }
  // best.safetensors, of an epoch (from 0) with this score.
  void WriteBest(uint32_t epoch, double score) {
    const std::string path =
        (RunDir() / "checkpoints/best.safetensors").string();
    std::ofstream(path) << 5 * (epoch + 1);
    fs::resize_file(path, calls_.daemon("trainer.0").checkpoint_bytes());
    RunState state;
    state.best_epoch = epoch;
    state.best_valid_score = score;
    calls_.checkpoints[path] = {.version = 3 * (epoch + 1),
                                .epochs_done = epoch + 1,
                                .seed = 1,
                                .run_state = RunStateToJson(state)};
  }
  void WriteDigests(uint64_t batches) {
    for (uint64_t seq = 0; seq < batches; ++seq) {
      BatchRecord record;
      record.seq_plus_one = seq + 1;
      EXPECT_THAT(folder_->AppendDigests(DigestLine(record)), IsOk());
    }
  }
  // Behind the first epoch, whose metrics are `metrics_bytes` long.
  void WriteCheckpoint(uint64_t metrics_bytes) {
    const std::string path =
        (RunDir() / "checkpoints/epoch-0001.safetensors").string();
    std::ofstream(path) << "5";
    fs::resize_file(path, calls_.daemon("trainer.0").checkpoint_bytes());
    RunState state;
    state.batches_per_epoch = 5;
    state.next_seq = BatchSeq(5);
    state.dataset_content = ValidateOnce(spec_.dataset, {}).value().content;
    state.metrics_bytes = metrics_bytes;
    state.digests_bytes = DigestBytes(5);
    calls_.checkpoints[path] = {.version = 3,
                                .epochs_done = 1,
                                .seed = 1,
                                .run_state = RunStateToJson(state)};
  }

  // The scheduler dies here; the next one runs the job to its end.
  Job GoOn(bool return_segment = true) {
    folder_.reset();
    DaemonHostOptions options;
    options.interrupted_jobs = {id_};
    options.expect_survivors = true;
    StartHost(std::move(options));
    if (return_segment) {
      EXPECT_THAT(host_->TakeBack(id_, UniqueFd(::dup(before_->fd()))), IsOk());
    }
    for (const auto& [name, owner] : kOwners) RegisterHere(name, id_, owner);
    table_.reset();
    JobStore store = JobStore::Open(temp_ / "jobs.sqlite").value();
    Job job = store.Unfinished()->front();
    job.spec = SharedSpec();  // The test has chosen by now.
    EXPECT_THAT(store.Delete(id_), IsOk());
    EXPECT_THAT(store.Insert(job), IsOk());
    table_ = JobTable::Open(std::move(store), temp_.path()).value();
    if (pause_first_) {
      EXPECT_THAT(table_->Pause(id_), IsOk());
    }
    return RunToItsEnd();
  }

  void ExpectWhole(const Job& job) {
    ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
    ExpectEveryBatchOnce();
  }
  // With these daemons and weights, not from a checkpoint.
  void ExpectTakenOver(const Job& job) {
    ExpectWhole(job);
    EXPECT_THAT(calls_.loaded, IsEmpty());
    EXPECT_EQ(calls_.profiled_batches, 0U);
    EXPECT_EQ(before_->board().version(), 12U);  // In the old segment.
  }

  static constexpr std::pair<const char*, OwnerIndex> kOwners[] = {
      {"sampler.0", OwnerIndex{1}},
      {"trainer.0", OwnerIndex{2}},
      {"trainer.1", OwnerIndex{3}}};
  bool pause_first_ = false;  // Before the job is started again.
  std::optional<RunFolder> folder_;
  std::unique_ptr<JobSegment> before_;
};

TEST_F(TakeOverTest, WithinAnEpoch) {
  WriteMetrics(1);
  WriteDigests(7);  // Two of the open epoch.
  TrainTo(4);
  before_->board().OpenForTraining(StepNumber(6));
  ExpectTakenOver(GoOn());
}

TEST_F(TakeOverTest, BehindTheLastStepOfAnEpoch) {
  WriteDigests(3);
  TrainTo(3);
  ExpectTakenOver(GoOn());
}

TEST_F(TakeOverTest, BehindTheMetricsOfAnEpoch) {
  spec_.training.keep_checkpoints = 100;
  WriteMetrics(1);
  WriteDigests(5);
  TrainTo(3);
  ExpectTakenOver(GoOn());
  EXPECT_TRUE(HasCheckpoint("epoch-0001"));
}

TEST_F(TakeOverTest, AtACheckpointWithinAnEpoch) {
  spec_.training.checkpoint_steps = 5;
  spec_.training.keep_checkpoints = 100;
  WriteMetrics(1);
  WriteDigests(5);
  TrainTo(5);
  ExpectTakenOver(GoOn());
  EXPECT_TRUE(HasCheckpoint("epoch-0001-step-0000000005"));
}

TEST_F(TakeOverTest, BehindTheLastEpoch) {
  WriteMetrics(4);
  WriteDigests(20);
  before_->queue().OpenForSampling(BatchSeq(20));
  TrainTo(12);
  ExpectTakenOver(GoOn());
}

// Its checkpoint could not be written, so another epoch is the best.
TEST_F(TakeOverTest, AnEpochThatWasNotSavedIsNotTheBest) {
  spec_.training.evaluate_every = 1;
  WriteScores({1, 3});
  WriteBest(0, 1.0 / 7);
  WriteDigests(10);
  TrainTo(6);
  before_->board().OpenForTraining(
      StepNumber(9));  // Beyond the second epoch's checkpoint.
  calls_.evaluations = {2, 1, 4};
  ExpectTakenOver(GoOn());
  EXPECT_EQ(Summary()["best_epoch"], 3);
  EXPECT_EQ(Summary()["valid_accuracy"], 0.5);
  EXPECT_EQ(Summary()["test_accuracy"], 1.0);
}

TEST_F(TakeOverTest, WithoutACheckpointNoEpochIsTheBest) {
  spec_.training.evaluate_every = 1;
  WriteScores({4});
  WriteDigests(5);
  TrainTo(3);
  before_->board().OpenForTraining(StepNumber(6));
  calls_.evaluations = {1, 2, 1, 3};
  ExpectTakenOver(GoOn());
  EXPECT_EQ(Summary()["best_epoch"], 3);
}

TEST_F(TakeOverTest, TheNewestEpochIsSavedIfItIsTheBestOfThoseSaved) {
  spec_.training.evaluate_every = 1;
  spec_.training.checkpoint_every = 0;
  WriteScores({1, 3, 2});  // The second one could not be saved.
  WriteBest(0, 1.0 / 7);
  WriteDigests(15);
  before_->queue().OpenForSampling(BatchSeq(15));
  TrainTo(9);  // The third one's checkpoint was not written.
  calls_.evaluations = {1, 4};
  ExpectTakenOver(GoOn());
  EXPECT_EQ(Summary()["best_epoch"], 3);
  EXPECT_EQ(Summary()["valid_accuracy"], 2.0 / 7);
  EXPECT_EQ(ReadRun("checkpoints/best.safetensors"), "15");
}

TEST_F(TakeOverTest, ABestEpochThatWasSavedStaysTheBest) {
  spec_.training.evaluate_every = 1;
  WriteScores({3, 1});
  WriteBest(0, 3.0 / 7);
  WriteDigests(10);
  TrainTo(6);
  calls_.evaluations = {1, 1, 4};
  ExpectTakenOver(GoOn());
  EXPECT_EQ(Summary()["best_epoch"], 1);
  EXPECT_EQ(Summary()["valid_accuracy"], 3.0 / 7);
}

// It was left by a run with other settings, whose end this one replaces.
TEST_F(TakeOverTest, ABestCheckpointOfOtherScoresSaysNothing) {
  spec_.training.evaluate_every = 1;
  WriteScores({3, 1});
  WriteBest(1, 1.0);
  WriteDigests(10);
  TrainTo(6);
  before_->board().OpenForTraining(StepNumber(9));
  calls_.evaluations = {1, 1};
  ExpectTakenOver(GoOn());
  EXPECT_EQ(Summary()["best_epoch"], 1);
}

TEST_F(TakeOverTest, WhatADeadDaemonHeldIsDoneByAnother) {
  const auto attached =
      Segment::Attach(UniqueFd(::dup(before_->fd())), HashString(id_));
  FGNN_ASSERT_OK(attached.status());
  GlobalQueue dead((*attached).get(), OwnerIndex{9});
  before_->queue().OpenForSampling(BatchSeq(1));
  auto slot = dead.ClaimForReading(BatchSeq(0), BatchSeq(1), DeadlineIn(kLong));
  ASSERT_TRUE(slot.ok() && slot->has_value());
  before_->queue().OpenForSampling(BatchSeq(10));
  before_->board().OpenForTraining(StepNumber(3));
  ExpectTakenOver(GoOn());
}

TEST_F(TakeOverTest, ASegmentThatNobodyKeptIsMadeAnew) {
  WriteDigests(5);
  TrainTo(3);
  const Job job = GoOn(/*return_segment=*/false);
  ExpectWhole(job);
  EXPECT_GT(calls_.profiled_batches, 0U);
}

TEST_F(TakeOverTest, MetricsThatDoNotFitTheStepsMeanACheckpoint) {
  WriteMetrics(2);
  WriteDigests(10);
  TrainTo(4);
  WriteCheckpoint(fs::file_size(RunDir() / "metrics.jsonl") / 2);
  ExpectWhole(GoOn());
  EXPECT_THAT(calls_.loaded, ElementsAre("epoch-0001.safetensors"));
}

// The scheduler died while the job let go of its daemons.
TEST_F(TakeOverTest, AQueueThatIsStoppedMeansTheCheckpoint) {
  WriteMetrics(1);
  WriteDigests(7);
  TrainTo(4);
  WriteCheckpoint(fs::file_size(RunDir() / "metrics.jsonl"));
  before_->queue().Stop();
  ExpectWhole(GoOn());
  EXPECT_THAT(calls_.loaded, ElementsAre("epoch-0001.safetensors"));
}

// It was to resume a run, and died before it had the folder.
TEST_F(TakeOverTest, AFolderThatIsNotItsOwnYetMeansTheCheckpoint) {
  WriteMetrics(1);
  WriteDigests(7);
  TrainTo(4);
  WriteCheckpoint(fs::file_size(RunDir() / "metrics.jsonl"));
  Job job = table_->Get(id_)->job;
  job.folder = FolderUse::kResume;
  FGNN_ASSERT_OK(JobStore::Open(temp_ / "jobs.sqlite")->Update(job));
  ExpectWhole(GoOn());
  EXPECT_THAT(calls_.loaded, ElementsAre("epoch-0001.safetensors"));
  EXPECT_EQ(table_->Get(id_)->job.folder, FolderUse::kOwn);
}

// It is paused before its data is validated, so nobody attaches them again.
TEST_F(TakeOverTest, DaemonsThatItCannotGoOnWithLetGoAtOnce) {
  WriteMetrics(1);
  WriteDigests(7);
  TrainTo(4);
  WriteCheckpoint(fs::file_size(RunDir() / "metrics.jsonl"));
  before_->queue().Stop();
  pause_first_ = true;
  while_it_runs_ = [this] {
    WaitUntil(id_,
              [](const Job& job) { return job.state == JobState::kPaused; });
    for (const ExecutorView& executor : host_->Executors()) {
      EXPECT_EQ(executor.job_id, "") << executor.placement.name;
    }
    FGNN_ASSERT_OK(table_->Continue(id_));
  };
  ExpectWhole(GoOn());
}

}  // namespace
}  // namespace fgnn
