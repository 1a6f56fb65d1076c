// The common part of the benchmarks of features: batches of random rows, and
// contenders that take turns over them.
#ifndef FGNN_TOOLS_BENCH_ROW_ROUNDS_H_
#define FGNN_TOOLS_BENCH_ROW_ROUNDS_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/permutation.h"
#include "shared/base/philox.h"
#include "shared/base/types.h"
#include "tools/bench/extract_bench.h"

namespace fgnn {

struct RowBatch {
  std::vector<GlobalId> nodes;  // All nodes are different.
  std::vector<uint32_t> ranks;
  // Lists of local ids, for batches that are aggregated; see BlockView.
  std::vector<uint32_t> indptr;
  std::vector<uint32_t> indices;
};

// Draws batches, and gives vertices their hot ranks.
class RowDraw {
 public:
  // InvalidArgument, naming the flag: the store has too few rows.
  static absl::StatusOr<RowDraw> Create(const ExtractBenchOptions& options,
                                        uint64_t num_rows);

  // Returns the vertices of the first `count` ranks.
  std::vector<GlobalId> Hottest(uint64_t count) const;

  // Returns nodes and ranks; hits and misses are in any order.
  RowBatch Draw(uint64_t batch) const;

 private:
  RowDraw(const ExtractBenchOptions& options, uint64_t num_rows);

  PhiloxKey Key(uint64_t batch, uint32_t use) const {
    return MakePhiloxKey(seed_, 0, batch, use, Purpose::kGenerateDataset);
  }

  uint64_t seed_;
  uint64_t num_rows_;
  uint64_t batch_rows_;
  uint64_t hot_rows_;  // Number of rows that are drawn apart from the others.
  uint64_t hits_ = 0;
  KeyedPermutation node_of_rank_;
};

// One way to make a batch, timed over rounds.
struct Contender {
  std::function<absl::Status(const RowBatch& batch, float* out)> run;
  std::vector<float> out;
  double fastest = std::numeric_limits<double>::infinity();
  uint64_t reads = 0;  // Number of reads in the fastest round.

  // Runs a round. Its first half is not timed: it fills the caches as this
  // contender does, instead of the one before.
  absl::Status RunRound(absl::Span<const RowBatch> batches,
                        const ExtractBenchOptions& options);
};

// Runs rounds, each with other batches and another contender that begins.
// Internal: the contenders disagree on the last batch of a round.
absl::Status RunRounds(const ExtractBenchOptions& options,
                       absl::FunctionRef<RowBatch(uint64_t batch)> draw,
                       std::vector<Contender>& contenders);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_ROW_ROUNDS_H_
