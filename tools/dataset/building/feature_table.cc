#include "tools/dataset/building/feature_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr size_t kBufferValues = size_t{1} << 18;

}  // namespace

FeatureTable::FeatureTable(SpillFile file, uint64_t columns)
    : file_(std::move(file)), columns_(columns) {}

absl::StatusOr<FeatureTable> FeatureTable::Create(
    const std::filesystem::path& path, uint64_t columns) {
  FGNN_ASSIGN_OR_RETURN(SpillFile file, SpillFile::Create(path));
  return FeatureTable(std::move(file), columns);
}

absl::Status FeatureTable::AppendRow(absl::Span<const float> row) {
  for (size_t i = 0; i < row.size(); ++i) {
    if (!std::isnan(row[i])) {
      columns_[i].sum += double{row[i]};
    } else if (columns_[i].num_gaps++ == 0) {
      columns_[i].first_gap = num_rows_;
    }
  }
  buffer_.insert(buffer_.end(), row.begin(), row.end());
  ++num_rows_;
  return buffer_.size() >= kBufferValues ? Flush() : absl::OkStatus();
}

absl::Status FeatureTable::Flush() {
  FGNN_RETURN_IF_ERROR(file_.Write(buffer_.data(),
                                   buffer_.size() * sizeof(float),
                                   num_written_ * sizeof(float)));
  num_written_ += buffer_.size();
  buffer_.clear();
  return absl::OkStatus();
}

absl::Status FeatureTable::WriteTo(absl::Span<const size_t> chosen,
                                   size_t first, GapFill fill,
                                   FeatureSink& sink) {
  FGNN_RETURN_IF_ERROR(Flush());
  std::vector<float> stand_ins;
  for (const size_t column : chosen) {
    stand_ins.push_back(
        fill.kind == GapFill::Kind::kMean
            ? static_cast<float>(columns_[column].mean(num_rows_))
            : fill.value);
  }
  const size_t width = std::max<size_t>(columns_.size(), 1);
  const size_t rows_at_once = std::max<size_t>(kBufferValues / width, 1);
  std::vector<float> out(sink.columns());
  for (uint64_t row = 0; row < num_rows_; row += rows_at_once) {
    const uint64_t rows = std::min<uint64_t>(rows_at_once, num_rows_ - row);
    buffer_.resize(rows * columns_.size());
    FGNN_RETURN_IF_ERROR(file_.Read(buffer_.data(),
                                    buffer_.size() * sizeof(float),
                                    row * columns_.size() * sizeof(float)));
    for (uint64_t r = 0; r < rows; ++r) {
      const float* const values = buffer_.data() + r * columns_.size();
      for (size_t i = 0; i < chosen.size(); ++i) {
        const float value = values[chosen[i]];
        out[first + i] = std::isnan(value) ? stand_ins[i] : value;
      }
      FGNN_RETURN_IF_ERROR(sink.AppendRow(out));
    }
  }
  buffer_ = std::vector<float>();
  return absl::OkStatus();
}

}  // namespace fgnn
