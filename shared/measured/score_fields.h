// The scores that models have, and their names in files.
#ifndef FGNN_SHARED_MEASURED_SCORE_FIELDS_H_
#define FGNN_SHARED_MEASURED_SCORE_FIELDS_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "shared/config/objective.h"
#include "shared/measured/scores.h"

namespace fgnn {

struct ScoreField {
  // Name in metrics.jsonl and summary.json, behind "valid_" or "test_".
  const char* key;
  const char* words;  // Name for people.
  std::optional<double> Scores::*score;
  // Whether a summary has it for the validation too.
  bool is_of_best = true;
};

// Returns the scores of an objective, in the order in which files have them.
absl::Span<const ScoreField> ScoreFields(Objective objective);

// Returns the scores of all objectives. A score of several objectives occurs
// several times.
std::vector<ScoreField> AllScoreFields();

// Returns the score by which epochs are compared.
const ScoreField& ComparedField(Objective objective);

// Returns scores of which only the compared one is known: that for which
// Scores::compared() is `compared`.
Scores ScoresOfCompared(Objective objective, std::optional<double> compared);

}  // namespace fgnn

#endif  // FGNN_SHARED_MEASURED_SCORE_FIELDS_H_
