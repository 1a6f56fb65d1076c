// Predicted numbers, or sets of classes, beside what the dataset says: the file
// of predictions, and how well they fit.
#ifndef FGNN_TRAINER_SERVICE_INFER_TABLES_TARGET_TABLE_H_
#define FGNN_TRAINER_SERVICE_INFER_TABLES_TARGET_TABLE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "shared/measured/scores.h"
#include "trainer_service/infer/files/row_file.h"
#include "trainer_service/infer/tables/class_map.h"
#include "trainer_service/infer/tables/vertex_truth.h"

namespace fgnn {

// A class is predicted if its probability is above this one.
inline constexpr float kLeastProbability = 0.5F;

// Predictions of n vertices, and what is known of these. All is borrowed.
struct TargetTable {
  absl::Span<const GlobalId> vertices;  // [n]
  // [n, D]: a number of each column, or the probability of each class.
  const RowFile* rows = nullptr;
  TargetType type = TargetType::kFloat32;  // kBits: sets of classes.
  const ClassMap* map = nullptr;           // Columns; see MapClasses().
  const Dataset* dataset = nullptr;
  const VertexTruth* truth = nullptr;
};

// Replaces `path` by a heading and a line per vertex. Columns for numbers:
//   id,name,NAME,…       a column's name is value_1, … if it has none
//   split                if the dataset has splits
//   target_NAME,…        if the dataset has that target
// Columns for sets, with the class's number where it has no name:
//   id,name,classes      those that are predicted, joined by ';'
//   probability_NAME,…   of every class
//   labels               the true ones, if the dataset has sets
//   split                if the dataset has splits
// AppendVertexHeading() says how vertices of several kinds are named. What is
// not known is empty. Errors: those of the file system.
absl::Status WriteTargetTable(const std::filesystem::path& path,
                              const TargetTable& table);

struct TargetScores {
  std::string split;      // Empty for vertices in no split.
  uint64_t vertices = 0;  // Vertices with targets; at least one.
  // RMSE and MAE of numbers, micro-F1 of sets; over the columns that the
  // dataset has.
  Scores scores;
};
// Returns the scores of each split that has vertices with targets. Errors:
// those of the file system.
absl::StatusOr<std::vector<TargetScores>> ScoreTargets(
    const TargetTable& table);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_TABLES_TARGET_TABLE_H_
