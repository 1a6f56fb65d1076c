// Class labels that are given as text.
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
  // Adds the label of the next vertex. An empty text: it has none.
  void Add(std::string_view text);
  void AddNone() { labels_.push_back(-1); }

  // Returns true if all labels are finite numbers, and one is no whole number.
  bool HoldNumbers() const;
  // Returns the numbers, NaN for none, and leaves the object empty. They must
  // be numbers.
  std::vector<float> TakeNumbers();

  struct Result {
    std::vector<int64_t> labels;  // [vertices added], -1: none.
    // Names by class. Empty if all labels were integers: these are then the
    // classes.
    std::vector<std::string> class_names;
  };
  // Returns the labels, and leaves the object empty. Names are numbered in
  // alphabetical order. integers_count: labels that are all integers are taken
  // as they are.
  Result Take(bool integers_count);

 private:
  StringIds texts_;
  std::vector<int64_t> labels_;  // Indices in texts_, or -1.
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_BUILDING_CLASS_LABELS_H_
