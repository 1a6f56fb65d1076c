#include "tools/fgnn/reports/epoch_trend.h"

#include "shared/config/job_spec_proto.h"
#include "trainer_service/sync/optimizer.h"

namespace fgnn {
namespace {

std::optional<double> ScoreOf(const EpochMetrics& epoch, const char* key) {
  const auto found = epoch.find(key);
  if (found == epoch.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

}  // namespace

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
  const std::optional<double> score = ScoreOf(
      epoch, training_.predicts_links() ? "valid_mrr" : "valid_accuracy");
  plateau_.Add(score);
  if (score.has_value() && (!best_.has_value() || *score > best_->score)) {
    best_ = {*score, epochs_};
  }
}

}  // namespace fgnn
