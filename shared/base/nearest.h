// Finds the word that a user wrote, or probably meant.
#ifndef FGNN_SHARED_BASE_NEAREST_H_
#define FGNN_SHARED_BASE_NEAREST_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace fgnn {

// Returns the candidate with the smallest edit distance to `word`, the first of
// equals. Returns an empty string if no candidate is near enough to be a likely
// slip.
std::string NearestWord(std::string_view word,
                        absl::Span<const std::string> candidates);

// Checks that `word` is one of `choices`. InvalidArgument names the field, the
// choice that was probably meant, and all choices.
absl::Status CheckChoice(std::string_view field, std::string_view word,
                         absl::Span<const std::string> choices);

// Returns the index of `word` in `words`. InvalidArgument, with all words: it
// is none of them. `what` names one of them, "cache policy".
absl::StatusOr<size_t> IndexOfWord(std::string_view word,
                                   absl::Span<const std::string> words,
                                   std::string_view what);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_NEAREST_H_
