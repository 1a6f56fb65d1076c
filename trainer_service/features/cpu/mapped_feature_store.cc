#include "trainer_service/features/cpu/mapped_feature_store.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "trainer_service/compute/target_clones.h"

namespace fgnn {
namespace {

constexpr uint64_t kLineBytes = 64;
// How many rows ahead, and how much of each: after that the processor has
// seen the pattern and fetches by itself.
constexpr size_t kPrefetchRows = 8;
constexpr uint64_t kPrefetchBytes = 1024;

void PrefetchRow(const std::byte* row, uint64_t bytes) {
  for (uint64_t at = 0; at < std::min(bytes, kPrefetchBytes);
       at += kLineBytes) {
    __builtin_prefetch(row + at);
  }
  // Rows need not start at a line.
  __builtin_prefetch(row + std::min(bytes, kPrefetchBytes) - 1);
}

FGNN_TARGET_CLONES
void WidenBfloat16(const uint16_t* from, uint64_t count, float* to) {
  for (uint64_t i = 0; i < count; ++i) {
    to[i] = std::bit_cast<float>(static_cast<uint32_t>(from[i]) << 16);
  }
}

// By integer operations that every processor can do for many numbers at once:
// the exponent is moved to f32's bias by a product, which is exact for
// subnormal numbers too; infinities and NaN get f32's largest exponent.
FGNN_TARGET_CLONES
void WidenFloat16(const uint16_t* from, uint64_t count, float* to) {
  constexpr float kRebias = 0x1.0p112f;
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t half = from[i];
    const uint32_t magnitude = (half & 0x7fffu) << 13;
    const uint32_t widened =
        std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * kRebias);
    const uint32_t special = magnitude >= (0x7c00u << 13) ? 0x7f800000u : 0u;
    to[i] = std::bit_cast<float>(widened | special | ((half & 0x8000u) << 16));
  }
}

class MappedFeatureStore : public FeatureStore {
 public:
  explicit MappedFeatureStore(const FeatureView& view)
      : view_(view), row_bytes_(view.row_bytes()) {}

  uint64_t num_rows() const override { return view_.rows; }
  uint64_t num_columns() const override { return view_.columns; }

  const float* AsFloats() const override {
    if (view_.type != FeatureType::kFloat32) return nullptr;
    return reinterpret_cast<const float*>(view_.data);
  }

  void CopyRows(absl::Span<const GlobalId> nodes, float* out) const override {
    if (row_bytes_ == 0) return;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (i + kPrefetchRows < nodes.size()) {
        PrefetchRow(Row(nodes[i + kPrefetchRows]), row_bytes_);
      }
      CopyRow(Row(nodes[i]), out + i * view_.columns);
    }
  }

 private:
  const std::byte* Row(GlobalId node) const {
    return view_.data + node * row_bytes_;
  }

  void CopyRow(const std::byte* row, float* out) const {
    switch (view_.type) {
      case FeatureType::kFloat32:
        std::memcpy(out, row, row_bytes_);
        return;
      case FeatureType::kFloat16:
        WidenFloat16(reinterpret_cast<const uint16_t*>(row), view_.columns,
                     out);
        return;
      case FeatureType::kBfloat16:
        WidenBfloat16(reinterpret_cast<const uint16_t*>(row), view_.columns,
                      out);
        return;
    }
  }

  const FeatureView view_;
  const uint64_t row_bytes_;
};

}  // namespace

std::unique_ptr<FeatureStore> MakeMappedFeatureStore(const FeatureView& view) {
  return std::make_unique<MappedFeatureStore>(view);
}

}  // namespace fgnn
