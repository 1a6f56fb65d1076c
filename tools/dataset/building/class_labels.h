// Classes that are given as text.
#ifndef FGNN_TOOLS_DATASET_BUILDING_CLASS_LABELS_H_
#define FGNN_TOOLS_DATASET_BUILDING_CLASS_LABELS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/dataset/building/string_ids.h"

namespace fgnn {

// Collects a label per vertex. Not thread-safe.
class ClassLabels {
 public:
  // Of the next vertex; empty or "nan": it has none.
  void Add(std::string_view text);

  struct Result {
    std::vector<int64_t> labels;  // [vertices added], -1: none.
    // By class; empty if all labels were integers, which then are the classes.
    std::vector<std::string> class_names;
  };
  // Classes by name are numbered in alphabetical order. Leaves the object
  // empty. integers_count: labels that are all integers are taken as they are.
  Result Take(bool integers_count);

 private:
  StringIds texts_;
  std::vector<int64_t> labels_;  // Numbers of texts_, or -1.
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_CLASS_LABELS_H_
