#include "tests/unit/scheduler/fake_executor.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "shared/base/clock.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr std::chrono::milliseconds kPause{20};

}  // namespace

void Crash() {
  // AddressSanitizer would catch the signal and exit instead.
  ::signal(SIGSEGV, SIG_DFL);
  ::raise(SIGSEGV);
}

absl::Status FakeExecutor::Attach(UniqueFd segment, const std::string& job_id,
                                  OwnerIndex owner) {
  if (segment_ != nullptr) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(
      segment_, Segment::Attach(std::move(segment), HashString(job_id)));
  queue_ = std::make_unique<GlobalQueue>(segment_.get(), owner);
  board_ = std::make_unique<GradientBoard>(segment_.get(), owner);
  stop_ = false;
  thread_ = Thread("fake", [this] {
    while (!stop_ && !queue_->stopped()) {
      switch (role_) {
        case ExecutorRole::kSampler:
          Sample();
          break;
        case ExecutorRole::kTrainer:
          Train();
          break;
        case ExecutorRole::kExchange:  // It has no other host.
          (void)board_->WaitForChange(board_->changes(), DeadlineIn(kPause));
          break;
      }
    }
  });
  return absl::OkStatus();
}

void FakeExecutor::Detach() {
  stop_ = true;
  thread_.Join();
  board_.reset();
  queue_.reset();
  segment_.reset();
}

void FakeExecutor::Sample() {
  auto slot = queue_->ClaimForWriting(DeadlineIn(kPause));
  if (!slot.ok() || !slot->has_value()) return;
  if ((*slot)->seq().value() == crash_on_) Crash();
  while (paused_ && !stop_ && !queue_->stopped()) {
    std::this_thread::sleep_for(kPause);
  }
  (void)std::move(**slot).Publish();
}

void FakeExecutor::Train() {
  StepIfDue();
  const std::optional<uint64_t> version = board_->version();
  if (!version.has_value() ||
      StepNumber(*version) >= board_->training_limit()) {
    (void)board_->WaitForChange(board_->changes(), DeadlineIn(kPause));
    return;
  }
  const BatchRange step = segment_->shape().BatchesOfStep(StepNumber(*version));
  TrainOne(step.begin, step.end);
}

absl::Status FakeExecutor::PublishFirst(float weight) {
  std::optional<StepLease> lease = board_->TryLease();
  if (!lease.has_value()) return absl::UnavailableError("leased");
  std::fill(lease->new_weights().begin(), lease->new_weights().end(), weight);
  return (*std::move(lease)).Publish();
}

std::optional<uint64_t> FakeExecutor::version() const {
  return board_ == nullptr ? std::nullopt : board_->version();
}

void FakeExecutor::StepIfDue() {
  const bool waits_for_checkpoint =
      segment_->options().first_version > 0 && !board_->version().has_value();
  if (waits_for_checkpoint) return;
  std::optional<StepLease> lease = board_->TryLease();
  if (!lease.has_value()) return;
  const std::lock_guard<std::mutex> lock(weights_mutex_);
  const absl::Span<float> weights = lease->new_weights();
  if (lease->is_initial()) {
    std::fill(weights.begin(), weights.end(), 0.0F);
  } else {
    const absl::Span<const float> old = lease->old_weights();
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] = old[i];
      for (const auto& gradient : lease->gradients()) weights[i] += gradient[i];
    }
  }
  (void)std::move(*lease).Publish();
}

void FakeExecutor::TrainOne(BatchSeq first, BatchSeq last) {
  auto slot = queue_->ClaimForReading(first, last, DeadlineIn(kPause));
  if (!slot.ok() || !slot->has_value()) return;
  const BatchSeq seq = (*slot)->seq();
  while ((paused_ || seq.value() == hold_on_) && !stop_ && !queue_->stopped()) {
    std::this_thread::sleep_for(kPause);
  }
  const absl::Span<float> gradient = board_->gradient({seq});
  std::fill(gradient.begin(), gradient.end(), 1.0F);
  BatchRecord record;
  record.digest =
      static_cast<uint32_t>(HashString(std::to_string(seq.value())));
  record.num_seeds = 10;
  record.batch_examples = 10;
  record.num_edges = 100;
  record.num_input_nodes = 50;
  record.loss = 1.0F / static_cast<float>(seq.value() + 1);
  if (board_->MarkDone({seq}, record).ok()) {
    (void)std::move(**slot).Release();
  }
}

std::optional<float> FakeExecutor::NewestWeight() const {
  if (board_ == nullptr) return std::nullopt;
  const std::optional<uint64_t> version = board_->version();
  if (!version.has_value()) return std::nullopt;
  const std::lock_guard<std::mutex> lock(weights_mutex_);
  return board_->weights(*version)[0];
}

}  // namespace fgnn
