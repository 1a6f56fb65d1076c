#include "tools/fgnn/reports/score_text.h"

#include "absl/strings/str_format.h"

namespace fgnn {
namespace {

// Values of scores that are not known are below 0, those of ranks 0.
std::optional<double> Known(double score) {
  return score < 0 ? std::nullopt : std::optional(score);
}
std::optional<double> KnownRank(double score) {
  return score > 0 ? std::optional(score) : std::nullopt;
}

void AppendLine(const char* name, const std::string& value, std::string* text) {
  absl::StrAppendFormat(text, "test %-10s %s\n", name, value);
}

}  // namespace

std::string FormatShare(double share) {
  return share < 0 ? "-" : absl::StrFormat("%.2f %%", 100 * share);
}

std::string FormatScore(double score) { return absl::StrFormat("%.4f", score); }

std::string FormatError(double error) { return absl::StrFormat("%.5g", error); }

Objective ObjectiveOfJob(const v1::Job& job) {
  return ObjectiveOf(job.spec().training().task())
      .value_or(Objective::kClasses);
}

std::string FormatCompared(Objective objective, std::optional<double> score) {
  if (!score.has_value()) return "-";
  switch (objective) {
    case Objective::kClasses:
      return FormatShare(*score);
    case Objective::kValues:
      return FormatError(*score);
    case Objective::kLinks:
    case Objective::kLabelSets:
      break;
  }
  return FormatScore(*score);
}

std::optional<double> ValidScoreOf(const v1::Job& job) {
  const v1::JobProgress& progress = job.progress();
  switch (ObjectiveOfJob(job)) {
    case Objective::kClasses:
      break;
    case Objective::kLinks:
      return KnownRank(progress.valid_mrr());
    case Objective::kValues:
      return progress.has_valid_rmse() ? std::optional(progress.valid_rmse())
                                       : std::nullopt;
    case Objective::kLabelSets:
      return progress.has_valid_micro_f1()
                 ? std::optional(progress.valid_micro_f1())
                 : std::nullopt;
  }
  return Known(progress.valid_accuracy());
}

std::optional<double> TestScoreOf(const v1::Job& job) {
  const v1::JobProgress& progress = job.progress();
  switch (ObjectiveOfJob(job)) {
    case Objective::kClasses:
      break;
    case Objective::kLinks:
      return KnownRank(progress.test_mrr());
    case Objective::kValues:
      return progress.has_test_rmse() ? std::optional(progress.test_rmse())
                                      : std::nullopt;
    case Objective::kLabelSets:
      return progress.has_test_micro_f1()
                 ? std::optional(progress.test_micro_f1())
                 : std::nullopt;
  }
  return Known(progress.test_accuracy());
}

std::string TestScoresText(const v1::JobProgress& progress) {
  std::string text;
  if (progress.has_test_rmse()) {
    AppendLine("RMSE", FormatError(progress.test_rmse()), &text);
    AppendLine("MAE", FormatError(progress.test_mae()), &text);
    if (progress.has_test_r2()) {
      AppendLine("R2", FormatScore(progress.test_r2()), &text);
    }
    return text;
  }
  if (progress.has_test_micro_f1()) {
    AppendLine("micro-F1", FormatScore(progress.test_micro_f1()), &text);
    AppendLine("macro-F1", FormatScore(progress.test_macro_f1()), &text);
    return text;
  }
  if (progress.test_mrr() > 0) {
    AppendLine("MRR", FormatScore(progress.test_mrr()), &text);
    AppendLine("mean rank", absl::StrFormat("%.2f", progress.test_mean_rank()),
               &text);
  } else if (progress.test_accuracy() >= 0) {
    AppendLine("accuracy", FormatShare(progress.test_accuracy()), &text);
    AppendLine("macro-F1", FormatScore(progress.test_macro_f1()), &text);
  } else {
    return text;
  }
  if (progress.test_roc_auc() >= 0) {
    AppendLine("ROC-AUC", FormatScore(progress.test_roc_auc()), &text);
  }
  return text;
}

}  // namespace fgnn
