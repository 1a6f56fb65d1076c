// Writes features.npy row by row: checks, normalises and converts them.
#ifndef FGNN_TOOLS_DATASET_BUILDING_FEATURE_SINK_H_
#define FGNN_TOOLS_DATASET_BUILDING_FEATURE_SINK_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/graph/dataset.h"
#include "shared/graph/npy.h"

namespace fgnn {

// Divisor of each row: 1, the sum of its absolute values, or its Euclidean
// length. A row of zeros stays.
enum class RowNorm : uint8_t { kNone, kL1, kL2 };

// Not thread-safe. Memory: a buffer of about 1 MiB.
class FeatureSink {
 public:
  // `columns` is at least 1.
  static absl::StatusOr<FeatureSink> Create(const std::filesystem::path& path,
                                            uint64_t columns, FeatureType type,
                                            RowNorm norm);

  // Appends the next row, [columns]. InvalidArgument, naming row and column: a
  // value is not finite, or f16 cannot hold it.
  absl::Status AppendRow(absl::Span<const float> row);
  // Must be called once, at the end.
  absl::Status Close();

  uint64_t columns() const { return columns_; }
  uint64_t rows() const { return rows_; }

 private:
  FeatureSink(NpyWriter writer, uint64_t columns, FeatureType type,
              RowNorm norm);
  absl::Status CheckRow(absl::Span<const float> row) const;
  void Buffer(const float* values);
  absl::Status Flush();

  NpyWriter writer_;
  uint64_t columns_;
  FeatureType type_;
  RowNorm norm_;
  uint64_t rows_ = 0;
  std::vector<float> normalized_;
  std::vector<std::byte> buffer_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_FEATURE_SINK_H_
