// Made-up features for measurements.
#ifndef FGNN_TOOLS_BENCH_FILES_GENERATED_FEATURES_H_
#define FGNN_TOOLS_BENCH_FILES_GENERATED_FEATURES_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "shared/device/memory.h"
#include "shared/graph/dataset.h"

namespace fgnn {

struct GeneratedFeatures {
  TableMemory<std::byte> memory;
  FeatureView view;  // View of the memory.
};

// Fills memory with random bits, in pages of the size that a mapped file has.
// rows * columns must be below 2^60. ResourceExhausted: no memory for them.
absl::StatusOr<GeneratedFeatures> GenerateFeatures(FeatureType type,
                                                   uint64_t rows,
                                                   uint64_t columns,
                                                   uint64_t seed);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_FILES_GENERATED_FEATURES_H_
