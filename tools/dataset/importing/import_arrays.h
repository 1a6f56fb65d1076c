// Imports edges, features, labels and splits from NumPy arrays, as streams.
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
  std::optional<ArrayStream> values;  // [entries]; nullopt: all are 1.
};

// Reads a CompressedArrays row by row. Errors name array and element.
class CompressedReader {
 public:
  // InvalidArgument: the shapes do not agree. Every column must be below
  // num_columns.
  static absl::StatusOr<CompressedReader> Create(CompressedArrays arrays,
                                                 uint64_t num_columns);

  // Goes to the next row; all pieces of the row before must have been read.
  // Returns false after the last row. InvalidArgument: indptr falls or leaves
  // the entries.
  absl::StatusOr<bool> NextRow();
  // Reads the next piece of the row. Returns false after its last one.
  absl::StatusOr<bool> NextPiece();

  uint64_t num_rows() const { return arrays_.indptr.rows() - 1; }
  uint64_t row() const { return row_; }
  // Columns and values of the piece, of equal size; valid until the next call.
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
  uint64_t row_end_ = 0;  // End of the row, in entries.
  uint64_t taken_ = 0;    // Number of entries given out.
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

// Adds the edges of an array [2, E] or [E, 2], which is given as two streams
// from its front: sources first. Vertices must be below `num_nodes` (0: below
// 2^32 - 1). Returns one more than the highest vertex. Calls
// target.BeginEdges().
absl::StatusOr<uint64_t> ImportEdgeIndex(ArrayStream sources,
                                         ArrayStream destinations,
                                         uint64_t num_nodes,
                                         ImportTarget& target);

// Imports [N, F], or [N] as one column. InvalidArgument: the array is empty.
absl::Status ImportDenseFeatures(ArrayStream features, ImportTarget& target);
// `shape` holds [rows, columns] of the matrix; entries of equal place are
// summed. InvalidArgument, naming the shape: it does not fit this matrix, or
// the rows would hold almost only zeros.
absl::Status ImportSparseFeatures(CompressedArrays arrays, ArrayStream shape,
                                  ImportTarget& target);

// Returns the [rows, columns] that an array of two numbers holds. Both are at
// least 1.
absl::StatusOr<std::array<uint64_t, 2>> ReadMatrixShape(ArrayStream shape);

// Imports labels [N] or [N, columns]: classes, numbers or sets of classes, see
// LabelStore.
absl::Status ImportLabels(ArrayStream labels, ImportTarget& target);
// Reads [K] or [K, 1] of integers.
absl::StatusOr<std::vector<int64_t>> ReadIds(ArrayStream ids);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_IMPORT_ARRAYS_H_
