// What a trainer has done for all its jobs, for its metrics.
#ifndef FGNN_TRAINER_SERVICE_DAEMON_TRAINING_TOTALS_H_
#define FGNN_TRAINER_SERVICE_DAEMON_TRAINING_TOTALS_H_

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "shared/base/threads/mutex.h"
#include "shared/metrics/metric_page.h"
#include "shared/queue/gradient_board.h"

namespace fgnn {

// Thread-safe.
class TrainingTotals {
 public:
  // Adds a task that is done, in the time of a lock. A batch of several parts
  // counts with its first part.
  void Add(const BatchRecord& record);
  // Adds a batch that arrived damaged, and is sampled again.
  void AddDamaged();

  void AddTo(MetricPage& page) const;

 private:
  struct Sums {
    uint64_t batches = 0;
    uint64_t damaged = 0;
    uint64_t edges = 0;
    uint64_t input_nodes = 0;
    uint64_t cache_hits = 0;
    uint64_t matched = 0;
    double wait = 0, extract = 0, train = 0, sync = 0;  // Seconds.
    double shuffle = 0;  // Seconds of waits for a batch's other parts.
  };

  mutable Mutex mutex_;
  Sums sums_ ABSL_GUARDED_BY(mutex_);
};

// What a trainer that works on a job says of itself.
struct TrainerReport {
  std::string job_id = {};           // Id of the job, for log lines.
  TrainingTotals* totals = nullptr;  // Borrowed; null: nothing is added up.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_DAEMON_TRAINING_TOTALS_H_
