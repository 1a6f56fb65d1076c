// What tests of exchanges share.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_EXCHANGE_EXCHANGES_OF_A_JOB_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_EXCHANGE_EXCHANGES_OF_A_JOB_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/files/unique_fd.h"
#include "shared/executors/executor_messages.h"
#include "tests/unit/trainer_service/exchange/hosts_of_a_job.h"
#include "trainer_service/exchange/exchange_job.h"

namespace fgnn {

inline constexpr char kJob[] = "20261129-100000-abcd";

// Returns hosts with these numbers of places, whose exchanges are nowhere.
inline JobHosts HostsWith(const std::vector<uint64_t>& shares) {
  JobHosts hosts;
  for (const uint64_t share : shares) {
    hosts.all.push_back({.name = absl::StrCat("host", hosts.all.size()),
                         .exchange = "127.0.0.1:1",
                         .num_places = share});
  }
  return hosts;
}

// Maps a segment once more, as another process does.
inline std::unique_ptr<Segment> AttachTo(Segment* segment) {
  return Segment::Attach(Duplicate(segment->fd()), kTestJob).value();
}

// Waits until all loops of the job have made a round.
inline void WaitForProgress(const ExchangeJob& job) {
  const uint64_t before = job.progress();
  const Deadline end = FarDeadline();
  while (job.progress() < before + 2) {
    ASSERT_LT(MonotonicClock::now(), end) << "a loop stands still";
    std::this_thread::yield();
  }
}

// A batch is counted after the steps that it lets others make.
inline void WaitForBatches(const ExchangeJob& job) {
  const Deadline end = FarDeadline();
  while (job.batches() == 0) {
    ASSERT_LT(MonotonicClock::now(), end) << "no batch came";
    std::this_thread::yield();
  }
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_EXCHANGE_EXCHANGES_OF_A_JOB_H_
