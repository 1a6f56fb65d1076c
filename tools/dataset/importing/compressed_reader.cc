// CompressedReader: reads sparse matrices row by row.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "tools/dataset/importing/import_arrays.h"

namespace fgnn {
namespace {}  // namespace

CompressedReader::CompressedReader(CompressedArrays arrays,
                                   uint64_t num_columns)
    : arrays_(std::move(arrays)), num_columns_(num_columns) {}

absl::StatusOr<CompressedReader> CompressedReader::Create(
    CompressedArrays arrays, uint64_t num_columns) {
  if (arrays.indptr.shape().size() != 1 || arrays.indptr.rows() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(arrays.indptr.what(),
                     ": is not a list of row starts with one entry more than "
                     "there are rows"));
  }
  if (arrays.indices.shape().size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        arrays.indices.what(), ": has ", arrays.indices.shape().size(),
        " dimensions where one is expected"));
  }
  if (arrays.values.has_value() &&
      arrays.values->num_elements() != arrays.indices.num_elements()) {
    return absl::InvalidArgumentError(absl::StrCat(
        arrays.values->what(), ": ", arrays.values->num_elements(),
        " values for the ", arrays.indices.num_elements(), " entries of ",
        arrays.indices.what(), "; they must be of one matrix"));
  }
  return CompressedReader(std::move(arrays), num_columns);
}

absl::Status CompressedReader::FillOffsets() {
  const uint64_t left =
      arrays_.indptr.num_elements() - arrays_.indptr.position();
  offsets_.resize(std::min<uint64_t>(left, kChunkElements));
  next_offset_ = 0;
  return arrays_.indptr.Read(absl::MakeSpan(offsets_));
}

absl::StatusOr<bool> CompressedReader::NextRow() {
  if (!started_) {
    started_ = true;
    FGNN_RETURN_IF_ERROR(FillOffsets());
    if (offsets_[next_offset_++] != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          arrays_.indptr.what(), ": starts at ", offsets_[0], " instead of 0"));
    }
  } else {
    ++row_;
  }
  const uint64_t num_entries = arrays_.indices.num_elements();
  if (row_ == num_rows()) {
    if (row_end_ == num_entries) return false;
    return absl::InvalidArgumentError(
        absl::StrCat(arrays_.indptr.what(), ": ends at ", row_end_, ", but ",
                     arrays_.indices.what(), " has ", num_entries,
                     " entries; they must be of one matrix"));
  }
  if (next_offset_ == offsets_.size()) FGNN_RETURN_IF_ERROR(FillOffsets());
  const int64_t end = offsets_[next_offset_++];
  if (end < static_cast<int64_t>(row_end_) ||
      end > static_cast<int64_t>(num_entries)) {
    return absl::InvalidArgumentError(
        absl::StrCat(arrays_.indptr.what(), ": element ", row_ + 1, " is ", end,
                     ", but it must rise from ", row_end_, " and not pass the ",
                     num_entries, " entries of ", arrays_.indices.what()));
  }
  row_end_ = static_cast<uint64_t>(end);
  return true;
}

absl::Status CompressedReader::FillEntries() {
  const uint64_t first = arrays_.indices.position();
  const uint64_t left = arrays_.indices.num_elements() - first;
  columns_.resize(std::min<uint64_t>(left, kChunkElements));
  values_.assign(columns_.size(), 1.0F);
  next_entry_ = 0;
  FGNN_RETURN_IF_ERROR(arrays_.indices.Read(absl::MakeSpan(columns_)));
  if (arrays_.values.has_value()) {
    FGNN_RETURN_IF_ERROR(arrays_.values->Read(absl::MakeSpan(values_)));
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns_[i] < 0 || static_cast<uint64_t>(columns_[i]) >= num_columns_) {
      return absl::InvalidArgumentError(absl::StrCat(
          arrays_.indices.what(), ": element ", first + i, " is ", columns_[i],
          "; it must be from 0 to ", num_columns_ - 1));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> CompressedReader::NextPiece() {
  if (taken_ == row_end_) return false;
  if (next_entry_ == columns_.size()) FGNN_RETURN_IF_ERROR(FillEntries());
  const size_t count =
      std::min<uint64_t>(columns_.size() - next_entry_, row_end_ - taken_);
  piece_columns_ = absl::MakeConstSpan(columns_).subspan(next_entry_, count);
  piece_values_ = absl::MakeConstSpan(values_).subspan(next_entry_, count);
  next_entry_ += count;
  taken_ += count;
  return true;
}

}  // namespace fgnn
