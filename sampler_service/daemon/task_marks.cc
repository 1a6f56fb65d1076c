#include "sampler_service/daemon/task_marks.h"

#include <utility>

#include "absl/status/statusor.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {

HotRanks TaskMarks::RanksOf(uint64_t rank_order_key) {
  const MutexLock lock(&mutex_);
  if (key_ == 0) {
    key_ = rank_order_key;
    absl::StatusOr<RankOrder> order =
        RankOrder::Open(*dataset_, rank_order_key);
    if (order.ok()) {
      order_ = *std::move(order);
    } else {
      LogWarning("tasks are not marked, so that no cache is hit: {}",
                 MessageOf(order.status()));
    }
  }
  if (!order_.has_value()) return {};
  return {order_->ranks(), order_->version()};
}

}  // namespace fgnn
