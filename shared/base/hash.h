// A hash that is equal on every machine and in every version.
#ifndef FGNN_SHARED_BASE_HASH_H_
#define FGNN_SHARED_BASE_HASH_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shared/base/philox.h"

namespace fgnn {

// Returns 64 bits that hash `text`, for keys of jobs and of derived files. Not
// for secrets.
constexpr uint64_t HashString(std::string_view text) {
  uint64_t hash = Mix64(text.size());
  uint64_t word = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    word |= uint64_t{static_cast<unsigned char>(text[i])} << (8 * (i % 8));
    if (i % 8 == 7 || i + 1 == text.size()) {
      hash = Mix64(hash ^ word);
      word = 0;
    }
  }
  return hash;
}

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_HASH_H_
