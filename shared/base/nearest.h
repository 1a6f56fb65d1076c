// Finds the word that a user probably meant.
#ifndef FGNN_SHARED_BASE_NEAREST_H_
#define FGNN_SHARED_BASE_NEAREST_H_

#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace fgnn {

// Returns the candidate with the smallest edit distance to `word`, the first of
// equals. Returns an empty string if no candidate is near enough to be a likely
// slip.
std::string NearestWord(std::string_view word,
                        absl::Span<const std::string> candidates);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_NEAREST_H_
