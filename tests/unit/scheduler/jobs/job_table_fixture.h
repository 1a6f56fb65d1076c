// A table of jobs in a folder of its own, without devices.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_JOBS_JOB_TABLE_FIXTURE_H_
#define FGNN_TESTS_UNIT_SCHEDULER_JOBS_JOB_TABLE_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "scheduler/jobs/job_table.h"
#include "shared/base/clock.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {

inline constexpr std::chrono::seconds kLong{30};
inline constexpr size_t kMaxQueued = 5;

inline JobRequest RequestOf(const std::string& dataset,
                            const std::string& key = "") {
  JobRequest request;
  request.spec = SharedJob(dataset);
  request.client_key = key;
  return request;
}

class JobTableTest : public testing::Test {
 protected:
  JobTableTest() { Reopen(); }

  void Reopen() {
    table_.reset();
    table_ = JobTable::Open(JobStore::Open(folder_ / "jobs.sqlite").value(),
                            folder_.path(), {.max_queued = kMaxQueued})
                 .value();
  }
  std::string Submit(const std::string& key = "") {
    return table_->Submit(RequestOf("spec", key))->id;
  }
  JobState StateOf(const std::string& id) { return table_->Get(id)->job.state; }
  Job Start() {
    return table_->dispatcher().StartNext(DeadlineIn(kLong)).value();
  }

  TempFolder folder_;
  std::unique_ptr<JobTable> table_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_JOBS_JOB_TABLE_FIXTURE_H_
