// The words that stand for a missing value in a text: one table for all
// importers and all columns.
#ifndef FGNN_TOOLS_DATASET_READING_MISSING_WORDS_H_
#define FGNN_TOOLS_DATASET_READING_MISSING_WORDS_H_

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fgnn {

// What databases, spreadsheets, pandas and R write for a missing value. Capital
// letters do not matter. An empty text is missing too.
inline constexpr std::array<const char*, 17> kMissingWords = {
    "na",       "n/a",    "#n/a",    "#na",  "<na>", "nan",
    "-nan",     "nat",    "nil",     "null", "none", "1.#qnan",
    "-1.#qnan", "1.#ind", "-1.#ind", "\\n",  "?"};

// Immutable, so that threads may share it.
class MissingWords {
 public:
  MissingWords();
  // Takes these words in the place of kMissingWords. An empty text stays
  // missing.
  explicit MissingWords(const std::vector<std::string>& words);

  // Returns true if `text`, without the blanks around it, is a missing value.
  bool Has(std::string_view text) const;

 private:
  std::vector<std::string> words_;  // In lower case.
  std::bitset<256> first_bytes_;    // First bytes of the words, in both cases.
};

// How often a column has no value. Not thread-safe.
class MissingCount {
 public:
  // Counts the missing value `text` of the row at `place`, "line 7", as often
  // as it is there.
  template <typename Place>
  void Add(std::string_view text, const Place& place, uint64_t times = 1) {
    if (times == 0) return;
    if (count_ == 0) first_ = place();
    count_ += times;
    words_[Canonical(text)] += times;
  }

  uint64_t count() const { return count_; }
  const std::string& first() const { return first_; }  // Place of the first.
  // Returns "empty 3, NA 2".
  std::string Words() const;

 private:
  static std::string Canonical(std::string_view text);

  uint64_t count_ = 0;
  std::string first_;
  std::map<std::string, uint64_t> words_;  // By word, in lower case.
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_READING_MISSING_WORDS_H_
