#include "trainer_service/daemon/batch_source.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/status.h"

namespace fgnn {

BatchSource::BatchSource(const BatchSourceOptions& options,
                         TrainerBackend* backend, Segment* segment)
    : options_(options),
      claims_(segment, options.owner, options.report),
      look_ahead_(&claims_, backend, segment->shape().num_batches()),
      board_(segment, options.owner),
      features_(backend, segment, options.device, options.ahead),
      choice_(*segment, options.limit) {
  if (options_.ahead > 0) {
    thread_.emplace("fgnn-extract", [this] { WorkAhead(); });
  }
}

BatchSource::~BatchSource() {
  {
    const MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
}

std::optional<uint64_t> BatchSource::progress() const {
  if (options_.ahead == 0) return std::nullopt;
  return progress_.load(std::memory_order_relaxed) +
         features_.progress(TrainerThread::kAhead);
}

absl::StatusOr<bool> BatchSource::FollowCachePlan() {
  if (!board_.FindOpenSteps().has_value()) return false;
  FGNN_ASSIGN_OR_RETURN(const bool followed, features_.FollowCachePlan());
  if (followed) changed_.NotifyAll();
  return followed;
}

absl::StatusOr<std::optional<ExtractedBatch>> BatchSource::Next() {
  const std::optional<OpenSteps> open = board_.FindOpenSteps();
  if (!open.has_value()) return std::nullopt;
  FGNN_RETURN_IF_ERROR(FollowCachePlan().status());
  bool may_claim = false;
  FGNN_ASSIGN_OR_RETURN(std::optional<ExtractedBatch> batch,
                        TakeWaiting(*open, &may_claim));
  if (batch.has_value() || !may_claim) return batch;
  FGNN_ASSIGN_OR_RETURN(std::optional<ClaimedBatch> claimed,
                        ClaimNow(open->last_batch));
  if (!claimed.has_value()) return std::nullopt;
  FGNN_ASSIGN_OR_RETURN(batch, ExtractNow(*std::move(claimed)));
  return batch;
}

absl::StatusOr<std::optional<ExtractedBatch>> BatchSource::NextPart(
    const BatchPart& task) {
  FGNN_ASSIGN_OR_RETURN(std::optional<ClaimedBatch> claimed,
                        claims_.ClaimPart(task));
  if (!claimed.has_value()) return std::nullopt;
  {
    const MutexLock lock(&mutex_);
    loop_.extracts = task.seq;
  }
  FGNN_ASSIGN_OR_RETURN(ExtractedBatch batch, ExtractNow(*std::move(claimed)));
  return std::make_optional(std::move(batch));
}

// Extracts in the loop, and lets the thread ahead go on.
absl::StatusOr<ExtractedBatch> BatchSource::ExtractNow(ClaimedBatch claimed) {
  absl::StatusOr<ExtractedBatch> extracted =
      features_.Extract(std::move(claimed), TrainerThread::kLoop);
  {
    const MutexLock lock(&mutex_);
    loop_.extracts.reset();
  }
  changed_.NotifyAll();
  return extracted;
}

// Claims from batch 0 on. A trainer may have died after it marked a batch done
// and before it freed the slot. The step of that slot may be committed already.
absl::StatusOr<std::optional<ClaimedBatch>> BatchSource::ClaimFirst(
    BatchSeq end) {
  if (const std::optional<uint32_t> part = options_.home_part()) {
    FGNN_ASSIGN_OR_RETURN(std::optional<ClaimedBatch> home,
                          claims_.Claim(BatchSeq(0), end, part));
    if (home.has_value()) return home;
  }
  return claims_.Claim(BatchSeq(0), end);
}

// Claims a batch below `end` in the loop, for which TakeWaiting() has held the
// thread ahead back.
absl::StatusOr<std::optional<ClaimedBatch>> BatchSource::ClaimNow(
    BatchSeq end) {
  absl::StatusOr<std::optional<ClaimedBatch>> batch = ClaimFirst(end);
  if (batch.ok() && batch->has_value()) {
    const absl::Status looked = LookAheadOf((*batch)->slot.seq());
    if (!looked.ok()) batch = looked;
  }
  {
    const MutexLock lock(&mutex_);
    loop_.claims = false;
    if (batch.ok() && batch->has_value()) {
      loop_.extracts = (*batch)->slot.seq();
    }
  }
  changed_.NotifyAll();
  return batch;
}

absl::Status BatchSource::LookAheadOf(BatchSeq seq) {
  {
    const MutexLock lock(&mutex_);
    if (choice_.num_trainers() > 1) return absl::OkStatus();
  }
  return look_ahead_.Behind(seq);
}

// Returns the first waiting batch of the open steps. `may_claim`, if not null:
// set to whether there is none and none is being claimed or extracted, so that
// the caller may claim one. The thread ahead claims none until ClaimNow().
absl::StatusOr<std::optional<ExtractedBatch>> BatchSource::TakeWaiting(
    const OpenSteps& open, bool* may_claim) {
  const BatchSeq end = open.last_batch;
  const auto find = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::find_if(
        waiting_.begin(), waiting_.end(),
        [end](const ExtractedBatch& batch) { return batch.slot.seq() < end; });
  };
  const auto has_settled = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const bool is_under_way = ahead_.claims || (ahead_.extracts.has_value() &&
                                                *ahead_.extracts < end);
    return !is_under_way || !failure_.ok() || find() != waiting_.end();
  };
  std::optional<ExtractedBatch> batch;
  {
    MutexLock lock(&mutex_);
    if (!changed_.WaitUntil(&lock, DeadlineIn(kTick), has_settled)) {
      return std::nullopt;
    }
    FGNN_RETURN_IF_ERROR(failure_);
    choice_.ForgetBefore(open.first);
    const auto first = find();
    if (first == waiting_.end()) {
      loop_.claims = may_claim != nullptr;
      if (may_claim != nullptr) *may_claim = true;
      return std::nullopt;
    }
    batch = std::move(*first);
    waiting_.erase(first);
  }
  changed_.NotifyAll();
  return batch;
}

void BatchSource::LimitAhead(AheadLimit limit) {
  {
    const MutexLock lock(&mutex_);
    if (!choice_.SetLimit(limit)) return;
  }
  changed_.NotifyAll();
}

absl::StatusOr<std::optional<ExtractedBatch>> BatchSource::NextAhead() {
  {
    MutexLock lock(&mutex_);
    if (!changed_.WaitUntil(&lock, DeadlineIn(kTick),
                            [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                              return !IsUnderWay();
                            })) {
      return std::nullopt;
    }
  }
  const std::optional<OpenSteps> open = board_.FindOpenSteps();
  if (!open.has_value()) return std::nullopt;
  return TakeWaiting(*open, /*may_claim=*/nullptr);
}

bool BatchSource::GiveBackAhead() {
  std::deque<ExtractedBatch> given_back;
  {
    const MutexLock lock(&mutex_);
    if (IsUnderWay()) return false;
    given_back.swap(waiting_);
    choice_.Forget();
  }
  for (ExtractedBatch& batch : given_back) {
    features_.GiveBack(std::move(batch.features));
  }
  return true;
}

bool BatchSource::PauseAhead() {
  {
    const MutexLock lock(&mutex_);
    loop_.pauses = true;
  }
  return GiveBackAhead();
}

void BatchSource::ResumeAhead() {
  {
    const MutexLock lock(&mutex_);
    if (!std::exchange(loop_.pauses, false)) return;
  }
  changed_.NotifyAll();
}

// Waits until the loop extracts no batch before this one. Returns false if the
// source stops.
bool BatchSource::WaitForEarlier(BatchSeq seq) {
  MutexLock lock(&mutex_);
  while (
      !changed_.WaitUntil(&lock, DeadlineIn(kTick),
                          [this, seq]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                            return stopping_ || !loop_.extracts.has_value() ||
                                   *loop_.extracts > seq;
                          })) {
    progress_.fetch_add(1, std::memory_order_relaxed);
  }
  return !stopping_;
}

void BatchSource::WorkAhead() {
  WaitForTurnsOnTheCore();
  absl::Status status;
  try {
    status = LoopAhead();
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError(
        "no memory for a batch's features; lower features.ahead or "
        "sampling.batch_size");
  }
  {
    const MutexLock lock(&mutex_);
    failure_ = status;
    ahead_.claims = false;
    ahead_.extracts.reset();
  }
  changed_.NotifyAll();
  // The next call of Next() returns the failure. Until then the heartbeat goes
  // on.
  MutexLock lock(&mutex_);
  while (!changed_.WaitUntil(&lock, DeadlineIn(kTick),
                             [this] { return stopping_.load(); })) {
    progress_.fetch_add(1, std::memory_order_relaxed);
  }
}

absl::Status BatchSource::LoopAhead() {
  while (!stopping_) {
    progress_.fetch_add(1, std::memory_order_relaxed);
    {
      MutexLock lock(&mutex_);
      const bool may_claim = changed_.WaitUntil(
          &lock, DeadlineIn(kTick),
          [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
            return stopping_ ||
                   (waiting_.size() < options_.ahead && choice_.may_claim() &&
                    !loop_.claims && !loop_.pauses &&
                    features_.IsCachedAsPlanned());
          });
      if (!may_claim || stopping_) continue;
      ahead_.claims = true;
    }
    const uint32_t seen = board_.changes();
    FGNN_ASSIGN_OR_RETURN(std::optional<ClaimedBatch> claimed, ClaimAhead());
    if (claimed.has_value()) {
      FGNN_RETURN_IF_ERROR(LookAheadOf(claimed->slot.seq()));
    }
    {
      const MutexLock lock(&mutex_);
      ahead_.claims = false;
      if (claimed.has_value()) ahead_.extracts = claimed->slot.seq();
    }
    changed_.NotifyAll();
    if (!claimed.has_value()) {
      FGNN_RETURN_IF_ERROR(board_.WaitForChange(seen, DeadlineIn(kTick)));
      continue;
    }
    if (!WaitForEarlier(claimed->slot.seq())) break;
    absl::StatusOr<ExtractedBatch> batch =
        features_.Extract(*std::move(claimed), TrainerThread::kAhead);
    const absl::Status status = batch.status();
    KeepAhead(std::move(batch));
    // Another host does not answer. The batch is in the queue again.
    if (absl::IsUnavailable(status)) continue;
    FGNN_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

// Keeps a batch for the loop, if it was extracted. Gives it back if the loop
// waits for other trainers meanwhile.
void BatchSource::KeepAhead(absl::StatusOr<ExtractedBatch> batch) {
  std::optional<ExtractedBatch> given_back;
  {
    const MutexLock lock(&mutex_);
    if (batch.ok() && loop_.pauses) {
      given_back = *std::move(batch);
      choice_.Forget();
    } else {
      if (batch.ok()) waiting_.push_back(*std::move(batch));
      ahead_.extracts.reset();
    }
  }
  if (given_back.has_value()) {
    features_.GiveBack(std::move(given_back->features));
    given_back.reset();
    const MutexLock lock(&mutex_);
    ahead_.extracts.reset();
  }
  changed_.NotifyAll();
}

// Claims a batch that may wait here while another one is trained.
absl::StatusOr<std::optional<ClaimedBatch>> BatchSource::ClaimAhead() {
  const std::optional<OpenSteps> open = board_.FindOpenSteps();
  if (!open.has_value()) return std::nullopt;
  std::vector<BatchRange> ranges;
  {
    const MutexLock lock(&mutex_);
    ranges = choice_.Ranges(*open, board_.training_limit());
  }
  for (const BatchRange& range : ranges) {
    FGNN_ASSIGN_OR_RETURN(
        std::optional<ClaimedBatch> batch,
        claims_.Claim(range.begin, range.end, options_.home_part()));
    if (!batch.has_value()) continue;
    const MutexLock lock(&mutex_);
    if (choice_.Keep(batch->slot.seq(), batch->slot.in_overflow(), *open)) {
      return batch;
    }
    return std::nullopt;  // Gives the slot back.
  }
  return std::nullopt;
}

}  // namespace fgnn
