// Makes tasks out of a graph: what a sampler daemon's thread does for a batch.
//
//   claim(seq) -> seeds[B] -> sampled blocks (global ids)
//              -> id map: input_nodes[U] + local blocks -> task in a slot
//
// A batch is a pure function of (graph, train ids, options, seq), so the number
// of samplers and threads and the kind of device change nothing.
//
// The law of k-hop uniform sampling (FGNN, section 5.1):
//   Vertices. The destinations of hop h are all vertices of the batch so far,
//     in the order of their local ids: the seeds for hop 0, all sources of hop
//     h - 1 for hop h (as in DGL and PyG), each drawn again in each hop.
//   Edges. A destination v of in-degree d and a fanout f (-1: d) gives
//     min(f, d) distinct places of its adjacency list, every such set being as
//     likely as every other. Multi-edges and self-loops are edges like others.
//     d <= f: all places, ascending. Else Floyd's algorithm, in this order:
//       for j = 0 .. f-1:
//         t = UniformBelow(draw(j), d - f + j + 1)
//         place(j) = t if t is not among place(0 .. j-1), else d - f + j
//   Draws. draw(j) is 64 bits of Philox block {v, j div 2, 0, 0} under the key
//     MakePhiloxKey(seed, epoch, batch, hop, kNeighbors): words 0 (low) and 1
//     of the block for even j, words 2 (low) and 3 for odd j. v is the global
//     id, `batch` the place in the epoch.
//   Local ids. Seeds first, then new vertices in order of first appearance:
//     hop by hop, destination by destination, place by place.
//   Seeds. Batch b of epoch e holds the train ids at the places
//     permutation(b * B) … of KeyedPermutation(|train|,
//     MakePhiloxKey(seed, e, 0, 0, kSeedPermutation)); the epoch's last batch
//     has the rest.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_SAMPLER_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_SAMPLER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "shared/minibatch/task.h"

namespace fgnn {

struct SamplerOptions {
  // Per hop, first hop first: edges per destination in [1, 65535], -1: all.
  std::vector<int32_t> fanouts;  // [1 .. kMaxHops]
  uint32_t batch_size = 1024;    // Seeds of a batch, >= 1.
  uint64_t seed = 1;             // Of the job.
  uint64_t job_key = 0;          // Written into every task.
};

inline constexpr int32_t kMaxFanout = 65535;

// What the samplers of a job share. Borrowed: outlives them.
struct SamplerInput {
  CscView graph;
  absl::Span<const int64_t> train;  // Distinct global ids, at least one.
};

// InvalidArgument naming the field: options out of range, an empty train set
// or graph, an indptr that does not end at the number of indices.
absl::Status Validate(const SamplerInput& input, const SamplerOptions& options);

// ceil(num_train / batch_size).
uint64_t BatchesPerEpoch(uint64_t num_train, uint32_t batch_size);

// The hard bound of a task's bytes, from the largest in-degree. Reads indptr.
uint64_t MaxTaskBytesOf(const CscView& graph, const SamplerOptions& options);

struct SampledTask {
  uint32_t digest = 0;
  uint64_t bytes = 0;  // Of the block that the task takes.
  uint32_t num_seeds = 0;
  uint32_t num_input_nodes = 0;
  uint64_t num_edges = 0;
  SampleSeconds seconds;
};

// Thread-compatible: one per thread, each with a workspace of its own.
class Sampler {
 public:
  virtual ~Sampler() = default;

  // Writes batch `seq` as a complete task into `block`, 64-byte aligned. Does
  // not allocate, errors aside.
  // ResourceExhausted  the block is too small: again in a larger one.
  // InvalidArgument    the dataset is not what its validation saw: a train id
  //                    twice or out of range, an indptr that falls, an index
  //                    out of range.
  virtual absl::StatusOr<SampledTask> Sample(BatchSeq seq,
                                             absl::Span<std::byte> block) = 0;

  // Memory that this sampler reserves; what it never touches costs nothing.
  virtual uint64_t workspace_bytes() const = 0;

  // Rises every some milliseconds while Sample() works. Any thread.
  virtual uint64_t progress() const = 0;
};

// A back end: NewCpuKhopSampler, for one. The graph and the train ids outlive
// the sampler.
using SamplerFactory = std::function<absl::StatusOr<std::unique_ptr<Sampler>>(
    const SamplerInput& input, const SamplerOptions& options)>;

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_SAMPLER_H_
