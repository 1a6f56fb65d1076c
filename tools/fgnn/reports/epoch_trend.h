// What the epochs of a job say together: the learning rate and the best score.
#ifndef FGNN_TOOLS_FGNN_REPORTS_EPOCH_TREND_H_
#define FGNN_TOOLS_FGNN_REPORTS_EPOCH_TREND_H_

#include <cstdint>
#include <optional>

#include "fgnn/v1/job.pb.h"
#include "scheduler/figures/plateau.h"
#include "shared/config/job_spec.h"
#include "tools/fgnn/reports/epoch_metrics.h"

namespace fgnn {

// Not thread-safe.
class EpochTrend {
 public:
  // The first epoch with the best score of those by which epochs are compared
  // (ComparedField()): the highest, or the lowest RMSE.
  struct Best {
    double score = 0;
    uint64_t epoch = 0;  // Number of the epoch, from 1.
  };

  // `spec` is effective.
  explicit EpochTrend(const v1::JobSpec& spec);

  // Adds the job's next epoch; the first is its epoch 1.
  void Add(const EpochMetrics& epoch);

  // Return the learning rate of the last step of the epoch added last, and the
  // best epoch so far; nullopt: not known.
  std::optional<double> learning_rate() const { return learning_rate_; }
  const std::optional<Best>& best() const { return best_; }

 private:
  TrainingSpec training_;
  Plateau plateau_;
  uint64_t epochs_ = 0;  // Number of the epochs added.
  std::optional<double> learning_rate_;
  std::optional<Best> best_;
  std::optional<double> best_compared_;  // Higher is better.
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_EPOCH_TREND_H_
