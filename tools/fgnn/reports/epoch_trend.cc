#include "tools/fgnn/reports/epoch_trend.h"

#include "absl/strings/str_cat.h"
#include "shared/config/job_spec_proto.h"
#include "shared/measured/score_fields.h"
#include "trainer_service/sync/optimizer.h"

namespace fgnn {
EpochTrend::EpochTrend(const v1::JobSpec& spec)
    : training_(FromProto(spec).training), plateau_(training_) {}

void EpochTrend::Add(const EpochMetrics& epoch) {
  const uint64_t batches = epoch.value("batches", uint64_t{0});
  const uint64_t batches_per_step = training_.batches_per_step;
  learning_rate_.reset();
  ++epochs_;
  if (batches > 0 && batches_per_step > 0) {
    const uint64_t steps = (batches - 1) / batches_per_step + 1;
    OptimizerOptions options = OptimizerOf(training_);
    options.learning_rate *= plateau_.factor();
    options.num_steps = steps * training_.epochs;
    learning_rate_ = LearningRateAt(options, steps * epochs_);
  }
  const ScoreField& field = ComparedField(training_.objective());
  Scores scores;
  scores.*field.score =
      NumberIn(epoch, absl::StrCat("valid_", field.key).c_str());
  const std::optional<double> compared = scores.compared();
  plateau_.Add(compared);
  if (compared.has_value() &&
      (!best_compared_.has_value() || *compared > *best_compared_)) {
    best_compared_ = compared;
    best_ = {*(scores.*field.score), epochs_};
  }
}

}  // namespace fgnn
