#include "tools/dataset/building/feature_sink.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/graph/metadata.h"
#include "tools/dataset/reading/float_bits.h"

namespace fgnn {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr float kMaxHalf = 65504.0F;

double LengthOf(absl::Span<const float> row, RowNorm norm) {
  double sum = 0;
  for (const double value : row) {
    sum += norm == RowNorm::kL1 ? std::fabs(value) : value * value;
  }
  return norm == RowNorm::kL1 ? sum : std::sqrt(sum);
}

// Returns true if all magnitudes are at most the limit. The loop has no branch
// per value, so that it is vectorised.
bool AllAtMost(absl::Span<const float> row, uint32_t magnitude_bits) {
  bool good = true;
  for (const float value : row) {
    good &= (std::bit_cast<uint32_t>(value) & 0x7FFFFFFF) <= magnitude_bits;
  }
  return good;
}

}  // namespace

absl::StatusOr<FeatureSink> FeatureSink::Create(
    const std::filesystem::path& path, uint64_t columns, FeatureType type,
    RowNorm norm) {
  if (columns == 0) {
    return absl::InvalidArgumentError("the features have no columns");
  }
  FGNN_ASSIGN_OR_RETURN(NpyWriter writer,
                        NpyWriter::Create(path, StoredType(type), {columns}));
  return FeatureSink(std::move(writer), columns, type, norm);
}

FeatureSink::FeatureSink(NpyWriter writer, uint64_t columns, FeatureType type,
                         RowNorm norm)
    : writer_(std::move(writer)), columns_(columns), type_(type), norm_(norm) {
  buffer_.reserve(kBufferBytes + columns * BytesOf(type));
}

absl::Status FeatureSink::CheckRow(absl::Span<const float> row) const {
  // Largest finite magnitudes: that of f32, and the largest that bf16 does not
  // round up to infinity.
  uint32_t limit = 0x7F7FFFFF;
  if (type_ == FeatureType::kFloat16) limit = std::bit_cast<uint32_t>(kMaxHalf);
  if (type_ == FeatureType::kBfloat16) limit = 0x7F7F7FFF;
  if (AllAtMost(row, limit)) return absl::OkStatus();
  for (size_t i = 0; i < row.size(); ++i) {
    if (AllAtMost(row.subspan(i, 1), limit)) continue;
    const std::string where = absl::StrCat("feature column ", i, " of vertex ",
                                           rows_, " is ", row[i]);
    return absl::InvalidArgumentError(
        std::isfinite(row[i])
            ? absl::StrCat(where, ", beyond the range of ",
                           std::string(NameOf(type_)),
                           "; pass --feature-type f32")
            : absl::StrCat(where, "; replace it with a finite number"));
  }
  return absl::OkStatus();
}

absl::Status FeatureSink::AppendRow(absl::Span<const float> row) {
  if (row.size() != columns_) {
    return absl::InvalidArgumentError(
        absl::StrCat("vertex ", rows_, " has ", row.size(), " features where ",
                     columns_, " are expected"));
  }
  if (norm_ != RowNorm::kNone) {
    const double length = LengthOf(row, norm_);
    const double scale = length > 0 ? 1.0 / length : 1.0;
    normalized_.resize(columns_);
    for (size_t i = 0; i < columns_; ++i) {
      normalized_[i] = static_cast<float>(row[i] * scale);
    }
    row = normalized_;
  }
  FGNN_RETURN_IF_ERROR(CheckRow(row));
  Buffer(row.data());
  ++rows_;
  return buffer_.size() >= kBufferBytes ? Flush() : absl::OkStatus();
}

void FeatureSink::Buffer(const float* values) {
  const size_t begin = buffer_.size();
  buffer_.resize(begin + columns_ * BytesOf(type_));
  std::byte* out = buffer_.data() + begin;
  if (type_ == FeatureType::kFloat32) {
    std::memcpy(out, values, columns_ * sizeof(float));
    return;
  }
  for (size_t i = 0; i < columns_; ++i) {
    const uint16_t bits = type_ == FeatureType::kFloat16
                              ? FloatToHalf(values[i])
                              : FloatToBfloat16(values[i]);
    std::memcpy(out + i * sizeof(bits), &bits, sizeof(bits));
  }
}

absl::Status FeatureSink::Flush() {
  const absl::Status status = writer_.Append(buffer_.data(), buffer_.size());
  buffer_.clear();
  return status;
}

absl::Status FeatureSink::Close() {
  FGNN_RETURN_IF_ERROR(Flush());
  return writer_.Close();
}

}  // namespace fgnn
