// Headers of all arrays that importers read: those of npy.h, and arrays in
// Fortran order and of text.
#ifndef FGNN_SHARED_GRAPH_NPY_LAYOUT_H_
#define FGNN_SHARED_GRAPH_NPY_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/graph/npy.h"

namespace fgnn {

enum class NpyText : uint8_t {
  kNone,   // The elements are numbers.
  kBytes,  // Type "|S5": bytes, with zeros behind them.
  kUtf32,  // Type "<U5": code points of 32 bits, with zeros behind them.
};

struct NpyLayout {
  NpyHeader header;  // Its type means nothing if the elements are text.
  NpyText text = NpyText::kNone;
  std::string text_type;       // Name of the type, as "<U5"; empty for numbers.
  uint64_t element_bytes = 0;  // 0 for text without a character.
  bool fortran_order = false;  // The first index changes fastest.
};

// As ParseNpyHeader(), for more arrays.
absl::StatusOr<NpyLayout> ParseNpyLayout(absl::Span<const std::byte> bytes);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_NPY_LAYOUT_H_
