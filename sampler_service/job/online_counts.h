// Counts of input nodes that are taken while batches are sampled for training,
// so that nothing is sampled for them alone (policy online).
#ifndef FGNN_SAMPLER_SERVICE_JOB_ONLINE_COUNTS_H_
#define FGNN_SAMPLER_SERVICE_JOB_ONLINE_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/job/job_sampling.h"
#include "sampler_service/presample/input_node_counts.h"
#include "shared/base/types.h"
#include "shared/device/memory.h"

namespace fgnn {

// The batches that one thread has sampled. Thread-safe.
class OnlineCounts {
 public:
  // Of batches [0, num_batches). ResourceExhausted.
  static absl::StatusOr<std::unique_ptr<OnlineCounts>> Make(
      uint64_t num_nodes, uint64_t num_batches);

  // `block` holds batch `seq`, just sampled. What was added before, or is
  // beyond num_batches, changes nothing.
  void Add(BatchSeq seq, absl::Span<const std::byte> block);

 private:
  friend absl::Status WriteCounts(
      absl::Span<const std::unique_ptr<OnlineCounts>> of_threads,
      const std::filesystem::path& path);
  OnlineCounts() = default;

  std::mutex mutex_;
  uint64_t num_nodes_ = 0;
  TableMemory<uint32_t> counts_;  // [num_nodes]
  std::vector<uint8_t> has_;      // [num_batches]
};

// Writes what the threads of one sampler counted, at least one: u32 [N], and
// how many of them had batch i, u8 [num_batches].
absl::Status WriteCounts(
    absl::Span<const std::unique_ptr<OnlineCounts>> of_threads,
    const std::filesystem::path& path);

// [N] the counts of the job's batches [0, counting.batches.end), from what its
// samplers have written. They are exact whoever died: batches that nobody has,
// or more than one, are sampled again and put right. DataLoss: a file of
// another size. Else errors of CountInputNodes().
absl::StatusOr<std::vector<uint32_t>> SumOfCounts(
    absl::Span<const std::filesystem::path> files, const JobSampling& job,
    const CountOptions& counting);

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_JOB_ONLINE_COUNTS_H_
