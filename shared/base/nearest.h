// The word a user probably meant.
#ifndef FGNN_SHARED_BASE_NEAREST_H_
#define FGNN_SHARED_BASE_NEAREST_H_

#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace fgnn {

// The candidate with the smallest edit distance to `word` (the first of
// equals); empty if none is near enough to be a likely slip.
std::string NearestWord(std::string_view word,
                        absl::Span<const std::string> candidates);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_NEAREST_H_
