// Memory for the tasks of a thread that publishes none of them.
#ifndef FGNN_SAMPLER_SERVICE_SAMPLING_SCRATCH_BLOCK_H_
#define FGNN_SAMPLER_SERVICE_SAMPLING_SCRATCH_BLOCK_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/sampler.h"

namespace fgnn {

// Holds one task at a time, in memory that grows as batches need it.
// Thread-compatible.
class ScratchBlock {
 public:
  // `bound_bytes` is MaxTaskBytesOf(): the block does not grow beyond it.
  // `limit_bytes`: what limits.memory leaves for the block. `first_bytes`: what
  // it takes first, above 0.
  explicit ScratchBlock(uint64_t bound_bytes, uint64_t limit_bytes = UINT64_MAX,
                        uint64_t first_bytes = uint64_t{1} << 20)
      : bound_bytes_(bound_bytes),
        limit_bytes_(limit_bytes),
        first_bytes_(first_bytes) {}

  // Calls Sampler::SampleAs() with this block. The task is valid until the next
  // call. ResourceExhausted: the batch does not fit into this machine's memory.
  // InvalidArgument: it does not fit into the limit. Other errors: the
  // sampler's.
  absl::StatusOr<SampledTask> SampleAs(Sampler& sampler,
                                       const OrderedBatch& batch);
  // Does the same for a batch in drawn order.
  absl::StatusOr<SampledTask> Sample(Sampler& sampler, BatchSeq seq) {
    return SampleAs(sampler, {.seq = seq, .drawn = seq});
  }

  // Calls Sampler::Tally() with this block. Errors: as for Sample().
  absl::Status Tally(Sampler& sampler, BatchSeq drawn, InputNodeSink* sink);

  absl::Span<const std::byte> bytes() const { return {memory_.get(), size_}; }
  // Gives the memory back. No task is valid any more.
  void Release() {
    memory_.reset();
    size_ = 0;
  }

 private:
  // Makes the block twice as large, up to the bound, the limit and the memory
  // that is left.
  absl::Status Grow();

  struct Free {
    void operator()(std::byte* memory) const;
  };
  uint64_t bound_bytes_;
  uint64_t limit_bytes_;
  uint64_t first_bytes_;
  std::unique_ptr<std::byte, Free> memory_;
  uint64_t size_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SAMPLER_SERVICE_SAMPLING_SCRATCH_BLOCK_H_
