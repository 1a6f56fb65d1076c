#include "trainer_service/exchange/board_seat.h"

#include <chrono>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kLongestWait{1};

}  // namespace

void BoardSeat::Put(ServedBoard board) {
  const MutexLock lock(&mutex_);
  board_ = std::move(board);
  is_cancelled_ = false;
}

void BoardSeat::CancelLocked() {
  is_cancelled_ = true;
  for (const std::function<void()>* cancel : users_) (*cancel)();
}

void BoardSeat::Cancel() {
  const MutexLock lock(&mutex_);
  CancelLocked();
}

void BoardSeat::Clear() {
  MutexLock lock(&mutex_);
  CancelLocked();
  while (!unused_.WaitUntil(&lock, DeadlineIn(kLongestWait),
                            [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                              return users_.empty();
                            })) {
    LogInfo("waiting for {} calls of other hosts to end", users_.size());
  }
  board_.reset();
}

absl::Status BoardSeat::Use(
    const std::string& job_id, uint64_t attempt,
    const std::function<void()>& cancel,
    absl::FunctionRef<absl::Status(const ServedBoard&)> use) {
  ServedBoard board;
  {
    const MutexLock lock(&mutex_);
    if (!board_.has_value() || is_cancelled_ || board_->job_id != job_id ||
        board_->attempt != attempt) {
      return absl::NotFoundError(
          absl::StrCat("job ", job_id, " is not on this host"));
    }
    board = *board_;
    users_.insert(&cancel);
  }
  const absl::Cleanup end = [&] {
    const MutexLock lock(&mutex_);
    users_.erase(&cancel);
    unused_.NotifyAll();
  };
  return use(board);
}

}  // namespace fgnn
