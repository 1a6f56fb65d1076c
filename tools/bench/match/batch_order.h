// Orders of a job's batches in which neighbours share many rows of features.
// Rows are numbers of vertices. What a batch shares with its trainer's batch
// before need not be loaded again.
#ifndef FGNN_TOOLS_BENCH_MATCH_BATCH_ORDER_H_
#define FGNN_TOOLS_BENCH_MATCH_BATCH_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "sampler_service/order/matched_order.h"
#include "sampler_service/order/window_overlap.h"
#include "shared/base/types.h"

namespace fgnn {

// Rows of a batch, each of them once.
using BatchRows = std::vector<GlobalId>;
// Batches that follow each other. Borrowed.
using BatchSequence = std::vector<const BatchRows*>;

// Most batches of a window for which MostMatched() finds the best order.
inline constexpr uint32_t kMostBestWindow = 12;

// Returns the windows of a job's batches 0 .. num_batches - 1. The last one
// ends with them.
std::vector<BatchRange> WindowsOf(uint64_t num_batches,
                                  const MatchedOrderOptions& options);

// Counts what a window's batches share.
OverlapMatrix OverlapOf(absl::Span<const BatchRows> batches,
                        WindowOverlap* counter);

// Returns the numbers of the batches in the order of a job with
// `sampling.order: matched`. `batches` are the job's first, as drawn, with all
// of their input nodes.
std::vector<size_t> MatchedBatches(absl::Span<const BatchRows> batches,
                                   const MatchedOrderOptions& options,
                                   WindowOverlap* counter);

// Deals batches in this order to `options.chains` trainers, as a job does with
// as many batches in a step: by their places in the step. Returns the numbers
// of each trainer's batches.
std::vector<std::vector<size_t>> DealToTrainers(
    absl::Span<const size_t> order, const MatchedOrderOptions& options);

// Returns the most rows that batches share with the one before, in sum, of all
// orders within windows, by dynamic programming. Windows have at most
// kMostBestWindow batches, and there is one chain.
uint64_t MostMatched(absl::Span<const BatchRows> batches,
                     const MatchedOrderOptions& options,
                     WindowOverlap* counter);

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_MATCH_BATCH_ORDER_H_
