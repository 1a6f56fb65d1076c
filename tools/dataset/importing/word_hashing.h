// Feature hashing: text as a short vector without a vocabulary.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_WORD_HASHING_H_
#define FGNN_TOOLS_DATASET_IMPORTING_WORD_HASHING_H_

#include <string_view>

#include "absl/types/span.h"

namespace fgnn {

// Each word of `text` (lower-cased, split at what is no letter or digit; bytes
// beyond ASCII count as letters) adds 1 or -1 to a column of `row`, both told
// by its hash; then the row is divided by its length. No words: all zero.
void HashWords(std::string_view text, absl::Span<float> row);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_WORD_HASHING_H_
