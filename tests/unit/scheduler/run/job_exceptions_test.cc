// Exceptions, and a system without further threads, fail one job and nothing
// else.
#include <new>
#include <optional>
#include <stdexcept>

#include "tests/fakes/devices.h"
#include "tests/fakes/thread_limit.h"
#include "tests/unit/scheduler/run/job_run_fixture.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

class JobExceptionsTest : public JobRunTest {
 protected:
  JobExceptionsTest() {
    calls_.evaluations = {1, 2, 3, 4, 3};
    table_ = JobTable::Open(JobStore::Open(temp_ / "jobs.sqlite").value(),
                            temp_.path())
                 .value();
    runner_.emplace(Options());
  }
  ~JobExceptionsTest() override { table_->Close(); }

  Job RunNext(JobRequest request = {}) {
    request.spec = SharedSpec();
    request.options.digest = true;
    calls_.dataset = spec_.dataset;
    id_ = table_->Submit(request).value().id;
    EXPECT_TRUE(table_->WaitForChange(id_, 0, /*only_end=*/true,
                                      DeadlineIn(std::chrono::seconds(60))));
    return table_->Get(id_)->job;
  }
  JobRunnerOptions Options() {
    return {.environment = {.dispatcher = &table_->dispatcher(),
                            .host = host_.get(),
                            .calls = &calls_},
            .kept = {}};
  }

  std::optional<JobRunner> runner_;  // Last: it uses the above.
};

TEST_F(JobExceptionsTest, AnExceptionWhileItRunsFailsTheJobAlone) {
  calls_.on_save = [](const fs::path&) { throw std::bad_alloc(); };
  const Job job = RunNext();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kInternal,
                                  HasSubstr("out of memory")));
  run_dir_ = job.run_dir;
  EXPECT_EQ(Summary()["state"], "failed");

  calls_.on_save = nullptr;
  calls_.evaluations = {1, 2, 3, 4, 3};
  EXPECT_EQ(RunNext().state, JobState::kCompleted);
}

TEST_F(JobExceptionsTest, AnExceptionOfACallAmongSeveralFailsTheJobAlone) {
  spec_.devices = Devs({"cpu:0"});
  spec_.trainers = 2;
  calls_.on_evaluate = [] { throw std::runtime_error("no such thing"); };
  const Job job = RunNext();
  EXPECT_EQ(job.state, JobState::kFailed);
  EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kInternal,
                                  HasSubstr("no such thing")));
}

TEST_F(JobExceptionsTest, AJobWhoseThreadCannotBeStartedFailsAlone) {
  {
    const NoFurtherThreads limit;
    const Job job = RunNext();
    EXPECT_EQ(job.state, JobState::kFailed);
    EXPECT_THAT(job.error, StatusIs(absl::StatusCode::kInternal,
                                    HasSubstr("no further thread")));
  }
  EXPECT_EQ(RunNext().state, JobState::kCompleted);
}

}  // namespace
}  // namespace fgnn
