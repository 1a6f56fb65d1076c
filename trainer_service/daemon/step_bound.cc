#include "trainer_service/daemon/step_bound.h"

#include <algorithm>

namespace fgnn {
namespace {

// Least and most parts at first.
constexpr uint64_t kLeastParts = 16;
constexpr uint64_t kMostFirstParts = 1 << 16;
// Part of the memory, one in kFirstShare, that the first part may take by the
// guess.
constexpr uint64_t kFirstShare = 8;

}  // namespace

StepBound::StepBound(uint64_t have_bytes, uint64_t likely_bytes,
                     uint64_t jump_bytes)
    : have_bytes_(have_bytes),
      jump_bytes_(jump_bytes),
      first_parts_(kLeastParts) {
  while (first_parts_ < kMostFirstParts &&
         likely_bytes / first_parts_ > have_bytes / kFirstShare) {
    first_parts_ *= 2;
  }
}

std::optional<uint64_t> StepBound::NextParts() const {
  if (!last_.has_value()) return first_parts_;
  if (last_->bytes <= have_bytes_ / last_->parts) return 1;
  const uint64_t most = 2 * last_->bytes;
  if (most <= have_bytes_) return last_->parts / 2;
  if (!before_.has_value()) return std::nullopt;
  // What does not grow with the batch counts twice in that bound. A line
  // through two parts leaves it out; a sixteenth is for what is rounded up.
  const uint64_t grows = last_->bytes - std::min(last_->bytes, before_->bytes);
  const uint64_t likely = last_->bytes + 2 * grows + jump_bytes_;
  if (likely + likely / 16 <= have_bytes_) return last_->parts / 2;
  return std::nullopt;
}

void StepBound::Add(uint64_t bytes) {
  const uint64_t parts = NextParts().value_or(1);
  before_ = last_;
  last_ = {parts, bytes};
}

uint64_t StepBound::WholeBytes() const {
  const uint64_t before = before_.has_value() ? before_->bytes : last_->bytes;
  const uint64_t grows = last_->bytes - std::min(last_->bytes, before);
  return last_->bytes + std::max(2 * grows * (last_->parts - 1), last_->bytes);
}

}  // namespace fgnn
