#include "trainer_service/exchange/host_follower.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/crc32c.h"
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

absl::Status HostFollower::AskForLacking() {
  const StepNumber newest(board_.version().value_or(0));
  if (next_ < newest) {
    // The other host had no batch in the steps between, or another exchange of
    // this host wrote them.
    next_ = newest;
    requests_.erase(requests_.begin(), requests_.lower_bound(next_));
  }
  const std::optional<StepRange> taken = board_.FindFarSteps();
  if (!taken.has_value()) return absl::OkStatus();
  for (StepNumber step = next_; step < taken->end; ++step) {
    std::vector<BatchPart> lacking = LackingOf(step);
    const auto asked = requests_.find(step);
    const bool is_asked = asked != requests_.end() &&
                          asked->second.left == lacking &&
                          MonotonicClock::now() < asked->second.until;
    if (!is_asked && asked != requests_.end()) requests_.erase(asked);
    if (lacking.empty()) {
      if (step == next_) ++next_;
    } else if (!is_asked) {
      const uint64_t version = board_.version().value_or(0);
      FGNN_ASSIGN_OR_RETURN(std::unique_ptr<EntryStream> stream,
                            links_->Ask(host_.index, version, lacking));
      requests_.emplace(step, Request{.stream = std::move(stream),
                                      .version = version,
                                      .left = std::move(lacking),
                                      .until = DeadlineIn(kAskAgainAfter)});
    }
  }
  return absl::OkStatus();
}

absl::Status HostFollower::Tell() {
  const uint64_t version = board_.version().value_or(0);
  bool is_told = told_ == version ||
                 (telling_.has_value() && telling_->version == version);
  for (const auto& [step, request] : requests_) {
    is_told |= request.version == version;
  }
  if (is_told) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<EntryStream> stream,
                        links_->Ask(host_.index, version, {}));
  telling_ = Request{.stream = std::move(stream), .version = version};
  return absl::OkStatus();
}

absl::StatusOr<bool> HostFollower::Follow(Deadline deadline) {
  const StepNumber end(segment_->shape().num_steps());
  // The other host's exchange may have died since, and forgotten the version.
  told_.reset();
  while (true) {
    const uint32_t seen = board_.changes();
    FGNN_RETURN_IF_ERROR(CompareWeights());
    const absl::Status exchanged = Exchange(deadline);
    if (absl::IsUnavailable(exchanged)) {
      requests_.clear();
      telling_.reset();
      ++num_breaks_;
      if (!std::exchange(is_broken_, true)) {
        LogWarning("the link to {} broke: {}; it is asked again", host_.name,
                   MessageOf(exchanged));
      }
    } else {
      FGNN_RETURN_IF_ERROR(exchanged);
    }
    if (told_ == end.value()) return true;
    if (MonotonicClock::now() >= deadline) return false;
    // Tells whether the job was stopped. Waits where nothing is under way.
    const bool is_idle = requests_.empty() && !telling_.has_value();
    FGNN_RETURN_IF_ERROR(
        board_.WaitForChange(seen, is_idle ? deadline : MonotonicClock::now()));
  }
}

absl::Status HostFollower::Exchange(Deadline deadline) {
  // With a new version, other steps are asked for.
  const std::optional<uint64_t> version = board_.version();
  FGNN_RETURN_IF_ERROR(AskForLacking());
  FGNN_RETURN_IF_ERROR(Tell());
  const Deadline tick = std::min(deadline, DeadlineIn(kTick));
  if (!requests_.empty()) {
    // The other host makes a step after the one before. So the entries of the
    // lowest step come first.
    const auto lowest = requests_.begin();
    FGNN_ASSIGN_OR_RETURN(const bool is_over,
                          Receive(lowest->second, version, tick));
    if (is_over) requests_.erase(lowest);
  }
  if (telling_.has_value()) {
    FGNN_ASSIGN_OR_RETURN(
        const bool is_over,
        Receive(*telling_, version,
                requests_.empty() ? tick : MonotonicClock::now()));
    if (is_over) telling_.reset();
  }
  return absl::OkStatus();
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

absl::StatusOr<bool> HostFollower::Receive(Request& request,
                                           std::optional<uint64_t> version,
                                           Deadline deadline) {
  while (board_.version() == version) {
    FGNN_ASSIGN_OR_RETURN(const std::optional<EntryPart> part,
                          request.stream->Next(deadline));
    const bool is_over = !part.has_value() && request.stream->is_over();
    if (!part.has_value() && !is_over) return false;
    // The other host reads the version before it answers.
    told_ = std::max(told_.value_or(0), request.version);
    if (std::exchange(is_broken_, false)) {
      LogInfo("the link to {} is there again", host_.name);
    }
    if (is_over) return true;
    FGNN_RETURN_IF_ERROR(Write(request, *part));
    if (request.left.empty()) return true;
  }
  return false;
}

absl::Status HostFollower::Write(Request& request, const EntryPart& part) {
  const auto asked =
      std::find(request.left.begin(), request.left.end(), part.task);
  if (asked == request.left.end()) {
    return absl::UnavailableError(
        absl::StrCat("an entry of batch ", part.task.seq.value(),
                     " came, which was not asked for"));
  }
  if (!request.arrived.has_value()) request.arrived = Arrived{part.task};
  Arrived& arrived = *request.arrived;
  const absl::Span<float> place = board_.gradient(part.task);
  const size_t all_bytes = place.size() * sizeof(float);
  const size_t begin = arrived.bytes;
  arrived.bytes += part.floats.size();
  arrived.crc =
      ExtendCrc32c(arrived.crc, part.floats.data(), part.floats.size());
  const bool is_right =
      part.task == arrived.task &&
      (part.end.has_value()
           ? arrived.bytes == all_bytes && arrived.crc == part.end->gradient_crc
           : arrived.bytes < all_bytes);
  if (!is_right) {
    return absl::UnavailableError(
        absl::StrCat("the gradient of batch ", part.task.seq.value(),
                     " came damaged from ", host_.name));
  }
  const bool is_done = board_.IsDone(part.task);
  // Nobody reads the place before its task is done.
  if (!is_done) {
    std::memcpy(reinterpret_cast<char*>(place.data()) + begin,
                part.floats.data(), part.floats.size());
  }
  if (!part.end.has_value()) return absl::OkStatus();
  if (!is_done) FGNN_RETURN_IF_ERROR(Finish(part.task, *part.end));
  request.arrived.reset();
  request.left.erase(asked);
  return absl::OkStatus();
}

absl::Status HostFollower::Finish(const BatchPart& task,
                                  const EntryPart::End& end) {
  BatchRecord record = end.record;
  // Owners are indices of the other host's segment.
  record.sampler = kNoOwner;
  record.trainer = kNoOwner;
  record.other_host = host_.index + 1;
  const StepNumber step = segment_->shape().StepOf(task.seq);
  if (end.weights_crc.has_value()) {
    their_weights_ = {.version = step.value(), .crc = *end.weights_crc};
  }
  // The step cannot be made before its entry is done, so its weights are still
  // the newest ones here, if they are there already.
  FGNN_RETURN_IF_ERROR(CompareWeights());
  FGNN_RETURN_IF_ERROR(board_.MarkDone(task, record));
  ++num_entries_;
  return absl::OkStatus();
}

}  // namespace fgnn
