#include "scheduler/run/run_records.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Number of epochs in a row after which the job fails if their lines cannot be
// written. Epochs that end on a full disk do not fail it.
constexpr int kLostWrites = 3;
// Most bytes of lines that are held for a full disk.
constexpr size_t kMostHeldBytes = 16 << 20;

}  // namespace

void RunRecords::GoOnFrom(const RunState& state) {
  first_seq_ = next_seq_ = state.next_seq;
  sum_ = state.sum;
}

absl::Status RunRecords::OpenTimeline() {
  if (!run_.job.options.trace) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(timeline_,
                        RunTimeline::Open(run_.started->folder.held(),
                                          run_.job.started_ms, next_seq_));
  return absl::OkStatus();
}

void RunRecords::CloseTimeline() {
  if (!timeline_.has_value()) return;
  const absl::Status closed = timeline_->Close(run_.started->folder.held());
  if (!closed.ok()) LogError("job {}: {}", run_.job.id, MessageOf(closed));
  timeline_.reset();
}

absl::Status RunRecords::RecordUntil(BatchSeq last_seq) {
  std::string digests;
  RunTotals* const totals = run_.environment.totals;
  const uint64_t edges_before = sum_.edges();
  const uint64_t parts = run_.executors.segment().options().parts;
  for (const BatchPart& task : PartsOf({next_seq_, last_seq}, parts)) {
    const std::optional<BatchRecord> record = run_.board().record(task);
    if (!record.has_value()) {
      return absl::InternalError(absl::StrCat(
          "job ", run_.job.id, ": batch ", task.seq.value(),
          " is committed, but the gradient board has no record of it"));
    }
    sum_.Add(*record);
    planner_.Add(*record);
    if (totals != nullptr) totals->AddBatch(*record);
    // All parts have the digest of their batch.
    if (run_.job.options.digest && task.part == 0) {
      digests += DigestLine(*record);
    }
    if (timeline_.has_value()) AddToTimeline(*record);
    if (task.part + 1 == parts) next_seq_ = task.seq + 1;
  }
  edges_.Add(sum_.edges() - edges_before, MonotonicClock::now());
  absl::Status written = run_.started->folder.AppendDigests(digests);
  if (timeline_.has_value()) {
    written.Update(timeline_->Write(run_.started->folder.held()));
  }
  return CheckHeldLines(written);
}

void RunRecords::AddToTimeline(const BatchRecord& record) {
  if (record.other_host != 0) {
    AddOfOtherHost(record);
    return;
  }
  const JobDevices& devices = run_.executors.segment().devices();
  timeline_->Add(record,
                 {.sampler = devices.ExecutorOf(record.sampler).value_or(0),
                  .trainer = devices.ExecutorOf(record.trainer).value_or(0)});
}

void RunRecords::AddOfOtherHost(const BatchRecord& record) {
  const uint32_t index = record.other_host - 1;
  if (index >= run_.peers.all.size()) return;
  const std::string& name = run_.peers.all[index].name;
  const auto there = run_.others.find(name);
  // A host whose clock is not known has no place in the timeline.
  if (there == run_.others.end()) return;
  double ahead = 0;
  for (const HostReach& reach : run_.findings.reaches) {
    if (reach.host == index) ahead = reach.link.clock_offset_seconds;
  }
  timeline_->AddOf({.name = name,
                    .index = index,
                    .clock_start = there->second.clock_start - ahead},
                   record);
}

void RunRecords::EndTimelineOf(uint32_t epoch) {
  if (timeline_.has_value()) timeline_->EndEpoch(epoch, next_seq_ - 1);
}

absl::Status RunRecords::WriteEpoch(const EpochFacts& facts) {
  if (RunTotals* const totals = run_.environment.totals) {
    totals->AddEpoch(facts.switches);
  }
  const absl::Status written =
      run_.started->folder.AppendMetrics(MetricsLine(facts, sum_));
  if (written.ok()) {
    if (writes_lost_ > 0) LogInfo("job {}: its lines are written", run_.job.id);
    writes_lost_ = 0;
    return absl::OkStatus();
  }
  ++writes_lost_;
  if (writes_lost_ == 1) {
    LogError("job {}: its newest lines are held in memory: {}", run_.job.id,
             MessageOf(written));
  }
  // For a full disk the held bytes are the limit. A number of epochs is none,
  // since epochs may take milliseconds.
  if (absl::IsResourceExhausted(written) || writes_lost_ < kLostWrites) {
    return CheckHeldLines(written);
  }
  return written;
}

absl::Status RunRecords::CheckHeldLines(const absl::Status& written) const {
  const size_t held = run_.started->folder.held_bytes() +
                      (timeline_.has_value() ? timeline_->held_bytes() : 0);
  return held <= kMostHeldBytes ? absl::OkStatus() : written;
}

}  // namespace fgnn
