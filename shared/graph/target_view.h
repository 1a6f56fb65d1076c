// What the vertices of a dataset have in place of a class: numbers, or sets of
// classes.
#ifndef FGNN_SHARED_GRAPH_TARGET_VIEW_H_
#define FGNN_SHARED_GRAPH_TARGET_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "shared/base/types.h"

namespace fgnn {

enum class TargetType : uint8_t {
  kFloat32,  // A number per column; NaN: none.
  kBits,  // A byte per class: 1, it is in the vertex's set; 0, not; 255: none.
};

size_t BytesOf(TargetType type);
std::string_view NameOf(TargetType type);  // "f32", "u8".
// Returns nullopt if no type has this name.
std::optional<TargetType> TargetTypeOf(std::string_view name);

// The byte of a class of which nothing is known.
inline constexpr uint8_t kNoBit = 255;

// [rows, columns] row-major. Borrowed from a Dataset.
struct TargetView {
  const std::byte* data = nullptr;
  TargetType type = TargetType::kFloat32;
  uint64_t rows = 0;  // 0: the dataset has no targets.
  uint32_t columns = 0;

  uint64_t row_bytes() const { return columns * BytesOf(type); }
  // Writes row `v`, in [0, rows), to `out` [columns]. An element that is not
  // there is NaN.
  void Read(GlobalId v, float* out) const;
  // Returns the first column of row `v` that has no target; `columns` if all
  // have one.
  uint32_t FirstMissing(GlobalId v) const;
  // Returns true if row `v` has all its targets, as the vertices of splits do.
  bool Has(GlobalId v) const { return FirstMissing(v) == columns; }
};

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_TARGET_VIEW_H_
