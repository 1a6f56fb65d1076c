#include "shared/graph/target_view.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace fgnn {

size_t BytesOf(TargetType type) { return type == TargetType::kFloat32 ? 4 : 1; }

std::string_view NameOf(TargetType type) {
  return type == TargetType::kFloat32 ? "f32" : "u8";
}

std::optional<TargetType> TargetTypeOf(std::string_view name) {
  for (const TargetType type : {TargetType::kFloat32, TargetType::kBits}) {
    if (name == NameOf(type)) return type;
  }
  return std::nullopt;
}

void TargetView::Read(GlobalId v, float* out) const {
  const std::byte* row = data + v * row_bytes();
  if (type == TargetType::kFloat32) {
    std::memcpy(out, row, row_bytes());
    return;
  }
  for (uint32_t c = 0; c < columns; ++c) {
    const auto bit = std::to_integer<uint8_t>(row[c]);
    out[c] = bit == kNoBit ? std::numeric_limits<float>::quiet_NaN()
                           : static_cast<float>(bit);
  }
}

uint32_t TargetView::FirstMissing(GlobalId v) const {
  const std::byte* row = data + v * row_bytes();
  uint32_t c = 0;
  if (type == TargetType::kBits) {
    while (c < columns && std::to_integer<uint8_t>(row[c]) != kNoBit) ++c;
    return c;
  }
  for (; c < columns; ++c) {
    float value = 0;
    std::memcpy(&value, row + c * sizeof(value), sizeof(value));
    if (std::isnan(value)) break;
  }
  return c;
}

}  // namespace fgnn
