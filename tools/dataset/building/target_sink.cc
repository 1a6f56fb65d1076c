#include "tools/dataset/building/target_sink.h"

#include <algorithm>
#include <cmath>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/graph/metadata.h"
#include "shared/graph/target_view.h"

namespace fgnn {
namespace {

// Whether a number says that a class of a set is not known.
bool IsMark(float value) { return value == -1.0F || value == 255.0F; }

uint8_t BitOf(float value) {
  if (std::isnan(value) || IsMark(value)) return kNoBit;
  return value == 1.0F ? 1 : 0;
}

}  // namespace

absl::StatusOr<TargetSink> TargetSink::Create(const std::filesystem::path& path,
                                              uint64_t columns) {
  if (columns < 1 || columns > kMostTargetColumns) {
    return absl::InvalidArgumentError(
        absl::StrCat(columns, " numbers a vertex; a dataset has from 1 to ",
                     kMostTargetColumns, ", so leave some out"));
  }
  FGNN_ASSIGN_OR_RETURN(NpyWriter writer,
                        NpyWriter::Create(path, NpyType::kF32, {columns}));
  return TargetSink(path, std::move(writer), columns);
}

TargetSink::TargetSink(std::filesystem::path path, NpyWriter writer,
                       uint64_t columns)
    : path_(std::move(path)), writer_(std::move(writer)), moments_(columns) {}

absl::Status TargetSink::AppendRow(absl::Span<const float> row) {
  if (row.size() != columns()) {
    return absl::InvalidArgumentError(
        absl::StrCat("vertex ", rows(), " has ", row.size(), " targets where ",
                     columns(), " are expected"));
  }
  for (size_t c = 0; c < row.size(); ++c) {
    if (!std::isinf(row[c])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("target ", c, " of vertex ", rows(),
                     " is infinite as f32; replace it by a finite number, or "
                     "by NaN for none"));
  }
  Inspect(row);
  return writer_.Append(row.data(), row.size() * sizeof(float));
}

void TargetSink::Inspect(absl::Span<const float> row) {
  size_t known = 0;
  size_t ones = 0;
  for (size_t c = 0; c < row.size(); ++c) {
    const float value = row[c];
    if (std::isnan(value)) continue;
    ++known;
    moments_[c].Add(value);
    if (value == 0.0F) continue;
    if (value == 1.0F) {
      ++ones;
    } else if (IsMark(value)) {
      ++num_marks_;
    } else if (!not_of_sets_.has_value()) {
      not_of_sets_ =
          absl::StrCat("target ", c, " of vertex ", rows(), " is ", value);
    }
  }
  num_not_one_hot_ += static_cast<uint64_t>(ones != 1);
  num_partial_ += static_cast<uint64_t>(known > 0 && known < row.size());
  complete_.push_back(known == row.size());
}

absl::Status TargetSink::CloseAsNumbers() { return writer_.Close(); }

absl::Status TargetSink::CloseAsSets() {
  if (not_of_sets_.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(*not_of_sets_,
                     ", but sets hold 1 (in the set), 0 (not in it), or NaN "
                     "(not known); --labels-are numbers takes it as a number"));
  }
  FGNN_RETURN_IF_ERROR(CloseAsNumbers());
  const std::filesystem::path sets_path = path_.string() + ".sets";
  FGNN_ASSIGN_OR_RETURN(
      NpyWriter sets, NpyWriter::Create(sets_path, NpyType::kU8, {columns()}));
  FGNN_RETURN_IF_ERROR(WriteSets(sets));
  FGNN_RETURN_IF_ERROR(sets.Close());
  std::error_code error;
  std::filesystem::rename(sets_path, path_, error);
  if (!error) return absl::OkStatus();
  return ErrnoToStatus(
      error.value(),
      absl::StrCat("rename ", sets_path.string(), " to ", path_.string()));
}

// A mark counts as missing, which is known only now.
absl::Status TargetSink::WriteSets(NpyWriter& sets) {
  FGNN_ASSIGN_OR_RETURN(const NpyArray numbers, NpyArray::Open(path_));
  const absl::Span<const float> values = numbers.As<float>();
  std::vector<uint8_t> row(columns());
  num_partial_ = 0;
  for (size_t v = 0; v < complete_.size(); ++v) {
    const auto begin = values.begin() + v * columns();
    std::transform(begin, begin + columns(), row.begin(), BitOf);
    const auto missing =
        static_cast<size_t>(std::count(row.begin(), row.end(), kNoBit));
    complete_[v] = missing == 0;
    num_partial_ += static_cast<uint64_t>(missing > 0 && missing < row.size());
    FGNN_RETURN_IF_ERROR(sets.Append(row.data(), row.size()));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
