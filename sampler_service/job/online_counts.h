// Counts of input nodes that samplers take while they sample batches for
// training. So no batch is sampled only for the counts (policy online).
#ifndef FGNN_SAMPLER_SERVICE_JOB_ONLINE_COUNTS_H_
#define FGNN_SAMPLER_SERVICE_JOB_ONLINE_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/job/job_sampling.h"
#include "sampler_service/presample/input_node_counts.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/types.h"
#include "shared/device/memory.h"

namespace fgnn {

// Counts over the batches that one thread has sampled. Thread-safe.
class OnlineCounts {
 public:
  // Makes counts for the batches [0, num_batches). ResourceExhausted: there is
  // no memory.
  static absl::StatusOr<std::unique_ptr<OnlineCounts>> Make(
      uint64_t num_nodes, uint64_t num_batches);

  // Adds the batch that is drawn as `drawn`, which the thread has just sampled
  // into `block`. Does nothing if the batch was added before or is beyond
  // num_batches.
  void Add(BatchSeq drawn, absl::Span<const std::byte> block);

 private:
  friend absl::Status WriteCounts(
      absl::Span<const std::unique_ptr<OnlineCounts>> of_threads,
      const std::filesystem::path& path);
  OnlineCounts(uint64_t num_nodes, uint64_t num_batches,
               TableMemory<uint32_t> counts)
      : num_nodes_(num_nodes),
        num_batches_(num_batches),
        counts_(std::move(counts)),
        has_(num_batches) {}

  const uint64_t num_nodes_;
  const uint64_t num_batches_;
  Mutex mutex_;
  // [num_nodes]
  const TableMemory<uint32_t> counts_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint8_t> has_ ABSL_GUARDED_BY(mutex_);  // [num_batches]
};

// Writes the counts of the threads of one sampler, of which there is at least
// one. The file holds counts u32 [N], then u8 [num_batches]: the number of
// threads that had batch i.
absl::Status WriteCounts(
    absl::Span<const std::unique_ptr<OnlineCounts>> of_threads,
    const std::filesystem::path& path);

// Returns the counts [N] of the job's batches [0, counting.batches.end), from
// the files that its samplers have written. The counts are exact, also after
// deaths: batches that no thread had, or more than one, are sampled again to
// correct the counts. DataLoss: a file has another size. Otherwise returns
// errors of CountInputNodes().
absl::StatusOr<std::vector<uint32_t>> SumOfCounts(
    absl::Span<const std::filesystem::path> files, const JobSampling& job,
    const CountOptions& counting);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_JOB_ONLINE_COUNTS_H_
