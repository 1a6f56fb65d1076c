#include "shared/queue/gradient_board.h"

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "shared/base/futex.h"
#include "shared/queue/board_word.h"
#include "shared/queue/record_words.h"
#include "shared/queue/segment_layout.h"

namespace fgnn {
namespace {

bool IsStopped(const Segment& segment) {
  return SharedWord(segment.regions().control().stopped)
             .load(std::memory_order_acquire) != 0;
}

}  // namespace

StepPlace StepOf(const SegmentOptions& options, BatchSeq seq) {
  const uint64_t epoch = seq / options.batches_per_epoch;
  const uint64_t batch = seq % options.batches_per_epoch;
  StepPlace place = BatchesOf(options, epoch * options.steps_per_epoch() +
                                           batch / options.batches_per_step);
  place.place += static_cast<uint32_t>(batch % options.batches_per_step);
  return place;
}

StepPlace BatchesOf(const SegmentOptions& options, uint64_t step) {
  const uint64_t epoch = step / options.steps_per_epoch();
  const uint64_t step_of_epoch = step % options.steps_per_epoch();
  const BatchSeq epoch_begin = epoch * options.batches_per_epoch;
  const BatchSeq first = epoch_begin + step_of_epoch * options.batches_per_step;
  return {
      .step = step,
      .place = static_cast<uint32_t>(step % (uint64_t{options.staleness} + 1) *
                                     options.batches_per_step),
      .first_batch = first,
      .last_batch = std::min(first + options.batches_per_step,
                             epoch_begin + options.batches_per_epoch)};
}

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

absl::Span<float> GradientBoard::gradient(BatchSeq seq) {
  return segment_->regions().gradient(StepOf(segment_->options(), seq).place);
}

std::optional<OpenSteps> GradientBoard::FindOpenSteps() const {
  const SegmentOptions& options = segment_->options();
  const std::optional<uint64_t> first = version();
  const uint64_t limit =
      std::min(training_limit(), options.steps_per_epoch() * options.epochs);
  if (!first.has_value() || *first >= limit) return std::nullopt;
  // Not beyond the epoch: its records would be those of batches that are not
  // committed yet.
  const uint64_t epoch_end =
      (*first / options.steps_per_epoch() + 1) * options.steps_per_epoch();
  const uint64_t end =
      std::min({*first + options.staleness + 1, epoch_end, limit});
  return OpenSteps{*first, end, BatchesOf(options, end - 1).last_batch};
}

absl::Status GradientBoard::MarkDone(BatchSeq seq, BatchRecord record) {
  const StepPlace place = StepOf(segment_->options(), seq);
  const std::optional<OpenSteps> open = FindOpenSteps();
  if (!open.has_value() || place.step < open->first ||
      place.step >= open->end) {
    return absl::FailedPreconditionError(absl::StrCat(
        "batch ", seq, " belongs to step ", place.step, ", but ",
        open.has_value() ? absl::StrCat("those open are ", open->first, " to ",
                                        open->end - 1)
                         : std::string("no step is open")));
  }
  if (record.staleness > segment_->options().staleness) {
    return absl::FailedPreconditionError(absl::StrCat(
        "batch ", seq, " was trained with weights ", record.staleness,
        " versions old, ", segment_->options().staleness, " are allowed"));
  }
  if (IsDone(seq)) return absl::OkStatus();
  record.seq_plus_one = seq + 1;
  StoreRecord(segment_->regions().record_words(seq), record);
  segment_->regions()
      .done_word(place.place)
      .store(seq + 1, std::memory_order_release);
  Announce();
  return absl::OkStatus();
}

bool GradientBoard::IsDone(BatchSeq seq) const {
  const StepPlace place = StepOf(segment_->options(), seq);
  const std::optional<uint64_t> committed = version();
  if (!committed.has_value()) return false;
  return place.step < *committed ||
         segment_->regions()
                 .done_word(place.place)
                 .load(std::memory_order_acquire) == seq + 1;
}

bool GradientBoard::AllDone(uint64_t step) const {
  const StepPlace batches = BatchesOf(segment_->options(), step);
  for (BatchSeq seq = batches.first_batch; seq < batches.last_batch; ++seq) {
    const uint32_t place =
        batches.place + static_cast<uint32_t>(seq - batches.first_batch);
    if (segment_->regions().done_word(place).load(std::memory_order_acquire) !=
        seq + 1) {
      return false;
    }
  }
  return true;
}

bool GradientBoard::CanStepFrom(uint64_t version) const {
  const std::optional<OpenSteps> open = FindOpenSteps();
  return open.has_value() && open->first == version && AllDone(version);
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
  Announce();
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

void GradientBoard::OpenForTraining(uint64_t step_limit) {
  RaiseTo(SharedWord(segment_->regions().control().training_limit), step_limit);
  Announce();
}

uint64_t GradientBoard::training_limit() const {
  return SharedWord(segment_->regions().control().training_limit)
      .load(std::memory_order_acquire);
}

std::optional<BatchRecord> GradientBoard::record(BatchSeq seq) const {
  if (!IsDone(seq)) return std::nullopt;
  return LoadRecord(segment_->regions().record_words(seq), seq);
}

bool GradientBoard::ReclaimLeaseOf(OwnerIndex dead_owner) {
  const BoardWord word = LoadBoardWord(*segment_);
  uint64_t expected = word.Pack();
  const bool reclaimed =
      dead_owner != kNoOwner && IsLeased(word) && word.owner == dead_owner &&
      BoardWordOf(*segment_).compare_exchange_strong(
          expected, Unleased(word).Pack(), std::memory_order_acq_rel,
          std::memory_order_relaxed);
  // Even if there was nothing: an earlier reaper may have died before this.
  Announce();
  return reclaimed;
}

void GradientBoard::Announce() {
  AnnounceOn(&segment_->regions().control().changes);
}

}  // namespace fgnn
