// A task: one sampled mini-batch as a contiguous block of memory that every
// process can map at an address of its own. It has offsets, no pointers. Arrays
// are 64-byte aligned; integers are little endian, of fixed width.
//
//   TaskHeader
//   pairs[n][2] u32 (optional)
//   hop 0: indptr[D0+1] u32 | indices[E0] u32 | weights f32?
//   hop 1: …                                      (hop 0 is next to the seeds)
//   input_nodes[U] u32 | hot_rank[U] u32 (optional)
//   the split section (only of a part)
//
// The vertices of a batch have one numbering, the local ids: seeds first, then
// new vertices in order of first appearance. The destinations of hop h are the
// local ids [0, D_h); D_0 is the number of seeds. Its sources are [0, S_h) with
// S_h = D_{h+1}. The sources of the last hop are input_nodes, whose first
// num_seeds entries are the seeds.
//
// Link prediction trains on the pairs (source, destination), which are local
// ids of seeds. The first num_positives pairs are edges. The others are
// negatives, the same number for each edge.
//
// Split parallelism (GSplit) makes P parts of a batch. Each vertex has one
// owner, and each part is a task of its own. Level k are the sources of hop
// k - 1 of the whole batch, and level 0 are its seeds. own_p(k) are the
// vertices of level k that part p owns, in the order of their local ids in the
// whole batch. So own_p(k) is a prefix of own_p(k + 1).
//   Hop h of part p has the destinations own_p(h), with all of their edges in
//   the order of the whole batch. Its sources are own_p(h + 1), then
//   remote_p(h + 1): the sources of these edges that p does not own. Remote
//   vertices are grouped by owner, ascending; each group is in the order of the
//   whole batch.
//   Input nodes, hot ranks and weights follow their vertices and edges.
//   The split section tells who sends which rows of each level to whom:
//     level 1:  counts[P][P] u32 | send[] u32 | remote_nodes[] u32
//     level 2:  …         (the last level has no remote_nodes: they are the
//     level L:  …                              last of the input nodes)
//     canonical[own_p(L)] u32
#ifndef FGNN_SHARED_MINIBATCH_TASK_H_
#define FGNN_SHARED_MINIBATCH_TASK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"

namespace fgnn {

inline constexpr uint32_t kTaskLayoutVersion = 6;
inline constexpr uint32_t kTaskMagic = 0x4b53'5446;  // "FTSK"
inline constexpr int kMaxHops = 8;
// The most parts of a batch.
inline constexpr uint32_t kMostParts = 16;

// Seconds of a sampler's stages for one batch.
struct SampleSeconds {
  float order = 0;  // Time until the batch's place in the order was known.
  float sample = 0;
  float id_map = 0;
  float mark = 0;
  float copy = 0;   // Checksums and the other work of publishing.
  float split = 0;  // Making parts of the batch, those of the batch before.
};

// Sizes and places (in bytes from the block's start; 0 = absent) of one hop.
struct TaskHop {
  uint32_t num_destinations;
  uint32_t num_sources;
  uint64_t num_edges;
  uint64_t indptr_offset;
  uint64_t indices_offset;
  uint64_t weights_offset;
  // Number of the first sources, which this part owns; a whole batch owns all.
  uint32_t num_own_sources;
  // Number of rows of sources that this part sends to others.
  uint32_t num_sent;
};

struct alignas(64) TaskHeader {
  uint32_t magic;
  uint32_t layout_version;
  uint64_t job_key;  // Hash of the job's id; checked by the reader.
  uint64_t seq;      // Number of the batch in its job.
  uint32_t part;     // Number of the part of its batch, below num_parts.
  uint32_t num_hops;
  uint32_t num_seeds;
  uint32_t num_input_nodes;
  // Version of the hot ranks in the task; 0: there are none.
  uint32_t rank_order_version;
  // CRC32C of pairs; indptr, indices, weights per hop; input nodes.
  uint32_t digest;
  uint32_t ranks_crc;    // CRC32C of hot ranks.
  uint32_t header_crc;   // CRC32C of the header with this field zero.
  uint64_t total_bytes;  // Bytes of the whole task, this header included.
  uint64_t input_nodes_offset;
  uint64_t hot_rank_offset;
  uint64_t pairs_offset;
  uint32_t num_pairs;
  uint32_t num_positives;
  SampleSeconds seconds;
  uint32_t num_parts;    // Number of parts P of the batch; 1: it is whole.
  uint32_t batch_seeds;  // Number of seeds of the whole batch.
  uint64_t finished_ns;  // MonotonicNanoseconds() when the writer had finished.
  uint64_t split_offset;
  uint32_t batch_digest;  // Digest of the whole batch.
  uint32_t split_crc;     // CRC32C of the arrays of the split section.
  uint32_t reserved[10];  // Always 0.
  TaskHop hops[kMaxHops];
};
static_assert(std::is_trivially_copyable_v<TaskHeader>);
static_assert(sizeof(TaskHeader) % 64 == 0);

// One hop for the reader. Borrowed from the block.
struct BlockView {
  uint32_t num_destinations = 0;
  uint32_t num_sources = 0;
  // Number of the last sources, which other parts of the batch own.
  uint32_t num_remote_sources = 0;
  absl::Span<const uint32_t> indptr;   // [num_destinations + 1], from 0.
  absl::Span<const uint32_t> indices;  // [num_edges], local ids < num_sources.
  absl::Span<const float> weights;     // [num_edges] or empty.

  uint32_t num_own_sources() const { return num_sources - num_remote_sources; }
};

// The rows that the parts of a batch exchange. Borrowed from the block.
struct TaskSplit {
  // The sources of one hop.
  struct Level {
    // [P, P]: the number of rows that the part of the row sends to the part of
    // the column. All parts of a batch have the same.
    absl::Span<const uint32_t> counts;
    // Numbers of the own sources whose rows this part sends, by receiver. Each
    // receiver's are ascending, as its remote sources of this owner are.
    absl::Span<const uint32_t> send;
    // Global ids of the remote sources.
    absl::Span<const uint32_t> remote_nodes;
  };
  std::array<Level, kMaxHops> levels;  // [num_hops]: sources of each hop.
  // Local ids in the whole batch of the last hop's own sources, ascending.
  absl::Span<const uint32_t> canonical;
};

// A task for the reader. Borrowed from the block.
struct TaskView {
  BatchSeq seq;
  uint32_t part = 0;
  uint32_t num_parts = 1;  // 1: the batch is whole.
  uint32_t num_seeds = 0;
  uint32_t batch_seeds = 0;  // As in TaskHeader.
  uint32_t digest = 0;
  uint32_t batch_digest = 0;  // As in TaskHeader.
  uint32_t rank_order_version = 0;
  SampleSeconds seconds;
  uint64_t finished_ns = 0;    // As in TaskHeader.
  uint32_t num_positives = 0;  // Number of positive pairs; 0 without pairs.
  absl::Span<const uint32_t> pairs;  // [num_pairs, 2], local ids of seeds.
  int num_hops = 0;
  std::array<BlockView, kMaxHops> hops;    // [num_hops], seed side first.
  absl::Span<const uint32_t> input_nodes;  // Global ids; seeds first.
  absl::Span<const uint32_t> hot_rank;     // [num_input_nodes] or empty.
  TaskSplit split;                         // Empty for a whole batch.
  // Whether other parts send the features of the remote input nodes. The
  // trainer of a part sets it; no task has it.
  bool shares_inputs = false;

  absl::Span<const uint32_t> seeds() const {
    return input_nodes.subspan(0, num_seeds);
  }
  // Returns the number of the first input nodes, whose features are loaded.
  size_t num_loaded_nodes() const {
    return shares_inputs
               ? hops[static_cast<size_t>(num_hops) - 1].num_own_sources()
               : input_nodes.size();
  }
  uint32_t num_pairs() const { return static_cast<uint32_t>(pairs.size() / 2); }
  // Returns the number of examples that the loss is the mean over: pairs, or
  // seeds if there are no pairs.
  uint32_t num_examples() const {
    return pairs.empty() ? num_seeds : num_pairs();
  }
  // Returns the number of examples of all parts of the batch.
  uint32_t batch_examples() const {
    return num_parts > 1 ? batch_seeds : num_examples();
  }
  uint64_t num_edges() const;
};

// Checksums of a task's arrays (TaskHeader).
struct TaskCrcs {
  uint32_t digest = 0;
  uint32_t ranks = 0;  // 0 where there are no ranks.
  uint32_t split = 0;  // 0 for a whole batch.
};

// Checks a block that another process wrote: magic, version, job, every offset
// and size within the block, all checksums, pairs below num_seeds, indptr
// monotone, indices below num_sources. Of a part also: rows of the split
// section are own sources, ascending, as many as the counts say. The header is
// copied first. A process that writes meanwhile therefore cannot make this one
// read outside the block.
// DataLoss, with the reason: a check failed.
absl::StatusOr<TaskView> ReadTask(absl::Span<const std::byte> block,
                                  uint64_t job_key);

// Returns the task that this process has just written into the block. Nothing
// is checked.
TaskView ViewOfTask(absl::Span<const std::byte> block);

// DataLoss if an input node or a remote source is not below num_nodes.
// ReadTask() does not know the dataset: call this before features are gathered
// by global id.
absl::Status CheckInputNodes(const TaskView& task, uint64_t num_nodes);

// The place of a part in its batch.
struct TaskPart {
  uint32_t part = 0;
  uint32_t num_parts = 1;     // Number of parts P, in [2, kMostParts].
  uint32_t batch_seeds = 0;   // As in TaskHeader.
  uint32_t batch_digest = 0;  // As in TaskHeader.
};

// Writes a task into a block, array by array as the sampler makes them.
//
//   TaskWriter writer(block, job_key, seq, num_seeds);
//   FGNN_ASSIGN_OR_RETURN(HopArrays hop, writer.AddHop(D, E));   // per hop
//   … fill hop.indptr, hop.indices; then writer.SetNumSources(S);
//   FGNN_ASSIGN_OR_RETURN(auto nodes, writer.AddInputNodes(U));
//   … fill nodes; const uint32_t digest = writer.Finish(seconds);
//
// ResourceExhausted ("task needs more than …") where the block is too small:
// the caller starts again in a larger one. FailedPrecondition out of this
// order, or for a hop of 2^32 edges. The block is 64-byte aligned. Not
// thread-safe. A part calls SetPart() first, SetNumSources() with its remote
// sources, and AddSplit() before Finish().
class TaskWriter {
 public:
  struct HopArrays {
    uint32_t* indptr;   // [num_destinations + 1], to be filled.
    uint32_t* indices;  // [num_edges], to be filled.
    float* weights;     // [num_edges] if asked for, else null.
  };
  // Arrays of the split section, to be filled; see TaskSplit.
  struct SplitArrays {
    struct Level {
      uint32_t* counts;        // [P, P]
      uint32_t* send;          // [num_sent]
      uint32_t* remote_nodes;  // [num_remote_sources]; null: the last level.
    };
    std::array<Level, kMaxHops> levels;
    uint32_t* canonical;  // [own sources of the last hop]
  };

  TaskWriter(absl::Span<std::byte> block, uint64_t job_key, BatchSeq seq,
             uint32_t num_seeds);

  // Makes the task a part of a batch, before the first hop.
  absl::Status SetPart(const TaskPart& part);
  // Makes room for pairs [num_pairs, 2], before the first hop. num_positives is
  // at least 1 and divides num_pairs. A part has no pairs.
  absl::StatusOr<uint32_t*> AddPairs(uint32_t num_pairs,
                                     uint32_t num_positives);
  // Makes room for the next hop; num_edges < 2^32.
  absl::StatusOr<HopArrays> AddHop(uint32_t num_destinations,
                                   uint64_t num_edges,
                                   bool with_weights = false);
  // Reduces the hop added last to num_edges edges, and gives back the room of
  // the others. Returns the new place of its weights; null without weights.
  float* TrimHop(uint64_t num_edges);
  // Sets the number of sources of the hop added last. The last num_remote of
  // them belong to other parts.
  void SetNumSources(uint32_t num_sources, uint32_t num_remote = 0);
  // Makes room for the global ids of the last hop's sources.
  absl::StatusOr<uint32_t*> AddInputNodes(uint32_t num_input_nodes);
  // Makes room for the sources' hot ranks, which belong to order `version` (not
  // 0). Optional.
  absl::StatusOr<uint32_t*> AddHotRanks(uint32_t version);
  // Makes room for the split section, behind all else. num_sent: the number of
  // rows of each hop's sources that this part sends.
  absl::StatusOr<SplitArrays> AddSplit(absl::Span<const uint32_t> num_sent);
  // Computes the checksums and writes the header. Returns the task's digest.
  uint32_t Finish(const SampleSeconds& seconds);
  // The same with checksums that were computed where the arrays were made. The
  // block's arrays are not read: ReadTask() refuses others.
  uint32_t Finish(const SampleSeconds& seconds, const TaskCrcs& crcs);

  // Returns the bytes taken so far, header included.
  uint64_t total_bytes() const { return header_.total_bytes; }

 private:
  // Returns the offset of the reserved bytes.
  absl::StatusOr<uint64_t> Reserve(uint64_t bytes);

  absl::Span<std::byte> block_;
  TaskHeader header_ = {};
};

// Returns the bytes of a task of these sizes, without pairs, in the layout of
// TaskWriter. `destinations` and `edges` are per hop.
uint64_t TaskBytes(absl::Span<const uint64_t> destinations,
                   absl::Span<const uint64_t> edges, uint64_t num_input_nodes,
                   bool with_weights, bool with_ranks);

// The sizes of one level of a part's split section.
struct SplitLevel {
  uint64_t num_own = 0;
  uint64_t num_remote = 0;
  uint64_t num_sent = 0;
};
// Returns the bytes of a part whose other arrays end at task_bytes, which is
// TaskBytes() of its own sizes. `levels` are per hop.
uint64_t PartBytes(uint64_t task_bytes, uint32_t num_parts,
                   absl::Span<const SplitLevel> levels);

// Returns the hard bound: bytes that no part exceeds of a batch of at most
// batch_bytes (without pairs) and num_input_nodes. The bound is the batch's
// bytes, 4 bytes an input node for the canonical ids, and the counts and
// padding of the split section. A part's other arrays have room in those that
// the batch has: a row that a part sends is the source of an edge that another
// part has, and a remote source is no destination of the next hop.
uint64_t MaxPartBytes(uint64_t batch_bytes, uint64_t num_input_nodes,
                      uint32_t num_parts, uint32_t num_hops);

// Returns the bytes that pairs add to a task.
uint64_t PairBytes(uint64_t num_pairs);

// Returns the hard bound: bytes that no batch of `batch_size` seeds exceeds,
// without pairs. The bound follows from the fanouts (first hop first; -1 is all
// neighbours), the graph's size and its largest in-degree.
uint64_t MaxTaskBytes(uint64_t batch_size, absl::Span<const int32_t> fanouts,
                      uint64_t num_nodes, uint64_t num_edges,
                      uint64_t max_degree, bool with_weights);

}  // namespace fgnn

#endif  // FGNN_SHARED_MINIBATCH_TASK_H_
