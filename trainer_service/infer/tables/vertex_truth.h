// What a dataset states of its vertices beside their features.
#ifndef FGNN_TRAINER_SERVICE_INFER_TABLES_VERTEX_TRUTH_H_
#define FGNN_TRAINER_SERVICE_INFER_TABLES_VERTEX_TRUTH_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"

namespace fgnn {

// Labels and splits of the vertices. Immutable; any thread.
class VertexTruth {
 public:
  // Borrows the dataset. InvalidArgument, naming file and element: a split has
  // an id that is no vertex.
  static absl::StatusOr<VertexTruth> Make(const Dataset& dataset);

  bool has_labels() const { return !labels_.empty(); }
  bool has_splits() const { return !splits_.empty(); }

  // Returns the label of v in the dataset's numbering; -1: it has none.
  int64_t label(GlobalId v) const { return has_labels() ? labels_[v] : -1; }
  // Returns "train", "valid", "test", or "" for a vertex in no split. Returns
  // the first of these for a vertex in several.
  std::string_view split(GlobalId v) const;

 private:
  explicit VertexTruth(const Dataset& dataset) : labels_(dataset.labels()) {}

  absl::Span<const int64_t> labels_;  // [N] or empty.
  std::vector<uint8_t> splits_;       // [N] or empty: numbers of names.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_INFER_TABLES_VERTEX_TRUTH_H_
