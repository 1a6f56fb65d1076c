// The scores that models have, and their names in files.
#ifndef FGNN_SHARED_MEASURED_SCORE_FIELDS_H_
#define FGNN_SHARED_MEASURED_SCORE_FIELDS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "shared/config/objective.h"
#include "shared/measured/scores.h"

namespace fgnn {

// How people read a score.
enum class ScoreForm : uint8_t { kNumber, kShare, kRank, kError };

struct ScoreField {
  // Name in metrics.jsonl and summary.json, behind "valid_" or "test_", and in
  // fgnn.v1.Scores.
  const char* key;
  const char* words;  // Name for people.
  std::optional<double> Scores::*score;
  ScoreForm form = ScoreForm::kNumber;
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
