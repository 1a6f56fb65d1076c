// Counts of batches that are split into parts (GSplit), beside micro-batches of
// the same seeds. Exact, and the same on every machine.
#ifndef FGNN_TOOLS_BENCH_SPLIT_SPLIT_COUNTS_H_
#define FGNN_TOOLS_BENCH_SPLIT_SPLIT_COUNTS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "shared/minibatch/task.h"

namespace fgnn {

// Rows and edges of one hop, in sum over batches.
struct HopCounts {
  uint64_t destinations = 0;  // Rows that a layer computes.
  uint64_t edges = 0;
  uint64_t sources = 0;
};

// The same of all parts.
struct SplitHopCounts {
  HopCounts own;             // Sources that the parts own: each of them once.
  uint64_t local_edges = 0;  // Edges whose source the part owns too.
  // Sources of other parts, once for each part that needs them: rows that are
  // sent.
  uint64_t remote = 0;
};

// Rows of features that P trainers load for batches from behind caches of fixed
// contents, each of a share c of the vertices.
struct LoadedRows {
  uint64_t alone = 0;   // Micro-batches; every trainer caches the same rows.
  uint64_t shared = 0;  // Micro-batches; the trainers share P c rows.
  uint64_t split = 0;   // Parts that load own rows alone; P c rows.

  bool operator==(const LoadedRows&) const = default;
};

struct SplitCounts {
  uint64_t batches = 0;
  uint64_t seeds = 0;
  std::vector<HopCounts> whole;       // [hops], seed side first.
  std::vector<HopCounts> micro;       // The same of the micro-batches.
  std::vector<SplitHopCounts> parts;  // The same of the parts.
  // (most - least) / mean over a batch's parts, in the mean over batches: of
  // edges (GSplit's edge skew), and of rows that layers compute.
  double edge_skew = 0;
  double row_skew = 0;
  std::vector<LoadedRows> loaded;  // By the shares of the caches.

  // Returns the share of the edges that are within a part.
  double LocalEdges() const;
  // Return by what share micro-batches have more edges, compute more rows, and
  // load more rows, than the whole batches.
  double EdgeRedundancy() const;
  double ComputeRedundancy() const;
  double LoadRedundancy() const;
  // Returns by what share the parts load more rows if none are sent
  // (training.share_inputs off).
  double UnsharedLoads() const;
};

// Counts batch by batch: the whole batch, then its parts in their order, then
// its micro-batches. Not thread-safe.
class SplitCounter {
 public:
  // ranks [num_nodes]: hot ranks of the vertices; borrowed. caches: shares of
  // the vertices that each trainer caches. num_parts is at least 1.
  SplitCounter(uint32_t num_parts, absl::Span<const uint32_t> ranks,
               std::vector<double> caches);

  void AddWhole(const TaskView& whole);
  void AddPart(const TaskView& part);
  void AddMicro(const TaskView& micro);

  SplitCounts Counts() const;

 private:
  // Returns how many of the rows are not among the cached ones, which are those
  // of `trainers` caches.
  uint64_t MissesOf(absl::Span<const uint32_t> rows, double cache,
                    uint32_t trainers) const;

  const uint32_t num_parts_;
  const absl::Span<const uint32_t> ranks_;
  const std::vector<double> caches_;
  SplitCounts sums_;  // Skews are sums.
  // Work of the parts of the batch so far.
  std::vector<uint64_t> edges_of_parts_;
  std::vector<uint64_t> rows_of_parts_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_SPLIT_SPLIT_COUNTS_H_
