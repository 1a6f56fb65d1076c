#include "sampler_service/daemon/attached_job.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {

absl::StatusOr<std::unique_ptr<AttachedJob>> AttachedJob::Start(
    AttachedJobOptions options, JobSampling sampling,
    std::unique_ptr<Segment> segment) {
  const uint64_t planned = segment->options().batches_per_epoch;
  if (planned != sampling.batches_per_epoch()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "job ", options.job_id, " was planned for ", planned,
        " batches an epoch, but its dataset makes ",
        sampling.batches_per_epoch(), "; was the dataset changed?"));
  }
  const uint32_t num_devices = segment->options().num_devices;
  if (num_devices > 0 && options.device >= num_devices) {
    return absl::InvalidArgumentError(
        absl::StrCat("device ", options.device, " is none of the ", num_devices,
                     " of job ", options.job_id));
  }
  std::unique_ptr<AttachedJob> job = absl::WrapUnique(new AttachedJob(
      std::move(options), std::move(sampling), std::move(segment)));
  if (const auto& order = job->sampling_.order; order.has_value()) {
    FGNN_ASSIGN_OR_RETURN(job->order_,
                          MatchedOrder::Create(job->sampling_.input(),
                                               job->sampling_.options, *order));
  }
  job->OpenMemory();
  for (uint32_t i = 0; i < job->options_.num_threads; ++i) {
    FGNN_RETURN_IF_ERROR(job->AddWorker());
  }
  for (const std::unique_ptr<Worker>& worker : job->workers_) {
    job->threads_.emplace_back(
        absl::StrCat("fgnn-sample-", job->threads_.size()),
        [raw = job.get(), mine = worker.get()] { raw->Run(*mine); });
  }
  if (SamplingTotals* const totals = job->options_.totals) {
    totals->SetThreads(job->options_.num_threads);
  }
  return job;
}

AttachedJob::AttachedJob(AttachedJobOptions options, JobSampling sampling,
                         std::unique_ptr<Segment> segment)
    : options_(std::move(options)),
      sampling_(std::move(sampling)),
      segment_(std::move(segment)),
      queue_(segment_.get(), options_.owner, options_.overflow_block),
      marks_(&sampling_.dataset) {
  if (segment_->options().num_devices > 0) {
    slice_.emplace(segment_.get(), options_.owner, options_.device,
                   options_.num_threads);
  }
}

// Without permission tasks are copied once more, which is slower. Parts are
// written by this process, and their overflow blocks are to take no memory
// before that.
void AttachedJob::OpenMemory() {
  if (options_.open_memory == nullptr || segment_->options().parts > 1) return;
  auto opened = options_.open_memory(segment_->task_blocks());
  if (opened.ok()) {
    direct_memory_ = *std::move(opened);
  } else {
    LogWarning("job {}: the device does not write tasks directly: {}",
               options_.job_id, MessageOf(opened.status()));
  }
}

absl::Status AttachedJob::AddWorker() {
  auto worker = std::make_unique<Worker>();
  FGNN_ASSIGN_OR_RETURN(
      worker->sampler, sampling_.factory(sampling_.input(), sampling_.options));
  if (const uint64_t parts = segment_->options().parts; parts > 1) {
    worker->parts = std::make_unique<PartSampler>(
        sampling_.book.get(),
        PartSamplerOptions{
            .num_parts = static_cast<uint32_t>(parts),
            .job_key = sampling_.options.job_key,
            .bound_bytes =
                MaxTaskBytesOf(sampling_.dataset.graph(), sampling_.options),
            // The slots of a batch have twice the room of a usual one.
            .usual_bytes = segment_->options().slot_bytes / 2 * parts});
  }
  if (const uint64_t counted = options_.counted_batches; counted > 0) {
    FGNN_ASSIGN_OR_RETURN(
        counts_.emplace_back(),
        OnlineCounts::Make(sampling_.dataset.num_nodes(), counted));
    worker->counts = counts_.back().get();
  }
  workers_.push_back(std::move(worker));
  return absl::OkStatus();
}

AttachedJob::~AttachedJob() {
  Stop();
  stopped_.Notify();
  if (options_.totals != nullptr) options_.totals->SetThreads(0);
}

void AttachedJob::Stop() { stopping_ = true; }

absl::Status AttachedJob::WriteCounts(const std::filesystem::path& path) const {
  if (counts_.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", options_.job_id, " counts nothing here"));
  }
  return fgnn::WriteCounts(counts_, path);
}

uint64_t AttachedJob::progress() const {
  std::vector<uint64_t> progress;
  progress.reserve(workers_.size());
  for (const std::unique_ptr<Worker>& worker : workers_) {
    progress.push_back(worker->progress.load(std::memory_order_relaxed) +
                       worker->sampler->progress());
  }
  return rounds_.Look(progress);
}

void AttachedJob::Run(Worker& worker) {
  WaitForTurnsOnTheCore();
  const absl::Status status = Loop(worker);
  if (!status.ok() && !absl::IsCancelled(status)) {
    LogError("job {}: {}; it cannot go on here", options_.job_id,
             MessageOf(status));
    options_.on_failure(status);
    Stop();
  }
  if (slice_.has_value()) slice_->Leave();
  // The daemon belongs to the job until the scheduler detaches it. The
  // heartbeat goes on until then.
  while (!stopped_.WaitUntil(DeadlineIn(kTick))) {
    worker.progress.fetch_add(1, std::memory_order_relaxed);
  }
}

absl::Status AttachedJob::Loop(Worker& worker) {
  while (!stopping_) {
    worker.progress.fetch_add(1, std::memory_order_relaxed);
    if (slice_.has_value()) {
      FGNN_RETURN_IF_ERROR(SampleInSlice(worker));
      continue;
    }
    FGNN_ASSIGN_OR_RETURN(std::vector<WriteSlot> slots,
                          queue_.ClaimBatchForWriting(DeadlineIn(kTick)));
    if (slots.empty()) continue;
    const BatchSeq seq = slots.front().seq();
    if (const absl::Status status = SampleInto(worker, std::move(slots));
        !status.ok()) {
      return Annotate(status, absl::StrCat("batch ", seq.value()));
    }
  }
  return absl::OkStatus();
}

// Samples at most one batch, and only while this device is to sample.
absl::Status AttachedJob::SampleInSlice(Worker& worker) {
  const uint32_t seen = queue_.frees();
  std::optional<SamplingSlice::Share> share = slice_->Join();
  if (!share.has_value()) {
    return queue_.WaitForFree(seen, DeadlineIn(kTick));
  }
  FGNN_ASSIGN_OR_RETURN(std::vector<WriteSlot> slots,
                        queue_.TryClaimBatchForWriting());
  // Without a slot, other samplers were faster.
  if (slots.empty()) return absl::OkStatus();
  const BatchSeq seq = slots.front().seq();
  const absl::Status status = SampleInto(worker, std::move(slots));
  if (status.ok()) {
    share->Made();
    return absl::OkStatus();
  }
  if (!absl::IsDeadlineExceeded(status)) {
    return Annotate(status, absl::StrCat("batch ", seq.value()));
  }
  // The overflow block holds a task that this device may have to train first.
  share->Yield();
  share.reset();
  return queue_.WaitForFree(queue_.frees(), DeadlineIn(kTick));
}

absl::Status AttachedJob::MarkAsPlanned(Worker& worker) {
  const uint64_t key = segment_->cache_plan().rank_order_key;
  if (key == 0 || worker.has_marks) return absl::OkStatus();
  worker.has_marks = true;
  return worker.sampler->MarkBy(marks_.RanksOf(key));
}

// Finds the number by which the batch is drawn. Other threads may be ordering
// its window meanwhile.
absl::StatusOr<OrderedBatch> AttachedJob::Order(Worker& worker, BatchSeq seq) {
  if (order_ == nullptr) return OrderedBatch{.seq = seq, .drawn = seq};
  const Stopwatch watch;
  FGNN_ASSIGN_OR_RETURN(
      const BatchSeq drawn,
      order_->DrawnOf(seq, *worker.sampler, [&]() -> absl::Status {
        worker.progress.fetch_add(1, std::memory_order_relaxed);
        return stopping_ ? BeingDetached() : absl::OkStatus();
      }));
  return OrderedBatch{.seq = seq,
                      .drawn = drawn,
                      .order_seconds = static_cast<float>(watch.Seconds())};
}

absl::Status AttachedJob::SampleInto(Worker& worker,
                                     std::vector<WriteSlot> slots) {
  FGNN_RETURN_IF_ERROR(MarkAsPlanned(worker));
  FGNN_ASSIGN_OR_RETURN(const OrderedBatch batch,
                        Order(worker, slots.front().seq()));
  // Also of a batch that finds its overflow block in use, and is drawn again.
  const absl::Cleanup end_batch = [&worker] {
    if (worker.parts != nullptr) worker.parts->EndBatch();
  };
  FGNN_ASSIGN_OR_RETURN(const SampledTask task,
                        worker.parts != nullptr
                            ? SampleParts(worker, batch, slots)
                            : SampleWhole(worker, batch, slots.front()));
  if (worker.counts != nullptr) {
    worker.counts->Add(batch.drawn, worker.parts != nullptr
                                        ? worker.parts->whole()
                                        : slots.front().block());
  }
  // Counted before the trainers see the tasks, so that the trainers never count
  // more tasks than the samplers.
  batches_.fetch_add(slots.size(), std::memory_order_relaxed);
  if (options_.totals != nullptr) options_.totals->Add(task);
  for (WriteSlot& slot : slots) {
    FGNN_RETURN_IF_ERROR(std::move(slot).Publish());
  }
  return absl::OkStatus();
}

absl::StatusOr<SampledTask> AttachedJob::SampleWhole(Worker& worker,
                                                     const OrderedBatch& batch,
                                                     WriteSlot& slot) {
  absl::StatusOr<SampledTask> task =
      worker.sampler->SampleAs(batch, slot.block());
  if (absl::IsResourceExhausted(task.status())) {
    // The batch is larger than the batches by which the slots were sized, which
    // is rare.
    FGNN_RETURN_IF_ERROR(SwitchToOverflow(worker, slot));
    task = worker.sampler->SampleAs(batch, slot.block());
    if (absl::IsResourceExhausted(task.status())) {
      // No block is larger: another process would fail as well.
      return absl::FailedPreconditionError(task.status().message());
    }
  }
  return task;
}

absl::StatusOr<SampledTask> AttachedJob::SampleParts(
    Worker& worker, const OrderedBatch& batch, std::vector<WriteSlot>& slots) {
  FGNN_ASSIGN_OR_RETURN(const SampledTask task,
                        worker.parts->Sample(*worker.sampler, batch));
  for (WriteSlot& slot : slots) {
    const uint32_t part = slot.batch_part().part;
    absl::Status written = worker.parts->Write(part, slot.block());
    if (absl::IsResourceExhausted(written)) {
      FGNN_RETURN_IF_ERROR(SwitchToOverflow(worker, slot));
      written = worker.parts->Write(part, slot.block());
      if (absl::IsResourceExhausted(written)) {
        return absl::FailedPreconditionError(written.message());
      }
    }
    FGNN_RETURN_IF_ERROR(written);
  }
  return task;
}

absl::Status AttachedJob::SwitchToOverflow(Worker& worker, WriteSlot& slot) {
  // A device cannot train while its sampler waits in its slice. So the sampler
  // does not wait.
  if (slice_.has_value()) return slot.SwitchToOverflow(MonotonicClock::now());
  while (!stopping_) {
    worker.progress.fetch_add(1, std::memory_order_relaxed);
    const absl::Status status = slot.SwitchToOverflow(DeadlineIn(kTick));
    if (!absl::IsDeadlineExceeded(status)) return status;
  }
  return BeingDetached();
}

absl::Status AttachedJob::BeingDetached() const {
  return absl::CancelledError(
      absl::StrCat("job ", options_.job_id, " is being detached"));
}

}  // namespace fgnn
