// Jobs that go on from a checkpoint.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_RUN_JOB_RESUME_FIXTURE_H_
#define FGNN_TESTS_UNIT_SCHEDULER_RUN_JOB_RESUME_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/unit/scheduler/run/job_run_fixture.h"

namespace fgnn {

class JobResumeTest : public JobRunTest {
 protected:
  JobResumeTest() { spec_.training.evaluate_every = 0; }

  // Cancels the job once it has written this checkpoint.
  void EndAfter(const std::string& checkpoint) {
    calls_.on_save = [this, checkpoint](const fs::path& path) {
      if (path.stem() != checkpoint) return;
      EXPECT_THAT(table_->Cancel(id_, absl::CancelledError("by hand")), IsOk());
    };
  }
  // Runs the job up to this checkpoint.
  void RunUntil(const std::string& checkpoint) {
    EndAfter(checkpoint);
    EXPECT_EQ(Run().state, JobState::kCancelled);
    calls_.on_save = nullptr;
    calls_.loaded.clear();
  }
  void ExpectItGoesOnFrom(const std::string& checkpoint) {
    const Job job = Resume();
    EXPECT_EQ(job.state, JobState::kCompleted) << job.error;
    EXPECT_THAT(calls_.loaded,
                testing::ElementsAre(checkpoint + ".safetensors"));
  }
  // Returns the contents of all files of the run.
  std::map<std::string, std::string> RunFiles() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(RunDir())) {
      if (!entry.is_regular_file()) continue;
      files[entry.path().string()] = ReadSmallFile(entry.path()).value();
    }
    return files;
  }
  std::string Checkpoint(const std::string& name) const {
    return (RunDir() / "checkpoints" / (name + ".safetensors")).string();
  }
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_RUN_JOB_RESUME_FIXTURE_H_
