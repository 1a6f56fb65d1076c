#include "shared/measured/score_fields.h"

namespace fgnn {
namespace {

constexpr ScoreField kOfClasses[] = {
    {.key = "accuracy",
     .words = "accuracy",
     .score = &Scores::accuracy,
     .form = ScoreForm::kShare},
    {.key = "macro_f1", .words = "macro-F1", .score = &Scores::macro_f1},
    {.key = "roc_auc",
     .words = "ROC-AUC",
     .score = &Scores::roc_auc,
     .is_of_best = false}};
constexpr ScoreField kOfLinks[] = {
    {.key = "mean_rank",
     .words = "mean rank",
     .score = &Scores::mean_rank,
     .form = ScoreForm::kRank,
     .is_of_best = false},
    {.key = "mrr", .words = "MRR", .score = &Scores::mrr},
    {.key = "roc_auc",
     .words = "ROC-AUC",
     .score = &Scores::roc_auc,
     .is_of_best = false}};
constexpr ScoreField kOfValues[] = {
    {.key = "rmse",
     .words = "RMSE",
     .score = &Scores::rmse,
     .form = ScoreForm::kError},
    {.key = "mae",
     .words = "MAE",
     .score = &Scores::mae,
     .form = ScoreForm::kError},
    {.key = "r2", .words = "R2", .score = &Scores::r2}};
constexpr ScoreField kOfLabelSets[] = {
    {.key = "micro_f1", .words = "micro-F1", .score = &Scores::micro_f1},
    {.key = "macro_f1", .words = "macro-F1", .score = &Scores::macro_f1}};

}  // namespace

absl::Span<const ScoreField> ScoreFields(Objective objective) {
  switch (objective) {
    case Objective::kClasses:
      return kOfClasses;
    case Objective::kLinks:
      return kOfLinks;
    case Objective::kValues:
      return kOfValues;
    case Objective::kLabelSets:
      return kOfLabelSets;
  }
  return {};
}

std::vector<ScoreField> AllScoreFields() {
  std::vector<ScoreField> all;
  for (const Objective objective :
       {Objective::kClasses, Objective::kLinks, Objective::kValues,
        Objective::kLabelSets}) {
    const auto fields = ScoreFields(objective);
    all.insert(all.end(), fields.begin(), fields.end());
  }
  return all;
}

const ScoreField& ComparedField(Objective objective) {
  // A mean rank stands before the MRR.
  return ScoreFields(objective)[objective == Objective::kLinks ? 1 : 0];
}

Scores ScoresOfCompared(Objective objective, std::optional<double> compared) {
  Scores scores;
  if (!compared.has_value()) return scores;
  scores.*ComparedField(objective).score =
      objective == Objective::kValues ? -*compared : *compared;
  return scores;
}

}  // namespace fgnn
