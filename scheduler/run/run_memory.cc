#include "scheduler/run/run_memory.h"

#include <algorithm>
#include <chrono>

namespace fgnn {
namespace {

constexpr std::chrono::milliseconds kMemoryLook{1'000};
// Measuring memory may take one part in kMemoryLookShare of the time.
constexpr int kMemoryLookShare = 50;

}  // namespace

void RunMemory::SetPlanned() {
  unplanned_bytes_ = run_.executors.MeasureMemory().anonymous_bytes;
}

void RunMemory::MeasureIfDue() {
  const Deadline now = MonotonicClock::now();
  if (now < next_look_) return;
  const Stopwatch cost;
  Measure();
  next_look_ = now + std::max<MonotonicClock::duration>(
                         kMemoryLook,
                         std::chrono::duration_cast<MonotonicClock::duration>(
                             std::chrono::duration<double>(cost.Seconds() *
                                                           kMemoryLookShare)));
}

void RunMemory::Measure() {
  const JobExecutors& executors = run_.executors;
  const MemoryUse use = run_.executors.MeasureMemory();
  peak_bytes_ = std::max(peak_bytes_, use.resident_bytes);
  epoch_peak_bytes_ = std::max(epoch_peak_bytes_,
                               use.anonymous_bytes + executors.segment_bytes() +
                                   executors.shared_bytes());
  run_.environment.memory->SetTaken(
      run_.job.id, use.anonymous_bytes -
                       std::min(use.anonymous_bytes, unplanned_bytes_) +
                       executors.segment_bytes() + executors.shared_bytes());
}

}  // namespace fgnn
