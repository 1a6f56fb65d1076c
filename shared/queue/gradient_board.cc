#include "shared/queue/gradient_board.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "shared/base/threads/futex.h"
#include "shared/queue/board_word.h"
#include "shared/queue/record_words.h"
#include "shared/queue/segment_layout.h"

namespace fgnn {
namespace {

bool IsStopped(const Segment& segment) {
  return SharedWord(segment.regions().control().stopped)
             .load(std::memory_order_acquire) != 0;
}

void Announce(Segment& segment) {
  AnnounceOn(&segment.regions().control().changes);
}

}  // namespace

GradientBoard::GradientBoard(Segment* segment, OwnerIndex owner)
    : segment_(segment), owner_(owner) {}

std::optional<uint64_t> GradientBoard::version() const {
  const BoardWord word = LoadBoardWord(*segment_);
  if (word.state != BoardState::kOpen &&
      word.state != BoardState::kLeasedOpen) {
    return std::nullopt;
  }
  return word.generation;
}

absl::Span<const float> GradientBoard::weights(uint64_t version) const {
  return segment_->regions().weights(version);
}

absl::Span<const float> GradientBoard::optimizer_state(uint64_t version) const {
  return segment_->regions().optimizer_state(version);
}

absl::Span<float> GradientBoard::gradient(const BatchPart& task) {
  return segment_->regions().gradient(segment_->shape().PlaceOf(task));
}

// The steps end with the epoch. Batches of the next epoch would overwrite the
// records of batches that are not committed yet.
std::optional<StepRange> GradientBoard::FindSteps(uint64_t most) const {
  const JobShape& shape = segment_->shape();
  const std::optional<uint64_t> newest = version();
  const uint64_t limit = std::min(training_limit().value(), shape.num_steps());
  if (!newest.has_value() || *newest >= limit) return std::nullopt;
  const StepNumber first(*newest);
  const StepRange epoch = shape.StepsOfEpoch(shape.EpochOfStep(first));
  return StepRange{first,
                   std::min({first + most, epoch.end, StepNumber(limit)})};
}

std::optional<OpenSteps> GradientBoard::FindOpenSteps() const {
  const JobShape& shape = segment_->shape();
  std::optional<StepRange> steps =
      FindSteps(uint64_t{segment_->options().staleness} + 1);
  if (!steps.has_value()) return std::nullopt;
  if (shape.has_other_hosts()) {
    // The places of a step are those of the step two before, and in epochs of
    // one step the records are those of the step before. Another host that has
    // not made that one may still ask for its gradients.
    const uint64_t kept = std::min<uint64_t>(shape.steps_per_epoch(), 2);
    const uint64_t others =
        SharedWord(segment_->regions().control().others_version)
            .load(std::memory_order_acquire);
    steps->end = std::min(steps->end, StepNumber(others + kept));
    if (steps->end <= steps->begin) return std::nullopt;
  }
  return OpenSteps{steps->begin, steps->end,
                   shape.BatchesOfStep(steps->end - 1).end};
}

// Another host may have made the step that is still open here, and be done with
// the next one.
std::optional<StepRange> GradientBoard::FindFarSteps() const {
  return FindSteps(2);
}

void GradientBoard::SetOthersVersion(uint64_t version) {
  RaiseTo(SharedWord(segment_->regions().control().others_version), version);
  Announce(*segment_);
}

absl::Status GradientBoard::MarkDone(const BatchPart& task,
                                     BatchRecord record) {
  const JobShape& shape = segment_->shape();
  const BatchSeq seq = task.seq;
  const StepNumber step = shape.StepOf(seq);
  std::optional<StepRange> steps;
  if (!shape.IsLocal(seq)) {
    steps = FindFarSteps();
  } else if (const auto open = FindOpenSteps(); open.has_value()) {
    steps = StepRange{open->first, open->end};
  }
  if (!steps.has_value() || step < steps->begin || step >= steps->end) {
    return absl::FailedPreconditionError(absl::StrCat(
        "batch ", seq.value(), " belongs to step ", step.value(), ", but ",
        steps.has_value()
            ? absl::StrCat("those open are ", steps->begin.value(), " to ",
                           (steps->end - 1).value())
            : std::string("no step is open")));
  }
  if (record.staleness > segment_->options().staleness) {
    return absl::FailedPreconditionError(absl::StrCat(
        "batch ", seq.value(), " was trained with weights ", record.staleness,
        " versions old, ", segment_->options().staleness, " are allowed"));
  }
  if (IsDone(task)) return absl::OkStatus();
  record.seq_plus_one = seq.value() + 1;
  record.part = task.part;
  StoreRecord(segment_->regions().record_words(shape.RecordOf(task)), record);
  segment_->regions()
      .done_word(shape.PlaceOf(task))
      .store(seq.value() + 1, std::memory_order_release);
  Announce(*segment_);
  return absl::OkStatus();
}

bool GradientBoard::IsDone(const BatchPart& task) const {
  const JobShape& shape = segment_->shape();
  const std::optional<uint64_t> committed = version();
  if (!committed.has_value()) return false;
  return shape.StepOf(task.seq) < StepNumber(*committed) ||
         segment_->regions()
                 .done_word(shape.PlaceOf(task))
                 .load(std::memory_order_acquire) == task.seq.value() + 1;
}

std::vector<BatchPart> GradientBoard::TasksOf(StepNumber step) const {
  return PartsOf(segment_->shape().BatchesOfStep(step),
                 segment_->options().parts);
}

bool GradientBoard::CanStepFrom(uint64_t version) const {
  const std::optional<StepRange> steps = FindSteps(1);
  if (!steps.has_value() || steps->begin != StepNumber(version)) return false;
  const BatchRange batches = segment_->shape().BatchesOfStep(steps->begin);
  const uint64_t parts = segment_->options().parts;
  uint32_t place = segment_->shape().PlaceOf({batches.begin});
  for (BatchSeq seq = batches.begin; seq < batches.end; ++seq) {
    for (uint64_t part = 0; part < parts; ++part) {
      if (segment_->regions().done_word(place++).load(
              std::memory_order_acquire) != seq.value() + 1) {
        return false;
      }
    }
  }
  return true;
}

std::optional<StepLease> GradientBoard::LeaseFrom(uint64_t packed_word) {
  const BoardWord word = BoardWord::Unpack(packed_word);
  const bool initial = word.state == BoardState::kEmpty;
  const BoardWord leased =
      initial ? BoardWord{BoardState::kLeasedEmpty, owner_, 0}
              : BoardWord{BoardState::kLeasedOpen, owner_, word.generation};
  if (!BoardWordOf(*segment_).compare_exchange_strong(
          packed_word, leased.Pack(), std::memory_order_acq_rel,
          std::memory_order_relaxed)) {
    return std::nullopt;
  }
  return StepLease(
      this, initial ? segment_->options().first_version : word.generation + 1);
}

std::optional<StepLease> GradientBoard::TryLease() {
  if (owner_ == kNoOwner) return std::nullopt;
  const BoardWord word = LoadBoardWord(*segment_);
  const bool due =
      word.state == BoardState::kEmpty ||
      (word.state == BoardState::kOpen && CanStepFrom(word.generation));
  if (!due) return std::nullopt;
  return LeaseFrom(word.Pack());
}

bool GradientBoard::IsStepDue() const {
  const BoardWord word = LoadBoardWord(*segment_);
  if (word.state == BoardState::kEmpty) {
    return segment_->options().first_version == 0;
  }
  return word.state == BoardState::kOpen && CanStepFrom(word.generation);
}

std::optional<StepLease> GradientBoard::HoldVersion() {
  const BoardWord word = LoadBoardWord(*segment_);
  if (owner_ == kNoOwner || word.state != BoardState::kOpen) {
    return std::nullopt;
  }
  return LeaseFrom(word.Pack());
}

bool GradientBoard::EndLease(uint64_t new_version, bool publish) {
  const BoardWord leased =
      new_version == segment_->options().first_version
          ? BoardWord{BoardState::kLeasedEmpty, owner_, 0}
          : BoardWord{BoardState::kLeasedOpen, owner_, new_version - 1};
  const BoardWord next =
      publish ? BoardWord{BoardState::kOpen, kNoOwner, new_version}
              : Unleased(leased);
  uint64_t expected = leased.Pack();
  if (!BoardWordOf(*segment_).compare_exchange_strong(
          expected, next.Pack(), std::memory_order_acq_rel,
          std::memory_order_relaxed)) {
    return false;
  }
  Announce(*segment_);
  return true;
}

absl::StatusOr<bool> GradientBoard::WaitForVersion(uint64_t version_wanted,
                                                   Deadline deadline) {
  const uint32_t* counter = &segment_->regions().control().changes;
  for (;;) {
    const uint32_t seen = ReadCounter(counter);
    const std::optional<uint64_t> newest = version();
    if (newest.has_value() && *newest >= version_wanted) return true;
    if (IsStopped(*segment_)) {
      return absl::CancelledError("the job was stopped");
    }
    if (MonotonicClock::now() >= deadline) return false;
    WaitOn(counter, seen, deadline);
  }
}

uint32_t GradientBoard::changes() const {
  return ReadCounter(&segment_->regions().control().changes);
}

absl::Status GradientBoard::WaitForChange(uint32_t seen, Deadline deadline) {
  if (!IsStopped(*segment_)) {
    WaitOn(&segment_->regions().control().changes, seen, deadline);
  }
  return IsStopped(*segment_) ? absl::CancelledError("the job was stopped")
                              : absl::OkStatus();
}

void GradientBoard::OpenForTraining(StepNumber limit) {
  RaiseTo(SharedWord(segment_->regions().control().training_limit),
          limit.value());
  Announce(*segment_);
}

StepNumber GradientBoard::training_limit() const {
  return StepNumber(SharedWord(segment_->regions().control().training_limit)
                        .load(std::memory_order_acquire));
}

std::optional<BatchRecord> GradientBoard::record(const BatchPart& task) const {
  if (!IsDone(task)) return std::nullopt;
  return LoadRecord(
      segment_->regions().record_words(segment_->shape().RecordOf(task)),
      task.seq);
}

bool GradientBoard::ReclaimLeaseOf(OwnerIndex dead_owner) {
  const BoardWord word = LoadBoardWord(*segment_);
  uint64_t expected = word.Pack();
  const bool reclaimed =
      dead_owner != kNoOwner && IsLeased(word) && word.owner == dead_owner &&
      BoardWordOf(*segment_).compare_exchange_strong(
          expected, Unleased(word).Pack(), std::memory_order_acq_rel,
          std::memory_order_relaxed);
  // Announced even if nothing was reclaimed: an earlier reaper may have died
  // before its announcement.
  Announce(*segment_);
  return reclaimed;
}

}  // namespace fgnn
