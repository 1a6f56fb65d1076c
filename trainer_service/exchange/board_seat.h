// The board, and the rows, that this host serves to the other hosts of a job.
#ifndef FGNN_TRAINER_SERVICE_EXCHANGE_BOARD_SEAT_H_
#define FGNN_TRAINER_SERVICE_EXCHANGE_BOARD_SEAT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "shared/base/threads/mutex.h"
#include "shared/queue/segment.h"
#include "trainer_service/exchange/entry_source.h"
#include "trainer_service/features/hosts/served_rows.h"

namespace fgnn {

// A job's board and rows of features, as other hosts see them. Borrowed.
struct ServedBoard {
  std::string job_id;
  uint64_t attempt = 0;  // See JobHosts.
  Segment* segment = nullptr;
  OthersVersions* versions = nullptr;
  const ServedRows* rows = nullptr;
};

// Has one board at a time. Put() and Clear(): one call at a time. The other
// functions: any thread.
class BoardSeat {
 public:
  // Puts a board into the seat, which is empty.
  void Put(ServedBoard board);
  // Lets no further call use the board, and cancels those that do. Returns at
  // once.
  void Cancel();
  // Calls Cancel(), waits until no call uses the board, and empties the seat.
  void Clear();

  // Calls `use` with the job's board, which stays until `use` has returned.
  // Returns the error of `use`. Any thread may call `cancel` meanwhile, under a
  // lock; it makes `use` return soon. NotFound: the job is not here.
  absl::Status Use(const std::string& job_id, uint64_t attempt,
                   const std::function<void()>& cancel,
                   absl::FunctionRef<absl::Status(const ServedBoard&)> use);

 private:
  void CancelLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar unused_;  // Signals that a user has gone.
  std::optional<ServedBoard> board_ ABSL_GUARDED_BY(mutex_);
  bool is_cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  // What cancels each call that uses the board.
  std::set<const std::function<void()>*> users_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_EXCHANGE_BOARD_SEAT_H_
