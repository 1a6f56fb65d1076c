#include "tools/fgnn/reports/score_text.h"

#include "absl/strings/str_format.h"
#include "shared/rpc/executor_proto.h"

namespace fgnn {
namespace {

// Appends a line if the score is known.
void AppendLine(const ScoreField& field, const Scores& scores,
                std::string* text) {
  const std::optional<double>& score = scores.*field.score;
  if (!score.has_value()) return;
  absl::StrAppendFormat(text, "test %-10s %s\n", field.words,
                        FormatScore(field, *score));
}

}  // namespace

std::string FormatShare(double share) {
  return share < 0 ? "-" : absl::StrFormat("%.2f %%", 100 * share);
}

std::string FormatScore(double score) { return absl::StrFormat("%.4f", score); }

std::string FormatError(double error) { return absl::StrFormat("%.5g", error); }

std::string FormatScore(const ScoreField& field, double score) {
  switch (field.form) {
    case ScoreForm::kNumber:
      break;
    case ScoreForm::kShare:
      return FormatShare(score);
    case ScoreForm::kRank:
      return absl::StrFormat("%.2f", score);
    case ScoreForm::kError:
      return FormatError(score);
  }
  return FormatScore(score);
}

Objective ObjectiveOfJob(const v1::Job& job) {
  return ObjectiveOf(job.spec().training().task())
      .value_or(Objective::kClasses);
}

std::string FormatCompared(Objective objective, std::optional<double> score) {
  return score.has_value() ? FormatScore(ComparedField(objective), *score)
                           : "-";
}

std::optional<double> ValidScoreOf(const v1::Job& job) {
  return FromProto(job.progress().valid()).*
         ComparedField(ObjectiveOfJob(job)).score;
}

std::optional<double> TestScoreOf(const v1::Job& job) {
  return FromProto(job.progress().test()).*
         ComparedField(ObjectiveOfJob(job)).score;
}

std::string TestScoresText(const v1::Job& job) {
  const Objective objective = ObjectiveOfJob(job);
  const ScoreField& compared = ComparedField(objective);
  const Scores scores = FromProto(job.progress().test());
  std::string text;
  AppendLine(compared, scores, &text);
  for (const ScoreField& field : ScoreFields(objective)) {
    if (field.score != compared.score) AppendLine(field, scores, &text);
  }
  return text;
}

}  // namespace fgnn
