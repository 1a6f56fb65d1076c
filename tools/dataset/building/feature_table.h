// Rows of numbers with gaps on their way to features.npy.
#ifndef FGNN_TOOLS_DATASET_BUILDING_FEATURE_TABLE_H_
#define FGNN_TOOLS_DATASET_BUILDING_FEATURE_TABLE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tools/dataset/building/edge_spill.h"
#include "tools/dataset/building/feature_sink.h"

namespace fgnn {

// What stands in for a number that is missing.
struct GapFill {
  enum class Kind : uint8_t { kRefuse, kValue, kMean };
  Kind kind = Kind::kRefuse;
  float value = 0;
};

// A column of numbers, and its gaps.
struct NumberColumn {
  uint64_t num_gaps = 0;
  uint64_t first_gap = 0;  // Row of the first gap.
  double sum = 0;          // Sum of the numbers.
  double mean(uint64_t num_rows) const {
    return sum / static_cast<double>(num_rows - num_gaps);
  }
};

// Keeps rows in a temporary file, so that columns can be chosen and filled once
// all rows are known. Not thread-safe. Memory: a buffer of about 1 MiB.
class FeatureTable {
 public:
  // The file is at `path`; the destructor removes it.
  static absl::StatusOr<FeatureTable> Create(const std::filesystem::path& path,
                                             uint64_t columns);

  // Appends the next row, [columns]. NaN is a gap.
  absl::Status AppendRow(absl::Span<const float> row);
  uint64_t num_rows() const { return num_rows_; }
  const std::vector<NumberColumn>& columns() const { return columns_; }

  // Appends to `sink` all rows, of the columns `chosen`, which start at column
  // `first` of the sink; its other columns are 0. Gaps are filled as `fill`
  // says, which is not kRefuse if there are any.
  absl::Status WriteTo(absl::Span<const size_t> chosen, size_t first,
                       GapFill fill, FeatureSink& sink);

 private:
  FeatureTable(SpillFile file, uint64_t columns);
  absl::Status Flush();

  SpillFile file_;
  std::vector<NumberColumn> columns_;
  uint64_t num_rows_ = 0;
  uint64_t num_written_ = 0;  // Values in the file.
  std::vector<float> buffer_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_FEATURE_TABLE_H_
