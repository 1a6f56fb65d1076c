// A sampler, trainer or exchange that computes nothing. It moves empty tasks
// through the real queue and steps through the real board, on its own threads.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_FAKE_EXECUTOR_H_
#define FGNN_TESTS_UNIT_SCHEDULER_FAKE_EXECUTOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "scheduler/planning/placement.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/threads/thread.h"
#include "shared/base/types.h"
#include "shared/queue/global_queue.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment.h"

namespace fgnn {

// Ends this process in the same way as a crash.
void Crash();

// Not thread-safe.
class FakeExecutor {
 public:
  explicit FakeExecutor(ExecutorRole role) : role_(role) {}
  ~FakeExecutor() { Detach(); }

  // Attaches to the segment. The executor claims from now on.
  absl::Status Attach(UniqueFd segment, const std::string& job_id,
                      OwnerIndex owner);
  void Detach();
  // While paused, the executor claims a batch and holds it.
  void Pause(bool paused) { paused_ = paused; }
  // The executor holds only this batch.
  void HoldOn(BatchSeq seq) { hold_on_ = seq.value(); }
  // The executor crashes once it has claimed this batch to sample it.
  void CrashOn(BatchSeq seq) { crash_on_ = seq.value(); }
  // Makes the first weights of a job that is resumed.
  absl::Status PublishFirst(float weight);
  std::optional<uint64_t> version() const;
  // Returns the value of each of the newest weights: the number of batches that
  // they contain.
  std::optional<float> NewestWeight() const;
  // Only while the executor is attached.
  CachePlan cache_plan() const { return segment_->cache_plan(); }
  double rate_factor() const { return segment_->rate_factor(); }
  // Returns the bytes of weights and optimizer state in a checkpoint.
  uint64_t checkpoint_bytes() const {
    const SegmentOptions& plan = segment_->options();
    return plan.num_parameters * sizeof(float) *
           (uint64_t{1} + plan.optimizer_floats_per_parameter);
  }

 private:
  void Sample();
  void Train();
  void StepIfDue();
  void TrainOne(BatchSeq first, BatchSeq last);

  const ExecutorRole role_;
  std::unique_ptr<Segment> segment_;
  std::unique_ptr<GlobalQueue> queue_;
  std::unique_ptr<GradientBoard> board_;
  // The limit of training keeps readers and writers of the weights apart. The
  // scheduler sets it through another mapping of the segment, where
  // ThreadSanitizer does not see it. The mutex is for ThreadSanitizer.
  mutable std::mutex weights_mutex_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> paused_{false};
  std::atomic<uint64_t> hold_on_{UINT64_MAX};
  std::atomic<uint64_t> crash_on_{UINT64_MAX};
  Thread thread_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_FAKE_EXECUTOR_H_
