#include "trainer_service/exchange/host_follower.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"
#include "trainer_service/exchange/entry_source.h"

namespace fgnn {
namespace {

// Well below the time after which a call counts as broken.
constexpr std::chrono::minutes kAskAgainAfter{5};

}  // namespace

HostFollower::HostFollower(Segment* segment, OwnerIndex owner, HostLinks* links,
                           OtherHost host)
    : segment_(segment),
      links_(links),
      host_(std::move(host)),
      board_(segment, owner),
      next_(segment->options().first_version) {}

std::vector<BatchPart> HostFollower::LackingOf(StepNumber step) const {
  std::vector<BatchPart> lacking;
  const BatchSeq begin = segment_->shape().BatchesOfStep(step).begin;
  for (const BatchPart& task : board_.TasksOf(step)) {
    const uint64_t place = task.seq - begin;
    if (place >= host_.first_place &&
        place < host_.first_place + host_.num_places && !board_.IsDone(task)) {
      lacking.push_back(task);
    }
  }
  return lacking;
}

absl::StatusOr<std::vector<BatchPart>> HostFollower::FindLacking() {
  const StepNumber newest(board_.version().value_or(0));
  if (next_ < newest) {
    // The other host had no batch in the steps between, or another exchange of
    // this host wrote them.
    next_ = newest;
  }
  FGNN_RETURN_IF_ERROR(CompareWeights());
  const std::optional<StepRange> taken = board_.FindFarSteps();
  while (taken.has_value() && next_ < taken->end) {
    std::vector<BatchPart> lacking = LackingOf(next_);
    if (!lacking.empty()) return lacking;
    ++next_;
  }
  return std::vector<BatchPart>();
}

absl::StatusOr<bool> HostFollower::Follow(Deadline deadline) {
  const StepNumber end(segment_->shape().num_steps());
  // The other host's exchange may have died since, and forgotten the version.
  told_.reset();
  while (true) {
    const uint32_t seen = board_.changes();
    FGNN_ASSIGN_OR_RETURN(const std::vector<BatchPart> lacking, FindLacking());
    if (lacking.empty() || lacking != asked_ ||
        MonotonicClock::now() >= asked_until_) {
      stream_.reset();
    }
    if (!lacking.empty() || board_.version().value_or(0) != told_) {
      const absl::Status received = Receive(lacking, deadline);
      if (absl::IsUnavailable(received)) {
        ++num_breaks_;
        if (!std::exchange(is_broken_, true)) {
          LogWarning("the link to {} broke: {}; it is asked again", host_.name,
                     MessageOf(received));
        }
      } else {
        FGNN_RETURN_IF_ERROR(received);
      }
    }
    if (told_ == end.value()) return true;
    if (MonotonicClock::now() >= deadline) return false;
    FGNN_RETURN_IF_ERROR(board_.WaitForChange(seen, deadline));
  }
}

absl::Status HostFollower::CompareWeights() {
  if (!their_weights_.has_value()) return absl::OkStatus();
  const auto [version, theirs] = *their_weights_;
  const std::optional<uint32_t> own = WeightsCrc(board_, version);
  if (!own.has_value()) return absl::OkStatus();
  their_weights_.reset();
  if (theirs == *own) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "version ", version, " of the weights is another one on ", host_.name,
      " (CRC32C ", theirs, " there, ", *own,
      " here): the processors of the two hosts compute other bits; leave one "
      "of the hosts out"));
}

absl::Status HostFollower::Receive(const std::vector<BatchPart>& lacking,
                                   Deadline deadline) {
  const uint64_t version = board_.version().value_or(0);
  std::unique_ptr<EntryStream> telling;
  if (stream_ == nullptr) {
    FGNN_ASSIGN_OR_RETURN(stream_, links_->Ask(host_.index, version, lacking));
    asked_ = lacking;
    asked_version_ = version;
    asked_until_ = DeadlineIn(kAskAgainAfter);
  } else if (told_ != version) {
    FGNN_ASSIGN_OR_RETURN(telling, links_->Ask(host_.index, version, {}));
  }
  const absl::StatusOr<bool> is_over = ReceiveSome(deadline);
  if (!is_over.ok() || *is_over) stream_.reset();
  FGNN_RETURN_IF_ERROR(is_over.status());
  if (telling != nullptr) {
    FGNN_RETURN_IF_ERROR(telling->Next(MonotonicClock::now()).status());
    if (telling->is_over()) told_ = version;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> HostFollower::ReceiveSome(Deadline deadline) {
  while (true) {
    const uint32_t seen = board_.changes();
    FGNN_ASSIGN_OR_RETURN(const std::optional<BoardEntry> entry,
                          stream_->Next(std::min(deadline, DeadlineIn(kTick))));
    const bool is_over = !entry.has_value() && stream_->is_over();
    // The other host reads the version before it answers.
    if (is_over || entry.has_value()) {
      told_ = asked_version_;
      if (std::exchange(is_broken_, false)) {
        LogInfo("the link to {} is there again", host_.name);
      }
    }
    if (is_over) return true;
    if (entry.has_value()) {
      const auto asked = std::find(asked_.begin(), asked_.end(), entry->task);
      if (asked == asked_.end()) {
        return absl::UnavailableError(
            absl::StrCat("an entry of batch ", entry->task.seq.value(),
                         " came, which was not asked for"));
      }
      FGNN_RETURN_IF_ERROR(Write(*entry));
      asked_.erase(asked);
      if (asked_.empty()) return true;
      continue;
    }
    if (MonotonicClock::now() >= deadline) return false;
    // Tells whether the job was stopped.
    FGNN_RETURN_IF_ERROR(board_.WaitForChange(seen, MonotonicClock::now()));
  }
}

absl::Status HostFollower::Write(const BoardEntry& entry) {
  const absl::Span<float> place = board_.gradient(entry.task);
  if (entry.gradient.size() != place.size() ||
      CrcOf(entry.gradient) != entry.gradient_crc) {
    return absl::UnavailableError(
        absl::StrCat("the gradient of batch ", entry.task.seq.value(),
                     " came damaged from ", host_.name));
  }
  if (board_.IsDone(entry.task)) return absl::OkStatus();
  std::copy(entry.gradient.begin(), entry.gradient.end(), place.begin());
  BatchRecord record = entry.record;
  // Owners are indices of the other host's segment.
  record.sampler = kNoOwner;
  record.trainer = kNoOwner;
  record.other_host = host_.index + 1;
  const StepNumber step = segment_->shape().StepOf(entry.task.seq);
  if (entry.weights_crc.has_value()) {
    their_weights_ = {.version = step.value(), .crc = *entry.weights_crc};
  }
  // The step cannot be made before its entry is done, so its weights are still
  // the newest ones here, if they are there already.
  FGNN_RETURN_IF_ERROR(CompareWeights());
  FGNN_RETURN_IF_ERROR(board_.MarkDone(entry.task, record));
  ++num_entries_;
  return absl::OkStatus();
}

}  // namespace fgnn
