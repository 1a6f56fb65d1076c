// A dataset folder for tests: vertices in a ring, two classes.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_RING_DATASET_H_
#define FGNN_TESTS_UNIT_SCHEDULER_RING_DATASET_H_

#include <cstdint>
#include <filesystem>

namespace fgnn {

// What the vertices have: one of two classes, two numbers, or sets of three
// classes.
enum class RingLabels : uint8_t { kClasses, kNumbers, kSets };

struct RingOptions {
  int64_t num_nodes = 40;
  // Number of training vertices, which are the first ones. Then follow 4 to
  // validate and 4 to test.
  int64_t num_train = 20;
  int64_t first_label = 0;  // Label of vertex 0; vertex 1 has the other one.
  RingLabels labels = RingLabels::kClasses;
  bool nan_feature = false;
  bool with_valid = true;
  bool with_edge_splits = false;  // One edge to validate, another to test.
};

// Throws std::runtime_error if the folder cannot be written.
void WriteRing(const std::filesystem::path& folder, const RingOptions& options);

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_RING_DATASET_H_
