// All that daemons and commands do with a dataset's arrays.
#ifndef FGNN_TESTS_FUZZ_CHANGING_DATASET_USERS_H_
#define FGNN_TESTS_FUZZ_CHANGING_DATASET_USERS_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "tests/fuzz/changing/changing_dataset.h"

namespace fgnn {

// How often each way of use ended without an error, and with one.
struct UseCounts {
  uint64_t well = 0;
  uint64_t refused = 0;
  std::string last_refusal = {};
};
using UsesByName = std::map<std::string, UseCounts>;

// Uses the dataset as jobs with the labels do that it has. `number` chooses
// models, algorithms and policies. Any error is an answer; what is read outside
// of an array is for the sanitizer to find.
void UseDataset(const std::filesystem::path& folder, VertexLabels labels,
                uint64_t number, UsesByName* uses);

}  // namespace fgnn

#endif  // FGNN_TESTS_FUZZ_CHANGING_DATASET_USERS_H_
