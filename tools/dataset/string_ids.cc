#include "tools/dataset/string_ids.h"

#include <cstring>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace fgnn {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 18;

size_t HashOf(std::string_view text) {
  return absl::Hash<absl::string_view>()({text.data(), text.size()});
}

}  // namespace

StringIds::StringIds() : table_(64, kNone) {}

std::string_view StringIds::text(uint64_t number) const {
  const char* entry = entries_[number];
  uint32_t length = 0;
  std::memcpy(&length, entry, sizeof(length));
  return {entry + sizeof(length), length};
}

// Where `text` is in the table, or the empty place where it belongs.
size_t StringIds::Place(std::string_view text) const {
  const size_t mask = table_.size() - 1;
  size_t place = HashOf(text) & mask;
  while (table_[place] != kNone && this->text(table_[place]) != text) {
    place = (place + 1) & mask;
  }
  return place;
}

uint32_t StringIds::Find(std::string_view text) const {
  return table_[Place(text)];
}

uint32_t StringIds::Intern(std::string_view text) {
  const size_t place = Place(text);
  if (table_[place] != kNone || entries_.size() == kNone) return table_[place];
  const auto number = static_cast<uint32_t>(entries_.size());
  entries_.push_back(Store(text));
  table_[place] = number;
  // Three quarters full: probes stay short and memory small.
  if (entries_.size() * 4 > table_.size() * 3) Grow();
  return number;
}

void StringIds::Grow() {
  const size_t size = table_.size() * 2;
  // The old table goes first: it can be made again from the entries.
  table_ = std::vector<uint32_t>();
  table_.assign(size, kNone);
  for (uint64_t i = 0; i < entries_.size(); ++i) {
    size_t place = HashOf(text(i)) & (size - 1);
    while (table_[place] != kNone) place = (place + 1) & (size - 1);
    table_[place] = static_cast<uint32_t>(i);
  }
}

const char* StringIds::Store(std::string_view text) {
  const auto length = static_cast<uint32_t>(text.size());
  const size_t need = sizeof(length) + text.size();
  if (need > free_bytes_) {
    free_bytes_ = need > kBlockBytes ? need : kBlockBytes;
    blocks_.push_back(std::make_unique<char[]>(free_bytes_));
    free_ = blocks_.back().get();
  }
  char* entry = free_;
  std::memcpy(entry, &length, sizeof(length));
  std::memcpy(entry + sizeof(length), text.data(), text.size());
  free_ += need;
  free_bytes_ -= need;
  return entry;
}

}  // namespace fgnn
