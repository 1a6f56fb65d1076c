// Edges, features, labels and splits out of NumPy arrays, by stream.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_IMPORT_ARRAYS_H_
#define FGNN_TOOLS_DATASET_IMPORTING_IMPORT_ARRAYS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "tools/dataset/importing/import_target.h"
#include "tools/dataset/reading/array_stream.h"

namespace fgnn {

// A sparse matrix, compressed by rows: the columns of row r are
// indices[indptr[r] .. indptr[r+1]).
struct CompressedArrays {
  ArrayStream indptr;                 // [rows + 1]
  ArrayStream indices;                // [entries]
  std::optional<ArrayStream> values;  // [entries]; none: all 1.
};

// Reads a CompressedArrays row by row. Errors name array and element.
class CompressedReader {
 public:
  // InvalidArgument: shapes do not agree. Every column is to be below
  // num_columns.
  static absl::StatusOr<CompressedReader> Create(CompressedArrays arrays,
                                                 uint64_t num_columns);

  // Goes to the next row, whose pieces must all have been read; false after
  // the last one. InvalidArgument: indptr falls or leaves the entries.
  absl::StatusOr<bool> NextRow();
  // The next piece of the row; false after its last one.
  absl::StatusOr<bool> NextPiece();

  uint64_t num_rows() const { return arrays_.indptr.rows() - 1; }
  uint64_t row() const { return row_; }
  // Of the piece, of equal size; valid until the next call.
  absl::Span<const int64_t> columns() const { return piece_columns_; }
  absl::Span<const float> values() const { return piece_values_; }

 private:
  CompressedReader(CompressedArrays arrays, uint64_t num_columns);
  absl::Status FillEntries();
  absl::Status FillOffsets();

  CompressedArrays arrays_;
  uint64_t num_columns_;
  uint64_t row_ = 0;
  bool started_ = false;
  uint64_t row_end_ = 0;  // Of the row, in entries.
  uint64_t taken_ = 0;    // Entries given out.
  std::vector<int64_t> offsets_;
  size_t next_offset_ = 0;
  std::vector<int64_t> columns_;
  std::vector<float> values_;
  size_t next_entry_ = 0;
  absl::Span<const int64_t> piece_columns_;
  absl::Span<const float> piece_values_;
};

// Adds the edges of a square matrix. rows_are_sources: row u, column v is the
// edge u -> v, else v -> u. Values become weights, which must be finite and not
// negative. Calls target.BeginEdges().
absl::Status ImportCompressedEdges(CompressedArrays arrays,
                                   bool rows_are_sources, ImportTarget& target);

// Adds the edges of an array [2, E], or [E, 2], given as two streams from its
// front: sources first. Vertices must be below `num_nodes` (0: below 2^32 - 1).
// Returns one more than the highest vertex. Calls target.BeginEdges().
absl::StatusOr<uint64_t> ImportEdgeIndex(ArrayStream sources,
                                         ArrayStream destinations,
                                         uint64_t num_nodes,
                                         ImportTarget& target);

// [N, F], or [N] as one column. InvalidArgument: it is empty.
absl::Status ImportDenseFeatures(ArrayStream features, ImportTarget& target);
// `shape` holds [rows, columns] of the matrix; entries of equal place are
// summed. InvalidArgument names the shape if it is not of this matrix, or if
// the rows would hold next to nothing but zeros.
absl::Status ImportSparseFeatures(CompressedArrays arrays, ArrayStream shape,
                                  ImportTarget& target);

// The [rows, columns] that an array of two numbers holds, both at least 1.
absl::StatusOr<std::array<uint64_t, 2>> ReadMatrixShape(ArrayStream shape);

// [N] or [N, 1]; NaN is -1.
absl::StatusOr<std::vector<int64_t>> ReadLabels(ArrayStream labels);
// [K] or [K, 1] of integers. A mask holds a flag for each vertex instead; a
// bool array always is one.
absl::StatusOr<std::vector<int64_t>> ReadIds(ArrayStream ids,
                                             bool is_mask = false);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_IMPORT_ARRAYS_H_
