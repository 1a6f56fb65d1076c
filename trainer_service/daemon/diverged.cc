#include "trainer_service/daemon/diverged.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/measured/score_fields.h"

namespace fgnn {
namespace {

// Returns "; the largest target is 2e+20, of vertex 17", or "" without targets.
std::string LargestTarget(const TrainingBatch& batch, Objective objective) {
  const size_t num_seeds = batch.task->num_seeds;
  if (objective != Objective::kValues || num_seeds == 0) return "";
  const auto largest = std::max_element(
      batch.targets.begin(), batch.targets.end(),
      [](float a, float b) { return std::abs(a) < std::abs(b); });
  const auto place = static_cast<size_t>(largest - batch.targets.begin());
  const size_t columns = batch.targets.size() / num_seeds;
  return absl::StrCat("; the largest target is ", *largest, ", of vertex ",
                      batch.task->seeds()[place / columns]);
}

}  // namespace

absl::Status Diverged(absl::string_view what, Objective objective) {
  return absl::AbortedError(absl::StrCat(
      what, ": training diverged; ",
      objective == Objective::kValues ? "scale the targets, " : "",
      "lower training.learning_rate, limit the gradient by "
      "training.clip_norm, or check the features with 'fgnn dataset "
      "validate'"));
}

absl::Status CheckLoss(double loss, const TrainingBatch& batch,
                       double learning_rate, Objective objective) {
  constexpr double kMost = std::numeric_limits<float>::max();
  if (std::abs(loss) <= kMost) return absl::OkStatus();
  return Diverged(
      absl::StrCat("the loss is ", loss,
                   std::isfinite(loss) ? ", more than a float holds," : "",
                   " in epoch ", batch.epoch + 1, ", batch ", batch.batch, " (",
                   batch.task->seq.value(),
                   " of the job) with training.learning_rate ", learning_rate,
                   LargestTarget(batch, objective)),
      objective);
}

absl::Status CheckScores(const SplitScore& score, Objective objective) {
  const auto check = [&](const char* name, double value) -> absl::Status {
    if (std::isfinite(value)) return absl::OkStatus();
    return Diverged(
        absl::StrCat("the ", name, " of split ", score.split, " is ", value),
        objective);
  };
  FGNN_RETURN_IF_ERROR(check("loss", score.loss));
  for (const ScoreField& field : AllScoreFields()) {
    FGNN_RETURN_IF_ERROR(
        check(field.words, (score.scores.*field.score).value_or(0)));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
