// Numbers strings from 0 in the order of their first appearance.
#ifndef FGNN_TOOLS_DATASET_BUILDING_STRING_IDS_H_
#define FGNN_TOOLS_DATASET_BUILDING_STRING_IDS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

namespace fgnn {

// Not thread-safe. Takes some 30 bytes per string beside its text, and never
// moves a text. Finding a string takes two cache misses.
class StringIds {
 public:
  static constexpr uint32_t kNone = 0xFFFFFFFF;

  StringIds();

  // Returns the number of `text`; a new text gets the next number. Returns
  // kNone if 2^32 - 1 numbers are given out.
  uint32_t Intern(std::string_view text);
  // Returns kNone if `text` has no number.
  uint32_t Find(std::string_view text) const;
  // `number` is in [0, size()).
  std::string_view text(uint64_t number) const;
  uint64_t size() const { return entries_.size(); }

 private:
  size_t Place(std::string_view text) const;
  void Grow();
  const char* Store(std::string_view text);

  // Hash table with open addressing over entries: a u32 number, a u32 length,
  // the text. Its size is a power of two.
  std::vector<const char*> table_;
  std::deque<const char*> entries_;  // Entries by number.
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;
  size_t free_bytes_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_STRING_IDS_H_
