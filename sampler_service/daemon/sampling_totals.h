// What a sampler has done for all its jobs, for its metrics.
#ifndef FGNN_SAMPLER_SERVICE_DAEMON_SAMPLING_TOTALS_H_
#define FGNN_SAMPLER_SERVICE_DAEMON_SAMPLING_TOTALS_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/base/threads/mutex.h"
#include "shared/metrics/metric_page.h"

namespace fgnn {

// Thread-safe.
class SamplingTotals {
 public:
  // Adds a batch that was made, in the time of a lock.
  void Add(const SampledTask& task);
  // Sets the number of threads that sample now; 0: no job is attached.
  void SetThreads(uint32_t num_threads);

  void AddTo(MetricPage& page) const;

 private:
  struct Sums {
    uint32_t threads = 0;
    uint64_t batches = 0;
    uint64_t edges = 0;
    uint64_t input_nodes = 0;
    // Seconds.
    double order = 0, sample = 0, id_map = 0, mark = 0, copy = 0, split = 0;
  };

  mutable Mutex mutex_;
  Sums sums_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_DAEMON_SAMPLING_TOTALS_H_
