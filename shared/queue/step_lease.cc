#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment_layout.h"

namespace fgnn {

StepLease::StepLease(StepLease&& other) noexcept
    : board_(std::exchange(other.board_, nullptr)),
      new_version_(other.new_version_) {}

StepLease& StepLease::operator=(StepLease&& other) noexcept {
  if (this == &other) return *this;
  Abandon();
  board_ = std::exchange(other.board_, nullptr);
  new_version_ = other.new_version_;
  return *this;
}

StepLease::~StepLease() { Abandon(); }

bool StepLease::is_initial() const {
  return board_ != nullptr &&
         new_version_ == board_->segment_->options().first_version;
}

void StepLease::Abandon() {
  if (board_ == nullptr) return;
  // EndLease() returns false only if this process was declared dead. Then there
  // is nothing to give back.
  std::exchange(board_, nullptr)->EndLease(new_version_, /*publish=*/false);
}

absl::Span<const float> StepLease::old_weights() const {
  if (board_ == nullptr || is_initial()) return {};
  return board_->weights(new_version_ - 1);
}

absl::Span<const float> StepLease::old_optimizer_state() const {
  if (board_ == nullptr || is_initial()) return {};
  return board_->optimizer_state(new_version_ - 1);
}

absl::Span<float> StepLease::new_weights() const {
  if (board_ == nullptr) return {};
  return board_->segment_->regions().weights(new_version_);
}

absl::Span<float> StepLease::new_optimizer_state() const {
  if (board_ == nullptr) return {};
  return board_->segment_->regions().optimizer_state(new_version_);
}

std::vector<BatchPart> StepLease::tasks() const {
  if (board_ == nullptr || is_initial()) return {};
  return board_->TasksOf(StepNumber(new_version_ - 1));
}

std::vector<absl::Span<const float>> StepLease::gradients() const {
  std::vector<absl::Span<const float>> gradients;
  for (const BatchPart& task : tasks()) {
    gradients.push_back(board_->gradient(task));
  }
  return gradients;
}

std::vector<uint32_t> StepLease::batch_examples() const {
  std::vector<uint32_t> examples;
  for (const BatchPart& task : tasks()) {
    const auto record = board_->record(task);
    examples.push_back(record.has_value() ? record->batch_examples : 0);
  }
  return examples;
}

uint32_t StepLease::num_parts() const {
  return board_ == nullptr
             ? 1
             : static_cast<uint32_t>(board_->segment_->options().parts);
}

absl::Status StepLease::Publish() && {
  GradientBoard* board = std::exchange(board_, nullptr);
  if (board != nullptr && board->EndLease(new_version_, /*publish=*/true)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "version ", new_version_, " of the weights is not leased here any more"));
}

}  // namespace fgnn
