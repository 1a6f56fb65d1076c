#include "trainer_service/daemon/look_ahead.h"

#include <functional>
#include <optional>

#include "shared/base/status.h"
#include "trainer_service/features/window/row_window.h"

namespace fgnn {

absl::Status LookAhead::Behind(BatchSeq seq) {
  shown_.erase(shown_.begin(), shown_.upper_bound(seq));
  const std::function<void(const TaskView&)> expect = backend_.expect();
  if (expect == nullptr) return absl::OkStatus();
  BatchSeq first = seq + 1;
  while (first < end_ && shown_.size() < RowWindow::kMostAhead) {
    // The next batches that were not shown: [first, last).
    auto known = shown_.lower_bound(first);
    while (known != shown_.end() && *known == first) {
      ++first;
      ++known;
    }
    const BatchSeq last = known == shown_.end() ? end_ : *known;
    // The claim ends with this turn of the loop.
    FGNN_ASSIGN_OR_RETURN(const std::optional<ClaimedBatch> claimed,
                          claims_.Claim(first, last));
    if (claimed.has_value()) {
      expect(claimed->task);
      first = claimed->slot.seq();
      shown_.insert(first);
    } else if (last == end_) {
      break;
    } else {
      first = last;
    }
  }
  return absl::OkStatus();
}

}  // namespace fgnn
