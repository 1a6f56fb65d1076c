// The common part of the generators: streams of random words, ids in a random
// order, features around centroids. Private to generate*.cc.
#ifndef FGNN_TOOLS_DATASET_GENERATING_GENERATE_PARTS_H_
#define FGNN_TOOLS_DATASET_GENERATING_GENERATE_PARTS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/philox.h"
#include "shared/base/types.h"
#include "tools/dataset/building/csc_builder.h"
#include "tools/dataset/building/dataset_writer.h"
#include "tools/dataset/generating/generate.h"

namespace fgnn {

// Streams of random words. Two choices of one dataset never share a stream.
enum class Stream : uint32_t {
  kEdges = 1,
  kWeights = 2,
  kVertexOrder = 3,
  kLabels = 4,
  kCentroids = 5,
  kNoise = 6,
};

inline PhiloxKey KeyOf(uint64_t seed, Stream stream) {
  return MakePhiloxKey(seed, 0, 0, static_cast<uint32_t>(stream),
                       Purpose::kGenerateDataset);
}

inline PhiloxBlock DrawAt(PhiloxKey key, uint64_t number, uint32_t block = 0) {
  return Philox4x32({static_cast<uint32_t>(number),
                     static_cast<uint32_t>(number >> 32), block, 0},
                    key);
}

inline uint64_t Word64(const PhiloxBlock& block, int half) {
  return uint64_t{block.words[2 * half]} << 32 | block.words[2 * half + 1];
}

struct DrawnEdge {
  GlobalId source;
  GlobalId destination;
  float weight;
};

// Appends the edges of these numbers, in their order. Any thread.
using EdgeDraw = std::function<void(uint64_t begin, uint64_t end,
                                    std::vector<DrawnEdge>& edges)>;

// Returns InvalidArgument, naming the flag.
absl::Status OutOfRange(std::string_view flag, const std::string& value,
                        std::string_view range);
absl::Status CheckOptions(const GenerateOptions& options);

// Returns a permutation of the global ids, [num_nodes].
std::vector<GlobalId> RandomVertexOrder(uint64_t num_nodes,
                                        const GenerateOptions& options);

// Reports the stage, if there is a progress callback.
void Report(const GenerateOptions& options, std::string_view stage,
            uint64_t done, uint64_t total);

// Draws the edges of numbers below num_edges on the threads of `common`, and
// writes the topology's arrays. Frees `draw` before it sorts the edges.
absl::StatusOr<CscTotals> WriteTopology(const DatasetWriter& writer,
                                        const CscBuilderOptions& options,
                                        uint64_t num_nodes, uint64_t num_edges,
                                        const GenerateOptions& common,
                                        EdgeDraw draw);

// Writes features.npy. Each vertex has the centroid of its label (zero without
// labels) and noise, scaled to a variance of about one.
absl::Status WriteFeatures(const DatasetWriter& writer,
                           absl::Span<const int64_t> labels, uint64_t num_nodes,
                           const GenerateOptions& options);

// Writes everything after the topology (labels, splits, features, metadata) and
// commits.
absl::StatusOr<GenerateSummary> FinishDataset(DatasetWriter& writer,
                                              const CscTotals& totals,
                                              absl::Span<const int64_t> labels,
                                              const DatasetMetadata& shape,
                                              const GenerateOptions& options);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_GENERATING_GENERATE_PARTS_H_
