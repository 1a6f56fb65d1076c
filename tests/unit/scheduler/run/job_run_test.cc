// Jobs from their start to their end: see job_run_fixture.h.
#include "scheduler/run/job_run.h"

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "tests/fakes/devices.h"
#include "tests/unit/scheduler/run/job_run_fixture.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST_F(JobRunTest, TheSpecIsReadOnceAndEachDaemonIsToldItOnce) {
  calls_.evaluations = {1, 2, 3, 4, 3};
  request_.spec = SharedSpec();
  const JobSpec* spec = nullptr;
  calls_.on_attach = [&] { spec = table_->Get(id_)->job.spec.get(); };
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(spec, request_.spec.get());
  EXPECT_EQ(calls_.opened.size(), 2U);
  for (const auto& [daemon, jobs] : calls_.opened) {
    EXPECT_THAT(jobs, testing::ElementsAre(job.id)) << daemon;
  }
}

TEST_F(JobRunTest, ADeviceThatTakesTurnsHasAPlanAndIsInTheMetrics) {
  spec_.executors = "factored";
  spec_.samplers = 0;
  calls_.evaluations = {1, 2, 3, 4, 3};
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  ExpectEveryBatchOnce();
  EXPECT_EQ(calls_.plans.size(), 2U);
  EXPECT_EQ(calls_.plans.at("trainer.0").num_devices, 1U);
  EXPECT_EQ(calls_.plans.at("trainer.0").switching, 1U);
  EXPECT_EQ(calls_.devices.at("trainer.0"), 0U);
  for (const nlohmann::json& epoch : Metrics()) {
    EXPECT_EQ(epoch["samplers"], 1);
    EXPECT_EQ(epoch["trainers"], 0);
    EXPECT_EQ(epoch["devices"].size(), 1U);
    EXPECT_EQ(epoch["devices"][0]["device"], "cpu:0");
    EXPECT_EQ(epoch["devices"][0]["plan"], "sampler");
  }
  ASSERT_EQ(job.progress.devices.size(), 0U) << "it has ended";
}

TEST_F(JobRunTest, WarnsOfClassesThatItCannotLearn) {
  WriteRing(temp_ / "ring of one", {.num_train = 1});
  spec_.dataset = (temp_ / "ring of one").string();
  calls_.evaluations = {1, 2, 3, 4, 3};
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_THAT(job.progress.warning, HasSubstr("no vertex of 1 of 2 classes"));
  EXPECT_EQ(Summary()["warning"], job.progress.warning);
}

TEST_F(JobRunTest, EveryBatchOfEveryEpochIsTrainedOnceAndRecorded) {
  calls_.evaluations = {1, 2, 3, 4, 3};
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(ReadRun("job.yaml"), ToYaml(spec_));
  EXPECT_EQ(calls_.profiled_batches, 5U);
  EXPECT_THAT(calls_.profiled_hops,
              ElementsAre(HopSize{4, 9, 5}, HopSize{9, 20, 11}));
  ExpectEveryBatchOnce();

  const std::vector<nlohmann::json> metrics = Metrics();
  ASSERT_EQ(metrics.size(), 4U);
  for (size_t epoch = 0; epoch < 4; ++epoch) {
    EXPECT_EQ(metrics[epoch]["valid_accuracy"],
              0.25 * static_cast<double>(epoch + 1));
    EXPECT_EQ(metrics[epoch]["valid_macro_f1"],
              0.125 * static_cast<double>(epoch + 1));
    EXPECT_EQ(metrics[epoch]["valid_roc_auc"],
              0.0625 * static_cast<double>(epoch + 1));
    EXPECT_EQ(metrics[epoch]["evaluate_seconds"], 0.5);
  }
  // Losses of the batches are 1, 1/2, 1/3, …
  EXPECT_NEAR(metrics[0]["loss"], (1 + 1 / 2. + 1 / 3. + 1 / 4. + 1 / 5.) / 5,
              1e-6);

  const nlohmann::json summary = Summary();
  EXPECT_EQ(summary["job_id"], id_);
  EXPECT_EQ(summary["epochs"], 4);
  EXPECT_EQ(summary["batches_expected"], 20);
  EXPECT_EQ(summary["restarts"], 0);
  std::vector<std::string> phases;
  for (const auto& [phase, seconds] : summary["preparation_seconds"].items()) {
    phases.push_back(phase);
    EXPECT_GT(seconds, 0) << phase;
  }
  // nlohmann::json sorts them.
  EXPECT_THAT(phases, ElementsAre("attaching daemons", "measuring",
                                  "starting daemons", "validating data"));
  EXPECT_GT(summary["peak_bytes"], 0);
  EXPECT_EQ(job.progress.test.accuracy, 0.75);
  EXPECT_EQ(job.progress.test.macro_f1, 0.375);
  EXPECT_EQ(job.progress.test.roc_auc, 0.1875);
  EXPECT_EQ(job.progress.batches_committed, 20U);
  EXPECT_EQ(job.progress.epochs_done, 4U);
}

TEST_F(JobRunTest, CountsBeforeItRanksUnlessAnOrderIsSaved) {
  spec_.cache = {.policy = "presc", .capacity = 0.5};
  calls_.evaluations = {1, 2, 3, 4, 3};
  // As if the sampler had died on the way.
  calls_.lost_counts = {absl::UnavailableError("gone")};
  Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  ASSERT_EQ(calls_.counted.size(), 1U);
  EXPECT_EQ(calls_.counted[0].part, 0U);
  EXPECT_EQ(calls_.counted[0].num_parts, 1U);
  ASSERT_EQ(calls_.ranked.size(), 2U);
  EXPECT_TRUE(calls_.ranked[0].counts.empty());
  EXPECT_EQ(calls_.ranked[1].counts,
            std::vector<fs::path>{calls_.counted[0].path});
  EXPECT_FALSE(fs::exists(calls_.counted[0].path));
  // Where no user leads a sampler elsewhere.
  EXPECT_EQ(calls_.counted[0].path.parent_path(), temp_ / "counts");
  for (const char* name : {"sampler.0", "trainer.0"}) {
    EXPECT_EQ(calls_.plans[name].rank_order_key, 77U);
    EXPECT_EQ(calls_.plans[name].cache_rows, 20U);  // Of 40 vertices.
  }

  calls_.order_is_saved = true;
  calls_.evaluations = {1, 2, 3, 4, 3};
  job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(calls_.counted.size(), 1U);
  EXPECT_EQ(calls_.ranked.size(), 3U);
}

TEST_F(JobRunTest, RanksByWhatWasCountedOnline) {
  spec_.cache = {.policy = "online", .capacity = 0.5, .epochs = 2};
  calls_.evaluations = {1, 2, 3, 4, 3};
  // As if the sampler had died on the way: tried again an epoch later.
  calls_.lost_counts = {absl::UnavailableError("gone")};
  std::vector<CachePlan> plans;
  calls_.on_evaluate = [&] {
    plans.push_back(calls_.daemon("sampler.0").cache_plan());
  };
  Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(calls_.plans["trainer.0"].rank_order_key, 0U);
  EXPECT_THAT(plans,
              ElementsAre(CachePlan{0, 20}, CachePlan{0, 20}, CachePlan{0, 20},
                          CachePlan{77, 20}, CachePlan{77, 20}));
  EXPECT_TRUE(calls_.counted.empty());
  ASSERT_EQ(calls_.written.size(), 1U);
  EXPECT_FALSE(fs::exists(calls_.written[0]));
  EXPECT_EQ(calls_.written[0].parent_path(), temp_ / "counts");
  ASSERT_EQ(calls_.ranked.size(), 2U);
  EXPECT_TRUE(calls_.ranked[0].counts.empty());
  EXPECT_EQ(calls_.ranked[1].counts, calls_.written);

  calls_.order_is_saved = true;
  calls_.evaluations = {1, 2, 3, 4, 3};
  job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_EQ(calls_.plans["trainer.0"].rank_order_key, 77U);
  EXPECT_EQ(calls_.written.size(), 1U);
}

TEST_F(JobRunTest, ACacheThatMemoryHasNoRoomForShrinks) {
  spec_.cache = {.policy = "degree", .capacity = 0.5};
  calls_.order_is_saved = true;
  // The plan fits. What is measured is this process, which is the daemons.
  spec_.limits.memory_bytes = 2 << 20;
  const std::vector<char> touched(8 << 20, 1);
  calls_.evaluations = {1, 2, 3, 4, 3};
  std::vector<CachePlan> plans;
  calls_.on_evaluate = [&] {
    plans.push_back(calls_.daemon("sampler.0").cache_plan());
  };
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  EXPECT_THAT(plans,
              ElementsAre(CachePlan{77, 20}, CachePlan{77, 0}, CachePlan{77, 0},
                          CachePlan{77, 0}, CachePlan{77, 0}));
}

TEST_F(JobRunTest, ASharedTableHasTheRowsOfAllAndShrinksOnceForAll) {
  spec_.features.store = "disk";
  spec_.trainers = 2;
  spec_.cache = {.policy = "degree", .capacity = 0.25};
  calls_.order_is_saved = true;
  std::vector<CachePlan> plans;
  calls_.on_evaluate = [&] {
    plans.push_back(calls_.daemon("sampler.0").cache_plan());
  };
  const auto run = [&] {
    plans.clear();
    calls_.shared.clear();  // Another job counts its evaluations anew.
    calls_.evaluations = {1, 2, 3, 4, 3};
    const Job job = Run();
    ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  };
  run();
  ASSERT_EQ(plans.size(), 5U);
  EXPECT_THAT(plans, testing::Each(CachePlan{77, 20, 20, 1}));
  spec_.limits.memory_bytes = 3 << 20;  // As above.
  const std::vector<char> touched(8 << 20, 1);
  run();
  ASSERT_EQ(plans.size(), 5U);
  EXPECT_EQ(plans.front(), (CachePlan{77, 20, 20, 1}));
  EXPECT_EQ(plans.back(), (CachePlan{77, 0, 0, 0}));
}

TEST_F(JobRunTest, StandbyTrainersHaveACapacityOfTheirOwn) {
  spec_.executors = "factored";
  spec_.samplers = 0;
  spec_.cache = {.policy = "degree", .capacity = 0.5};
  spec_.cache.standby_capacity = 0.25;
  calls_.order_is_saved = true;
  calls_.evaluations = {1, 2, 3, 4, 3};
  std::vector<CachePlan> plans;
  calls_.on_evaluate = [&] {
    plans.push_back(calls_.daemon("sampler.0").cache_plan());
  };
  const Job job = Run();
  ASSERT_EQ(job.state, JobState::kCompleted) << job.error;
  ExpectEveryBatchOnce();
  EXPECT_THAT(plans, testing::Each(CachePlan{77, 20, 10}));
}

TEST_F(JobRunTest, FailsWhereVerticesCannotBeRanked) {
  spec_.cache = {.policy = "presc", .capacity = 0.5};
  calls_.lost_counts = {absl::PermissionDeniedError("derived: no")};
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error,
              StatusIs(absl::StatusCode::kPermissionDenied,
                       testing::AllOf(testing::HasSubstr("cache.policy"),
                                      testing::HasSubstr("derived: no"))));
}

TEST_F(JobRunTest, ADaemonWithoutRoomForTheJobIsAskedAgain) {
  calls_.evaluations = {1, 1, 1, 1, 1};
  calls_.attaches = {absl::ResourceExhaustedError("needs 9 MiB, have 5 MiB")};
  ASSERT_EQ(Run().state, JobState::kCompleted);
  ExpectEveryBatchOnce();
  calls_.evaluations = {1, 1, 1, 1, 1};
  calls_.attaches = std::deque<absl::Status>(
      100, absl::ResourceExhaustedError("needs 9 MiB, have 5 MiB"));
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error,
              StatusIs(absl::StatusCode::kResourceExhausted,
                       testing::AllOf(HasSubstr("needs 9 MiB, have 5 MiB"),
                                      HasSubstr("was tried for 60 s"))));
}

TEST_F(JobRunTest, SeveralTrainersMakeTheSameWeights) {
  spec_.trainers = 2;
  calls_.evaluations = {1, 1, 1, 1, 1};
  ASSERT_EQ(Run().state, JobState::kCompleted);
  EXPECT_EQ(ReadRun("checkpoints/epoch-0004.safetensors"), "20");
  EXPECT_EQ(Metrics()[0]["trainers"], 2);
}

TEST_F(JobRunTest, AJobThatDoesNotFitIsRefusedAndLeavesNothing) {
  spec_.limits.memory_bytes = 64 * kMiB;
  calls_.training = 65 * kMiB;
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("limits.memory")));
  EXPECT_FALSE(fs::exists(RunDir()));
  EXPECT_TRUE(calls_.plans.empty()) << "a daemon was attached";
}

TEST_F(JobRunTest, AStepThatATrainerRefusesIsItsRefusal) {
  calls_.training = absl::ResourceExhaustedError("limits.memory: one step");
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error,
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("trainer.0: limits.memory: one step")));
  EXPECT_FALSE(fs::exists(RunDir()));
  EXPECT_TRUE(calls_.plans.empty()) << "a daemon was attached";
}

TEST_F(JobRunTest, DamagedDataIsRefusedAndLeavesNothing) {
  fs::remove_all(temp_ / "ring");
  WriteRing(temp_ / "ring", {.nan_feature = true});
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("features.npy")));
  EXPECT_FALSE(fs::exists(RunDir()));
}

// The folder may have been closed, or a link put in its way, while it waited.
TEST_F(JobRunTest, AJobStartsInNoFolderThatItsUserHasNoRightTo) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  fs::permissions(temp_.path(), fs::perms(0755));
  spec_.training.evaluate_every = 0;
  const fs::path above = fs::canonical(temp_.path()) / "above";
  fs::create_directories(above / "closed");
  fs::permissions(above / "closed", fs::perms(0700));
  fs::permissions(above, fs::perms(0777));
  request_.user = "ann";
  request_.file_user = "64002:64002";
  request_.run_dir = (above / "closed/run").string();
  EXPECT_THAT(Run().error, StatusIs(absl::StatusCode::kPermissionDenied,
                                    HasSubstr("uid 64002 may not enter " +
                                              (above / "closed").string())));
  EXPECT_TRUE(fs::is_empty(above / "closed"));
  request_.run_dir = (above / "run").string();
  EXPECT_EQ(Run().state, JobState::kCompleted);
  // It goes on in the folder that the service has made for it, and no other.
  EXPECT_EQ(Resume().state, JobState::kCompleted);
  request_.user = "bob";
  request_.by_operator = true;
  request_.file_user = "64003:64003";
  EXPECT_THAT(Resume().error, StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST_F(JobRunTest, ARunFolderThatIsTakenIsRefused) {
  std::ofstream(temp_ / "runs") << "a file";
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, testing::Not(IsOk()));
}

TEST_F(JobRunTest, WhatADaemonReportsFailsTheJob) {
  calls_.evaluations = {1, 1, 1, 1, 1};
  calls_.on_evaluate = [this] {
    EXPECT_THAT(host_->Heartbeat({.name = "sampler.0",
                                  .pid = ::getpid(),
                                  .batches = 3,
                                  .job_id = "another job",
                                  .failure = absl::DataLossError("stale")}),
                IsOk());
    EXPECT_THAT(host_->Heartbeat({.name = "sampler.0",
                                  .pid = ::getpid(),
                                  .batches = 3,
                                  .job_id = id_,
                                  .failure = absl::DataLossError("no graph")}),
                IsOk());
  };
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error,
              StatusIs(absl::StatusCode::kDataLoss, "sampler.0: no graph"));
}

TEST_F(JobRunTest, AJobSaysWhichDaemonsItWaitsFor) {
  DaemonHostOptions options;
  calls_.evaluations = {1, 1, 1, 1, 1};
  options.register_within = std::chrono::seconds(6);
  options.start_command = "start {role} {device}";
  StartHost(options);
  RegisterHere("trainer.0");
  while_it_runs_ = [this] {
    WaitUntil(id_, [](const Job& job) {
      return job.state == JobState::kPreparing && !job.waiting_for.empty();
    });
    EXPECT_EQ(table_->Get(id_)->job.waiting_for,
              "waits at most 12 s for sampler.0 on cpu:0 ('start sampler "
              "cpu:0')");
    RegisterHere("sampler.0");
    WaitUntil(id_, [](const Job& job) { return job.waiting_for.empty(); });
  };
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
}

TEST_F(JobRunTest, ADaemonOnAnotherDeviceIsNotTaken) {
  DaemonHostOptions options;
  options.register_within = std::chrono::milliseconds(10);
  options.start_command = "start {role} {device}";
  StartHost(options);
  for (const char* name : {"sampler.0", "trainer.0"}) RegisterHere(name);
  spec_.devices = Devs({"cpu:1"});
  const Job job = Run();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kUnavailable,
                                  HasSubstr("sampler.1 on cpu:1 ('start "
                                            "sampler cpu:1'), trainer.1 on "
                                            "cpu:1 ('start trainer cpu:1') did "
                                            "not register")));
}

}  // namespace
}  // namespace fgnn
