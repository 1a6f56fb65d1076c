#include "tools/dataset/building/text_sets.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tools/dataset/reading/number_text.h"

namespace fgnn {

void TextSets::Add(std::string_view text) {
  is_known_.push_back(true);
  while (!text.empty()) {
    const size_t end = std::min(text.find(kSeparator), text.size());
    const std::string_view name = TrimBlanks(text.substr(0, end));
    if (!name.empty()) classes_.push_back(names_.Intern(name));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  ends_.push_back(classes_.size());
}

void TextSets::AddUnknown() {
  is_known_.push_back(false);
  ends_.push_back(classes_.size());
}

std::vector<uint32_t> TextSets::Order() const {
  std::vector<uint32_t> order(names_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
    return names_.text(a) < names_.text(b);
  });
  return order;
}

std::vector<std::string> TextSets::SortedNames() const {
  std::vector<std::string> names;
  for (const uint32_t number : Order()) names.emplace_back(names_.text(number));
  return names;
}

std::vector<uint32_t> TextSets::Columns() const {
  std::vector<uint32_t> columns(names_.size());
  uint32_t column = 0;
  for (const uint32_t number : Order()) columns[number] = column++;
  return columns;
}

void TextSets::Read(uint64_t v, absl::Span<const uint32_t> columns,
                    absl::Span<float> row) const {
  if (!is_known_[v]) {
    std::fill(row.begin(), row.end(), std::numeric_limits<float>::quiet_NaN());
    return;
  }
  std::fill(row.begin(), row.end(), 0.0F);
  for (uint64_t i = v == 0 ? 0 : ends_[v - 1]; i < ends_[v]; ++i) {
    row[columns[classes_[i]]] = 1.0F;
  }
}

}  // namespace fgnn
