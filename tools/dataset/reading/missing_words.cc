#include "tools/dataset/reading/missing_words.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "tools/dataset/reading/number_text.h"

namespace fgnn {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  absl::AsciiStrToLower(&lower);
  return lower;
}

}  // namespace

MissingWords::MissingWords()
    : MissingWords(std::vector<std::string>(kMissingWords.begin(),
                                            kMissingWords.end())) {}

MissingWords::MissingWords(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const std::string lower = Lower(TrimBlanks(word));
    if (lower.empty()) continue;
    words_.push_back(lower);
    const auto first = static_cast<unsigned char>(lower.front());
    first_bytes_.set(first);
    first_bytes_.set(static_cast<unsigned char>(std::toupper(first)));
  }
}

bool MissingWords::Has(std::string_view text) const {
  text = TrimBlanks(text);
  if (text.empty()) return true;
  // Nearly all values end here.
  if (!first_bytes_[static_cast<unsigned char>(text.front())]) return false;
  const std::string lower = Lower(text);
  return std::find(words_.begin(), words_.end(), lower) != words_.end();
}

std::string MissingCount::Canonical(std::string_view text) {
  text = TrimBlanks(text);
  return text.empty() ? "empty" : Lower(text);
}

std::string MissingCount::Words() const {
  std::string text;
  for (const auto& [word, count] : words_) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", word, " ", count);
  }
  return text;
}

}  // namespace fgnn
