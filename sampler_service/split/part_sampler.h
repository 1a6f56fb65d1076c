// Samples whole batches and splits them into parts.
#ifndef FGNN_SAMPLER_SERVICE_SPLIT_PART_SAMPLER_H_
#define FGNN_SAMPLER_SERVICE_SPLIT_PART_SAMPLER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/sampler.h"
#include "sampler_service/sampling/scratch_block.h"
#include "sampler_service/split/batch_splitter.h"
#include "shared/graph/book/partition_book.h"

namespace fgnn {

struct PartSamplerOptions {
  uint32_t num_parts = 2;    // In [2, kMostParts].
  uint64_t job_key = 0;      // Key of the tasks.
  uint64_t bound_bytes = 0;  // MaxTaskBytesOf() the batches.
  // Bytes of the batches for which memory is kept; see EndBatch().
  uint64_t usual_bytes = 0;
};

// One per thread. Borrows the book.
class PartSampler {
 public:
  PartSampler(const PartitionBook* book, const PartSamplerOptions& options)
      : book_(book),
        options_(options),
        scratch_(options.bound_bytes, UINT64_MAX, options.usual_bytes),
        splitter_(book, options.num_parts) {}

  // Samples the whole batch, and numbers the vertices of its parts. The batch
  // is valid until the next call. Errors: those of ScratchBlock::SampleAs() and
  // of BatchSplitter::Prepare().
  absl::StatusOr<SampledTask> Sample(Sampler& sampler,
                                     const OrderedBatch& batch);

  // Returns the block with the whole batch.
  absl::Span<const std::byte> whole() const { return scratch_.bytes(); }
  // Writes a part of the batch. ResourceExhausted: the block is too small.
  absl::Status Write(uint32_t part, absl::Span<std::byte> block);
  // Gives the memory of a batch of more than the usual bytes back: the batch is
  // not valid any more. So large batches, which are rare, do not add up over
  // the threads of a sampler.
  void EndBatch();

 private:
  const PartitionBook* book_;
  const PartSamplerOptions options_;
  ScratchBlock scratch_;
  BatchSplitter splitter_;
  uint64_t bytes_ = 0;  // Bytes of the largest batch for which there is memory.
  SampleSeconds seconds_;  // Seconds of the batch's stages.
  // Seconds of writing parts that no task has told yet. A task cannot tell how
  // long it takes to write it, so that the next batch does.
  double written_seconds_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SPLIT_PART_SAMPLER_H_
