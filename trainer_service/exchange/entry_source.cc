#include "trainer_service/exchange/entry_source.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/crc32c.h"
#include "shared/base/status.h"

namespace fgnn {

uint32_t CrcOf(absl::Span<const float> floats) {
  return ExtendCrc32c(0, floats.data(), floats.size() * sizeof(float));
}

// Who makes version + 2 writes over these weights, while version + 1 is still
// the newest one.
std::optional<uint32_t> WeightsCrc(const GradientBoard& board,
                                   uint64_t version) {
  if (board.version() != version) return std::nullopt;
  const uint32_t crc = CrcOf(board.weights(version));
  std::atomic_thread_fence(std::memory_order_acquire);
  if (board.version() != version) return std::nullopt;
  return crc;
}

OthersVersions::OthersVersions(Segment* segment,
                               const std::vector<uint32_t>& others)
    : board_(segment, kNoOwner) {
  for (const uint32_t host : others) versions_[host] = 0;
}

absl::Status OthersVersions::Tell(uint32_t host, uint64_t version) {
  const MutexLock lock(&mutex_);
  const auto told = versions_.find(host);
  if (told == versions_.end()) {
    return absl::NotFoundError(
        absl::StrCat("the job has no other host with index ", host));
  }
  told->second = std::max(told->second, version);
  uint64_t all_have = version;
  for (const auto& [other, has] : versions_) all_have = std::min(all_have, has);
  board_.SetOthersVersion(all_have);
  return absl::OkStatus();
}

absl::StatusOr<EntrySource> EntrySource::Make(Segment* segment,
                                              std::vector<BatchPart> tasks,
                                              size_t floats_per_part) {
  const JobShape& shape = segment->shape();
  const StepNumber step = tasks.empty() ? StepNumber(shape.num_steps())
                                        : shape.StepOf(tasks.front().seq);
  for (const BatchPart& task : tasks) {
    if (task.seq >= shape.num_batches() || !shape.IsLocal(task.seq) ||
        task.part >= segment->options().parts ||
        shape.StepOf(task.seq) != step) {
      return absl::InvalidArgumentError(
          absl::StrCat("part ", task.part, " of batch ", task.seq.value(),
                       " is no task of this host in step ", step.value()));
    }
  }
  return EntrySource(segment, step, std::move(tasks), floats_per_part);
}

EntrySource::EntrySource(Segment* segment, StepNumber step,
                         std::vector<BatchPart> tasks, size_t floats_per_part)
    : board_(segment, kNoOwner),
      step_(step),
      floats_per_part_(floats_per_part),
      left_(std::move(tasks)) {}

absl::Status EntrySource::GoneError() const {
  return absl::FailedPreconditionError(absl::StrCat(
      "step ", step_.value(), " is not on the board any more: version ",
      board_.version().value_or(0), " of the weights is there"));
}

// The places of a step are those of the step two after it. Its trainers wait
// until all hosts have this step, so only a host that asks twice comes too
// late.
absl::Status EntrySource::CheckKept() const {
  const std::optional<OpenSteps> open = board_.FindOpenSteps();
  const bool is_open = open.has_value() && open->end > step_ + 2;
  const bool was_open = board_.version().value_or(0) > step_.value() + 2;
  return is_open || was_open ? GoneError() : absl::OkStatus();
}

absl::StatusOr<EntryPart> EntrySource::NextPart() {
  const absl::Span<const float> gradient = board_.gradient(sent_->task);
  const absl::Span<const float> next =
      gradient.subspan(sent_->floats, floats_per_part_);
  EntryPart part = {
      .task = sent_->task,
      .floats = std::string(reinterpret_cast<const char*>(next.data()),
                            next.size() * sizeof(float))};
  // Of the copy: the board may have overwritten the gradient meanwhile.
  sent_->crc = ExtendCrc32c(sent_->crc, part.floats.data(), part.floats.size());
  sent_->floats += next.size();
  if (sent_->floats < gradient.size()) return part;
  const std::optional<BatchRecord> record = board_.record(sent_->task);
  if (!record.has_value()) return GoneError();
  if (!weights_crc_.has_value()) {
    weights_crc_ = WeightsCrc(board_, step_.value());
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  FGNN_RETURN_IF_ERROR(CheckKept());
  part.end = {.record = *record,
              .gradient_crc = sent_->crc,
              .weights_crc = weights_crc_};
  sent_.reset();
  return part;
}

absl::StatusOr<std::optional<EntryPart>> EntrySource::Next(Deadline deadline) {
  while (true) {
    const uint32_t seen = board_.changes();
    if (is_over()) return std::nullopt;
    FGNN_RETURN_IF_ERROR(CheckKept());
    if (sent_.has_value()) return NextPart();
    const auto done = std::find_if(
        left_.begin(), left_.end(),
        [this](const BatchPart& task) { return board_.IsDone(task); });
    if (done != left_.end()) {
      sent_ = Sent{.task = *done};
      left_.erase(done);
      continue;
    }
    if (MonotonicClock::now() >= deadline) return std::nullopt;
    FGNN_RETURN_IF_ERROR(board_.WaitForChange(seen, deadline));
  }
}

}  // namespace fgnn
