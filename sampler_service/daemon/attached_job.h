// A job in which this sampler takes part. Its threads claim the lowest free
// batch, sample it into its slot and publish it.
#ifndef FGNN_SAMPLER_SERVICE_DAEMON_ATTACHED_JOB_H_
#define FGNN_SAMPLER_SERVICE_DAEMON_ATTACHED_JOB_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/daemon/sampling_slice.h"
#include "sampler_service/daemon/sampling_totals.h"
#include "sampler_service/daemon/task_marks.h"
#include "sampler_service/job/job_sampling.h"
#include "sampler_service/job/online_counts.h"
#include "sampler_service/order/matched_order.h"
#include "sampler_service/sampling/device_samplers.h"
#include "sampler_service/sampling/sampler.h"
#include "sampler_service/split/part_sampler.h"
#include "shared/base/threads/loop_rounds.h"
#include "shared/base/threads/notification.h"
#include "shared/base/threads/thread.h"
#include "shared/base/types.h"
#include "shared/queue/global_queue.h"
#include "shared/queue/segment.h"
#include "shared/rpc/executor_daemon.h"

namespace fgnn {

struct AttachedJobOptions {
  std::string job_id;
  OwnerIndex owner = kNoOwner;
  std::optional<uint32_t> overflow_block;
  uint32_t num_threads = 1;
  // Index of this device; used only if the job's devices take turns.
  uint32_t device = 0;
  // Number of batches that are counted for WriteCounts(): all seqs below it; 0:
  // none.
  uint64_t counted_batches = 0;
  // Lets samplers write to the segment's tasks; see DeviceSamplers::Open().
  // Empty: they need no such permission.
  std::function<absl::StatusOr<std::unique_ptr<DirectMemory>>(
      absl::Span<std::byte> memory)>
      open_memory = nullptr;
  SamplingTotals* totals = nullptr;  // Borrowed; null: nothing is added up.
  // Called on a work loop's thread when the job cannot go on here.
  std::function<void(const absl::Status&)> on_failure;
};

// The work loops start at once. They work until the job is stopped or fails
// here, or until this object is destroyed. Thread-safe.
class AttachedJob : public ExecutorJob {
 public:
  // Starts the loops. InvalidArgument: the segment was planned for another
  // number of batches, or without this device. ResourceExhausted: there is no
  // memory for the samplers' workspaces.
  static absl::StatusOr<std::unique_ptr<AttachedJob>> Start(
      AttachedJobOptions options, JobSampling sampling,
      std::unique_ptr<Segment> segment);
  // Calls Stop(), then waits for the loops. Claimed slots are given back.
  ~AttachedJob() override;
  AttachedJob(const AttachedJob&) = delete;
  AttachedJob& operator=(const AttachedJob&) = delete;

  // Ends the loops after the batch under way.
  void Stop() override;

  // Writes the counts of this sampler so far; see WriteCounts() in
  // online_counts.h. FailedPrecondition: this sampler counts nothing.
  absl::Status WriteCounts(const std::filesystem::path& path) const;

  // Returns a number that rises while every loop makes progress.
  uint64_t progress() const override;
  // Returns the number of tasks made. A task that was retracted from the
  // overflow block counts again.
  uint64_t batches() const override {
    return batches_.load(std::memory_order_relaxed);
  }

 private:
  struct Worker {
    std::unique_ptr<Sampler> sampler;
    std::unique_ptr<PartSampler> parts;  // Null: batches are whole.
    OnlineCounts* counts = nullptr;      // Null: batches are not counted.
    bool has_marks = false;  // Whether the sampler was told of the order.
    std::atomic<uint64_t> progress = 0;
  };

  AttachedJob(AttachedJobOptions options, JobSampling sampling,
              std::unique_ptr<Segment> segment);
  // Lets the device write to the segment's tasks.
  void OpenMemory();
  // Makes the sampler of another thread, and its counts.
  absl::Status AddWorker();
  void Run(Worker& worker);
  absl::Status Loop(Worker& worker);
  absl::Status SampleInSlice(Worker& worker);
  // Samples the batch of which these are parts, and publishes them.
  absl::Status SampleInto(Worker& worker, std::vector<WriteSlot> slots);
  absl::StatusOr<SampledTask> SampleWhole(Worker& worker,
                                          const OrderedBatch& batch,
                                          WriteSlot& slot);
  absl::StatusOr<SampledTask> SampleParts(Worker& worker,
                                          const OrderedBatch& batch,
                                          std::vector<WriteSlot>& slots);
  absl::StatusOr<OrderedBatch> Order(Worker& worker, BatchSeq seq);
  absl::Status MarkAsPlanned(Worker& worker);
  absl::Status SwitchToOverflow(Worker& worker, WriteSlot& slot);
  // Returns the error of a loop that ends because the job is stopped.
  absl::Status BeingDetached() const;

  const AttachedJobOptions options_;
  const JobSampling sampling_;
  const std::unique_ptr<Segment> segment_;
  std::unique_ptr<DirectMemory> direct_memory_;  // The segment's tasks.
  GlobalQueue queue_;
  mutable LoopRounds rounds_;  // Rounds of the workers' loops.
  std::atomic<uint64_t> batches_ = 0;
  std::atomic<bool> stopping_ = false;
  Notification stopped_;
  std::vector<std::unique_ptr<OnlineCounts>> counts_;  // One for each worker.
  TaskMarks marks_;
  std::unique_ptr<MatchedOrder> order_;  // Null: batches come as drawn.
  std::optional<SamplingSlice> slice_;   // nullopt: devices take no turns.
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Thread> threads_;  // Last: they use the fields above.
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_DAEMON_ATTACHED_JOB_H_
