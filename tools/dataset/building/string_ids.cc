#include "tools/dataset/building/string_ids.h"

#include <cstring>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace fgnn {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 18;

size_t HashOf(std::string_view text) {
  return absl::Hash<absl::string_view>()({text.data(), text.size()});
}

struct Head {
  uint32_t number;
  uint32_t length;
};

Head HeadOf(const char* entry) {
  Head head;
  std::memcpy(&head, entry, sizeof(head));
  return head;
}

std::string_view TextOf(const char* entry) {
  return {entry + sizeof(Head), HeadOf(entry).length};
}

}  // namespace

StringIds::StringIds() : table_(64, nullptr) {}

std::string_view StringIds::text(uint64_t number) const {
  return TextOf(entries_[number]);
}

// Returns the place of `text` in the table, or the empty place where it
// belongs.
size_t StringIds::Place(std::string_view text) const {
  const size_t mask = table_.size() - 1;
  size_t place = HashOf(text) & mask;
  while (table_[place] != nullptr && TextOf(table_[place]) != text) {
    place = (place + 1) & mask;
  }
  return place;
}

uint32_t StringIds::Find(std::string_view text) const {
  const char* entry = table_[Place(text)];
  return entry == nullptr ? kNone : HeadOf(entry).number;
}

uint32_t StringIds::Intern(std::string_view text) {
  const size_t place = Place(text);
  if (table_[place] != nullptr) return HeadOf(table_[place]).number;
  if (entries_.size() == kNone) return kNone;
  const auto number = static_cast<uint32_t>(entries_.size());
  entries_.push_back(Store(text));
  table_[place] = entries_.back();
  // The table is at most three quarters full: probes stay short and memory
  // small.
  if (entries_.size() * 4 > table_.size() * 3) Grow();
  return number;
}

void StringIds::Grow() {
  const size_t size = table_.size() * 2;
  // The old table is freed first: a new one can be made from the entries.
  table_ = std::vector<const char*>();
  table_.assign(size, nullptr);
  for (const char* entry : entries_) {
    size_t place = HashOf(TextOf(entry)) & (size - 1);
    while (table_[place] != nullptr) place = (place + 1) & (size - 1);
    table_[place] = entry;
  }
}

const char* StringIds::Store(std::string_view text) {
  const Head head{static_cast<uint32_t>(entries_.size()),
                  static_cast<uint32_t>(text.size())};
  const size_t need = sizeof(head) + text.size();
  if (need > free_bytes_) {
    free_bytes_ = need > kBlockBytes ? need : kBlockBytes;
    blocks_.push_back(std::make_unique<char[]>(free_bytes_));
    free_ = blocks_.back().get();
  }
  char* entry = free_;
  std::memcpy(entry, &head, sizeof(head));
  std::memcpy(entry + sizeof(head), text.data(), text.size());
  free_ += need;
  free_bytes_ -= need;
  return entry;
}

}  // namespace fgnn
