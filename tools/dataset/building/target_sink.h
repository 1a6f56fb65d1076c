// Writes targets.npy row by row, and finds out what its numbers are.
#ifndef FGNN_TOOLS_DATASET_BUILDING_TARGET_SINK_H_
#define FGNN_TOOLS_DATASET_BUILDING_TARGET_SINK_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/graph/npy.h"
#include "tools/dataset/inspecting/column_moments.h"

namespace fgnn {

// Not thread-safe. Memory: some numbers for each column, and a bit for each
// vertex.
class TargetSink {
 public:
  // InvalidArgument: `columns` is not in [1, kMostTargetColumns].
  static absl::StatusOr<TargetSink> Create(const std::filesystem::path& path,
                                           uint64_t columns);

  // Appends the next row, [columns]; NaN: there is no such target.
  // InvalidArgument, naming column and vertex: a number is infinite.
  absl::Status AppendRow(absl::Span<const float> row);

  uint64_t columns() const { return moments_.size(); }
  uint64_t rows() const { return complete_.size(); }
  const std::vector<ColumnMoments>& moments() const { return moments_; }

  // Whether the rows may be sets: every number is 0, 1, or a mark that a class
  // is not known, -1 or 255.
  bool may_be_sets() const { return !not_of_sets_.has_value(); }
  uint64_t num_marks() const { return num_marks_; }  // Number of such marks.
  // Whether every row has exactly one 1, as a code of classes.
  bool is_one_hot() const { return num_not_one_hot_ == 0; }

  // One of the two must be called once, at the end. As sets, NaN and marks
  // become 255. InvalidArgument names a number that no set has.
  absl::Status CloseAsNumbers();
  absl::Status CloseAsSets();

  // Whether each vertex has all its targets. Valid after the end.
  const std::vector<bool>& complete() const { return complete_; }
  // Number of vertices that have some of their targets, but not all.
  uint64_t num_partial() const { return num_partial_; }

 private:
  TargetSink(std::filesystem::path path, NpyWriter writer, uint64_t columns);
  void Inspect(absl::Span<const float> row);
  absl::Status WriteSets(NpyWriter& sets);

  std::filesystem::path path_;
  NpyWriter writer_;
  std::vector<ColumnMoments> moments_;
  std::vector<bool> complete_;
  uint64_t num_partial_ = 0;
  std::optional<std::string> not_of_sets_;  // Place and value of the first.
  uint64_t num_marks_ = 0;
  uint64_t num_not_one_hot_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_TARGET_SINK_H_
