#include "shared/base/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace fgnn {
namespace {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string NearestWord(std::string_view word,
                        absl::Span<const std::string> candidates) {
  std::string nearest;
  size_t best = std::max<size_t>(2, word.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance < best) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

absl::Status CheckChoice(std::string_view field, std::string_view word,
                         absl::Span<const std::string> choices) {
  if (std::find(choices.begin(), choices.end(), word) != choices.end()) {
    return absl::OkStatus();
  }
  const std::string nearest = NearestWord(word, choices);
  return absl::InvalidArgumentError(absl::StrCat(
      std::string(field), ": '", std::string(word), "' is not known; ",
      nearest.empty() ? "" : absl::StrCat("did you mean '", nearest, "'? "),
      "choose from: ", absl::StrJoin(choices, ", ")));
}

absl::StatusOr<size_t> IndexOfWord(std::string_view word,
                                   absl::Span<const std::string> words,
                                   std::string_view what) {
  const auto at = std::find(words.begin(), words.end(), word);
  if (at != words.end()) return static_cast<size_t>(at - words.begin());
  return absl::InvalidArgumentError(
      absl::StrCat("'", std::string(word), "' is no ", std::string(what),
                   "; this build has ", absl::StrJoin(words, ", ")));
}

}  // namespace fgnn
