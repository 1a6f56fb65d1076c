// A dataset folder for tests: vertices in a ring, two classes.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_RING_DATASET_H_
#define FGNN_TESTS_UNIT_SCHEDULER_RING_DATASET_H_

#include <cstdint>
#include <filesystem>

namespace fgnn {

struct RingOptions {
  int64_t num_nodes = 40;
  int64_t num_train = 20;   // The first ones; then 4 to validate, 4 to test.
  int64_t first_label = 0;  // Of vertex 0; the other one is the next's.
  bool nan_feature = false;
  bool with_valid = true;
  bool with_edge_splits = false;  // An edge to validate, another to test.
};

// Throws std::runtime_error where the folder cannot be written.
void WriteRing(const std::filesystem::path& folder, const RingOptions& options);

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_RING_DATASET_H_
