#include "tools/dataset/importing/word_hashing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "shared/base/philox.h"

namespace fgnn {
namespace {

constexpr uint64_t kFnvOffset = 0xcbf29ce484222325U;
constexpr uint64_t kFnvPrime = 0x100000001b3U;

bool IsWordByte(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z') || c >= 0x80;
}

unsigned char Lower(unsigned char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<unsigned char>(c + 32) : c;
}

}  // namespace

void HashWords(std::string_view text, absl::Span<float> row) {
  std::fill(row.begin(), row.end(), 0.0F);
  size_t i = 0;
  while (i < text.size()) {
    uint64_t hash = kFnvOffset;
    const size_t begin = i;
    for (; i < text.size() && IsWordByte(static_cast<unsigned char>(text[i]));
         ++i) {
      hash = (hash ^ Lower(static_cast<unsigned char>(text[i]))) * kFnvPrime;
    }
    if (i == begin) {
      ++i;
      continue;
    }
    hash = Mix64(hash);
    row[(hash >> 1) % row.size()] += (hash & 1) != 0 ? 1.0F : -1.0F;
  }
  double squares = 0;
  for (const float value : row) squares += double{value} * double{value};
  if (squares == 0) return;
  const auto scale = static_cast<float>(1.0 / std::sqrt(squares));
  for (float& value : row) value *= scale;
}

}  // namespace fgnn
