// One job with daemons that live in this process. Queue, board, host part and
// job table are real ones. The calls to daemons do what the test says.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_RUN_JOB_RUN_FIXTURE_H_
#define FGNN_TESTS_UNIT_SCHEDULER_RUN_JOB_RUN_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "scheduler/jobs/job_table.h"
#include "scheduler/run/job_run.h"
#include "scheduler/run/job_runner.h"
#include "scheduler/store/job_store.h"
#include "shared/base/files/file.h"
#include "shared/queue/segment_layout.h"
#include "shared/telemetry/process.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/scheduler/ring_dataset.h"
#include "tests/unit/scheduler/run/scripted_calls.h"

namespace fgnn {

namespace fs = std::filesystem;

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
                         .device = Dev(device),
                         .pid = ::getpid(),
                         .start_time = ReadProcessStartTime(::getpid()).value(),
                         .socket_path = name,
                         .version = "test",
                         .segment_layout_version = kSegmentLayoutVersion,
                         .job_id = job_id,
                         .owner = owner}),
        IsOk());
  }

  // Returns spec_ as it is now.
  std::shared_ptr<const JobSpec> SharedSpec() const {
    return std::make_shared<const JobSpec>(spec_);
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
    if (request.spec == nullptr) request.spec = SharedSpec();
    request.options.digest = true;
    request.resume = !resumed_dir.empty();
    if (request.resume) request.run_dir = resumed_dir.string();
    id_ = table_->Submit(request)->id;
    return RunToItsEnd();
  }

  // Runs the job of id_, which waits in table_.
  Job RunToItsEnd() {
    calls_.dataset = spec_.dataset;
    const JobRunner runner({.environment = {.dispatcher = &table_->dispatcher(),
                                            .host = host_.get(),
                                            .calls = &calls_,
                                            .clock = clock_},
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
  // A look at it takes ten seconds, so that no test waits for a shortage.
  std::atomic<int> looks_ = 0;
  ShortageClock clock_ = [this] {
    return Deadline() + std::chrono::seconds(10) * ++looks_;
  };
  ScriptedCalls calls_;
  std::unique_ptr<DaemonHost> host_;
  std::unique_ptr<JobTable> table_;
  std::string id_;
  fs::path run_dir_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_RUN_JOB_RUN_FIXTURE_H_
