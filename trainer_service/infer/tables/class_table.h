// Predicted classes beside what the dataset says: the file of predictions, and
// how many of them are right.
#ifndef FGNN_TRAINER_SERVICE_INFER_TABLES_CLASS_TABLE_H_
#define FGNN_TRAINER_SERVICE_INFER_TABLES_CLASS_TABLE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "trainer_service/infer/predict.h"
#include "trainer_service/infer/tables/class_map.h"
#include "trainer_service/infer/tables/vertex_truth.h"

namespace fgnn {

// Predictions of n vertices, and what is known of these. All is borrowed.
struct ClassTable {
  absl::Span<const GlobalId> vertices;  // [n]
  const Predictions* predictions = nullptr;
  const ClassMap* map = nullptr;
  const Dataset* dataset = nullptr;
  const VertexTruth* truth = nullptr;
};

// Replaces `path`. "*.npy" gets the numbers that the map gives the classes, i64
// [n], or [n, K] for K > 1 classes of each vertex. "*.csv" gets a heading and a
// line for each vertex:
//   id,name,class,probability,class_name
//   label,label_name                        if the dataset has labels
//   split                                   if the dataset has splits
//   class_2,probability_2,class_name_2, …   up to K
// AppendVertexHeading() says how vertices of several kinds are named. What is
// not known is empty. Errors: those of the file system.
absl::Status WriteClassTable(const std::filesystem::path& path,
                             const ClassTable& table);

// Numbers of vertices that have a label, and of those of them that match.
struct MatchCount {
  uint64_t labelled = 0;
  uint64_t matching = 0;

  double share() const {
    return labelled == 0
               ? 0
               : static_cast<double>(matching) / static_cast<double>(labelled);
  }
};

struct PredictionMatches {
  struct OfSplit {
    std::string split;  // Empty for vertices in no split.
    MatchCount count;
  };
  // Classes whose number is that of the label. Splits without labelled vertices
  // are left out.
  std::vector<OfSplit> splits;
  // Classes whose name is that of the label, over all labelled vertices;
  // nullopt: classes were not found by name, or there are no labels.
  std::optional<MatchCount> names;
};
PredictionMatches CountMatches(const ClassTable& table);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_TABLES_CLASS_TABLE_H_
