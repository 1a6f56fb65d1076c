// Sets of classes that are given as text: names between semicolons.
#ifndef FGNN_TOOLS_DATASET_BUILDING_TEXT_SETS_H_
#define FGNN_TOOLS_DATASET_BUILDING_TEXT_SETS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "tools/dataset/building/string_ids.h"

namespace fgnn {

// Collects a set per vertex. Not thread-safe.
class TextSets {
 public:
  static constexpr char kSeparator = ';';

  // Adds the set of the next vertex, as in "news;sports". A separator alone: it
  // has no class.
  void Add(std::string_view text);
  void AddUnknown();  // Adds a set that is not known.

  uint64_t num_vertices() const { return ends_.size(); }
  uint64_t num_classes() const { return names_.size(); }
  uint64_t num_entries() const { return classes_.size(); }
  // Returns the names in alphabetical order, which is that of a row's columns.
  std::vector<std::string> SortedNames() const;
  // Returns for each number that Add() gave the column in that order.
  std::vector<uint32_t> Columns() const;
  // Writes vertex `v` to `row` [num_classes]: 1 for its classes, else 0; all
  // NaN if its set is not known. `columns` are those of Columns().
  void Read(uint64_t v, absl::Span<const uint32_t> columns,
            absl::Span<float> row) const;

 private:
  std::vector<uint32_t> Order() const;

  StringIds names_;
  std::vector<uint32_t> classes_;  // Sets, one after the other.
  std::vector<uint64_t> ends_;     // End of each vertex's set in classes_.
  std::vector<bool> is_known_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_TEXT_SETS_H_
