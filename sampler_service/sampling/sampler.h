// Makes tasks out of a graph: the work of a sampler daemon's thread for a
// batch.
//
//   claim(seq) -> seeds[B] -> sampled blocks (global ids)
//              -> id map: input_nodes[U] + local blocks
//              -> marked with hot ranks -> task in a slot
//
// A batch is a pure function of (graph, train ids, options, number as drawn).
// The number of samplers and threads and the kind of device change nothing. The
// number in the job is another one only where order/matched_order.h makes it.
//
// The law that all algorithms share (FGNN, section 5.1). cpu/<algorithm>_hops.h
// has the law for the edges of a destination.
//   Vertices. The destinations of hop h are all vertices of the batch so far,
//     in the order of their local ids: the seeds for hop 0, all sources of hop
//     h - 1 for hop h. Each is drawn again in each hop (DGL's convention).
//     Without `resample` (PyG's) only the vertices that hop h - 1 added are
//     drawn; the others keep the edges that they had there.
//   Edges. Places of the destination's adjacency list; multi-edges and
//     self-loops are edges like others.
//   Draws. From the hop's key MakePhiloxKey(seed, epoch, batch div D, hop,
//     kNeighbors) and the vertex alone; `batch` is the place in the epoch, and
//     D is `batch_dependency`.
//   Windows. Batches [i * D, (i + 1) * D) of an epoch are a window, which ends
//     with the epoch at the latest. Batches of a window that draw for a vertex
//     in the same hop draw the same edges. Each of them has the law that it has
//     with D = 1. Draws of two windows, and of two hops, are independent. Seeds
//     and negatives are the batch's own.
//   Local ids. Seeds first, then new vertices in order of first appearance:
//     hop by hop, destination by destination, place by place.
//   Seeds. Batch b of epoch e holds the train ids at the places
//     permutation(b * B) … of KeyedPermutation(|train|,
//     MakePhiloxKey(seed, e, 0, 0, kSeedPermutation)); the epoch's last batch
//     has the rest. Without `shuffle` the permutation is the identity.
//   Seeds of a share's own (training.seeds own, shared/graph/book). If batch b
//     of epoch e is batch q of share s, and a pass of the share has m batches,
//     it holds the share's train ids at the places permutation((q mod m) * B) …
//     of KeyedPermutation(|train of s|, MakePhiloxKey(seed, e, q div m, s,
//     kSeedPermutation)); a pass's last batch has the rest.
//   Link prediction. Batch b holds the P training edges at those places of the
//     permutation of all of them, then K negatives of each. A negative has the
//     edge's source and a vertex drawn uniformly from all. Draw j of the i-th
//     edge is PhiloxHalves(MakePhiloxKey(seed, e, b, 0, kNegatives), i,
//     0).Get(j). The batch's seeds are the ends of these pairs in order of
//     first appearance. With `exclude_seed_edges` its hops leave out, once they
//     are drawn, every edge that joins the ends of one of the P, in either
//     direction.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_SAMPLER_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_SAMPLER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/input_node_sink.h"
#include "shared/base/philox.h"
#include "shared/base/types.h"
#include "shared/graph/dataset.h"
#include "shared/minibatch/batches_per_epoch.h"
#include "shared/minibatch/task.h"

namespace fgnn {

enum class SamplingAlgorithm : uint8_t {
  kUniform,     // uniform_hops.h
  kWeighted,    // weighted_hops.h
  kLabor,       // labor_hops.h
  kRandomWalk,  // walk_hops.h
  kPlugin,      // plugin_hops.h
};

// Returns the words of sampling.kind, in the order of SamplingAlgorithm.
std::vector<std::string> SamplingKinds();
std::string NameOf(SamplingAlgorithm algorithm);
// Returns the algorithm of this name. InvalidArgument, with the known names:
// there is none.
absl::StatusOr<SamplingAlgorithm> SamplingAlgorithmOf(std::string_view kind);

// Random walks of a destination (walk_hops.h).
struct WalkOptions {
  // Walks per destination, at least 1; num_walks * length is at most 4096.
  uint32_t num_walks = 4;
  uint32_t length = 3;  // Steps of each walk, at least 1.
  // Chance that a walk ends before a later step, in [0, 1).
  double restart = 0.5;
};

struct SamplerOptions {
  SamplingAlgorithm algorithm = SamplingAlgorithm::kUniform;
  // Edges per destination and hop, first hop first: in [1, 65535], or -1 for
  // all.
  std::vector<int32_t> fanouts;  // [1 .. kMaxHops]
  bool replace = false;  // kUniform, kWeighted: whether draws may repeat.
  // Whether edges are drawn again for a vertex in each hop.
  bool resample = true;
  WalkOptions walks = {};  // Options of kRandomWalk.
  // Seeds of a batch, or its training edges; at least 1.
  uint32_t batch_size = 1024;
  // Whether an epoch's seeds are shuffled, or are in the order of the train
  // ids.
  bool shuffle = true;
  // Batches of a window, D, which draw a vertex's neighbours by one key: in [1,
  // 65535]. 1: every batch draws for itself.
  uint32_t batch_dependency = 1;
  // Negatives of each edge, K, for link prediction; 0: the seeds are the train
  // vertices.
  uint32_t negatives = 0;
  // Whether hops leave out the batch's edges; link prediction only.
  bool exclude_seed_edges = true;
  uint64_t seed = 1;     // The job's seed.
  uint64_t job_key = 0;  // The job's key, written into every task.
};

inline constexpr int32_t kMaxFanout = 65535;
inline constexpr uint32_t kMaxBatchDependency = 65535;

// Returns the key of a hop's draws.
inline PhiloxKey KeyOfHop(const SamplerOptions& options, BatchPlace place,
                          uint32_t hop) {
  return MakePhiloxKey(options.seed, place.epoch,
                       place.batch / options.batch_dependency, hop,
                       Purpose::kNeighbors);
}

class AliasTables;   // sampling/alias_tables.h
class LoadedPlugin;  // plugin/loaded_plugin.h
class OwnSeeds;      // sampling/own_seeds.h

// The data that the samplers of a job share. Borrowed: it must outlive them.
struct SamplerInput {
  CscView graph;
  absl::Span<const int64_t> train;  // Distinct global ids, at least one.
  // Tables for kWeighted, else null.
  const AliasTables* weights = nullptr;
  // Plugin for kPlugin, else null.
  const LoadedPlugin* plugin = nullptr;
  absl::Span<const float> edge_weights = {};  // [num_edges] or empty.
  // Training edges of link prediction, at least one.
  EdgeView train_edges = {};
  // Train vertices of each share; null: every batch draws from all.
  const OwnSeeds* own_seeds = nullptr;
};

// Returns the number of examples of an epoch: train vertices, or training
// edges.
inline uint64_t NumExamples(const SamplerInput& input,
                            const SamplerOptions& options) {
  return options.negatives > 0 ? input.train_edges.size() : input.train.size();
}

// Returns the number of batches of an epoch.
uint64_t BatchesPerEpoch(const SamplerInput& input,
                         const SamplerOptions& options);

// Returns the number of seeds that no batch exceeds.
inline uint64_t MaxSeedsOf(const SamplerOptions& options) {
  return options.negatives > 0
             ? options.batch_size * (uint64_t{options.negatives} + 2)
             : options.batch_size;
}

// Hot ranks that input nodes are marked with: [num_nodes]; empty: nodes are not
// marked.
struct HotRanks {
  absl::Span<const uint32_t> ranks;
  // Version of the ranks; not 0 if there are any.
  uint32_t rank_order_version = 0;
};

// InvalidArgument: the ranks are not those of a graph of num_nodes vertices.
absl::Status CheckRanks(const HotRanks& ranks, uint64_t num_nodes);

// Returns true if tasks of this algorithm have a weight per edge.
inline bool HasWeights(const SamplerOptions& options) {
  return options.algorithm == SamplingAlgorithm::kRandomWalk ||
         options.algorithm == SamplingAlgorithm::kPlugin;
}

// InvalidArgument, naming the field: options are out of range, the train set or
// the graph is empty, or indptr does not end at the number of indices.
absl::Status Validate(const SamplerInput& input, const SamplerOptions& options);

// Returns a number of bytes that no task exceeds, from the largest in-degree.
// Reads indptr. With kLabor the degrees alone bound a task. A destination
// exceeds its part of the bound with odds below 1e-20; its batch would end the
// job.
uint64_t MaxTaskBytesOf(const CscView& graph, const SamplerOptions& options);

// Returns the bytes of the graph's arrays, and of the tables of weights.
uint64_t TopologyBytesOf(const SamplerInput& input);

// Returns a number of vertices that no batch exceeds after its first num_hops
// hops.
uint64_t MaxNodesAfter(size_t num_hops, const CscView& graph,
                       const SamplerOptions& options);

// Returns the input nodes of a task that was just sampled into this block.
// Nothing is checked.
absl::Span<const GlobalId> InputNodesOf(absl::Span<const std::byte> block);

// A batch as a sampler is to make it. Both numbers are of the job.
struct OrderedBatch {
  BatchSeq seq;             // Number that the task has.
  BatchSeq drawn;           // Number by which it is drawn.
  float order_seconds = 0;  // Time that it took to know `drawn`.
};

struct SampledTask {
  uint32_t digest = 0;
  uint64_t bytes = 0;  // Bytes of the block that the task takes.
  uint32_t num_seeds = 0;
  uint32_t num_input_nodes = 0;
  uint64_t num_edges = 0;
  SampleSeconds seconds;
};

// Thread-compatible: one per thread, each with a workspace of its own.
class Sampler {
 public:
  virtual ~Sampler() = default;

  // Writes the batch that is drawn as `drawn` as the complete task of batch
  // `seq` into `block`, 64-byte aligned. The task has `seq` and the time of
  // ordering in its header; seeds, keys and all else are those of `drawn`. Does
  // not allocate, errors aside.
  // ResourceExhausted  the block is too small: again in a larger one.
  // FailedPrecondition the batch is larger than a task, or a GPU, can hold.
  // InvalidArgument    the dataset is not what its validation saw: a train id
  //                    twice or out of range, an indptr that falls, an index
  //                    out of range.
  virtual absl::StatusOr<SampledTask> SampleAs(const OrderedBatch& batch,
                                               absl::Span<std::byte> block) = 0;

  // Writes batch `seq` in drawn order.
  absl::StatusOr<SampledTask> Sample(BatchSeq seq,
                                     absl::Span<std::byte> block) {
    return SampleAs({.seq = seq, .drawn = seq}, block);
  }

  // Gives the input nodes of the batch that is drawn as `drawn` to `sink`, and
  // makes only as much of the batch as that takes. `block` and errors are as in
  // Sample(). The sink sees nothing of a batch that fails.
  virtual absl::Status Tally(BatchSeq drawn, absl::Span<std::byte> block,
                             InputNodeSink* sink);

  // Marks batches with these ranks from now on. Borrowed. InvalidArgument: the
  // number of ranks is not the number of vertices, or there is no version.
  virtual absl::Status MarkBy(const HotRanks& ranks) = 0;

  // Keeps the places of edges from now on. Returns false if this sampler cannot
  // tell them.
  virtual bool KeepEdgePlaces() { return false; }
  // Returns, for each edge of the last hop of the batch that was made last, its
  // place among all edges of the dataset; nothing without KeepEdgePlaces().
  // Valid until the next batch.
  virtual absl::Span<const EdgeOffset> edge_places() const { return {}; }

  // Returns the bytes of memory that this sampler reserves. Pages that it never
  // touches cost nothing.
  virtual uint64_t workspace_bytes() const = 0;

  // Returns the bytes that this sampler has of a GPU's memory for its batches;
  // 0: it works on cores.
  virtual uint64_t device_bytes() const { return 0; }

  // Returns a number that rises every few milliseconds while Sample() works.
  // Any thread.
  virtual uint64_t progress() const = 0;
};

// Makes samplers of a back end, for example NewCpuSampler. The graph and the
// train ids outlive the sampler.
using SamplerFactory = std::function<absl::StatusOr<std::unique_ptr<Sampler>>(
    const SamplerInput& input, const SamplerOptions& options)>;

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_SAMPLER_H_
