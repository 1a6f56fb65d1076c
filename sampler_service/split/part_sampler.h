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

// One per thread. Borrows the book.
class PartSampler {
 public:
  // `bound_bytes`: MaxTaskBytesOf() the batches. num_parts is in [2,
  // kMostParts].
  PartSampler(const PartitionBook* book, uint32_t num_parts, uint64_t job_key,
              uint64_t bound_bytes)
      : scratch_(bound_bytes), splitter_(book, num_parts), job_key_(job_key) {}

  // Samples the whole batch, and numbers the vertices of its parts. The batch
  // is valid until the next call. Errors: those of ScratchBlock::SampleAs() and
  // of BatchSplitter::Prepare().
  absl::StatusOr<SampledTask> Sample(Sampler& sampler,
                                     const OrderedBatch& batch);

  // Returns the block with the whole batch.
  absl::Span<const std::byte> whole() const { return scratch_.bytes(); }
  // Writes a part of the batch. ResourceExhausted: the block is too small.
  absl::Status Write(uint32_t part, absl::Span<std::byte> block);

 private:
  ScratchBlock scratch_;
  BatchSplitter splitter_;
  const uint64_t job_key_;
  SampleSeconds seconds_;  // Seconds of the batch's stages.
  // Seconds of writing parts that no task has told yet. A task cannot tell how
  // long it takes to write it, so that the next batch does.
  double written_seconds_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SPLIT_PART_SAMPLER_H_
