// Feature hashing: turns text into a short vector without a vocabulary.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_WORD_HASHING_H_
#define FGNN_TOOLS_DATASET_IMPORTING_WORD_HASHING_H_

#include <string_view>

#include "absl/types/span.h"

namespace fgnn {

// Each word of `text` adds 1 or -1 to a column of `row`; the word's hash
// decides both. Words are lower-cased, and split at what is no letter or digit;
// bytes beyond ASCII count as letters. Then the row is divided by its length.
// Without words it is all zero.
void HashWords(std::string_view text, absl::Span<float> row);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_WORD_HASHING_H_
