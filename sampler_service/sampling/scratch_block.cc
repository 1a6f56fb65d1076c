#include "sampler_service/sampling/scratch_block.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/memory.h"

namespace fgnn {
namespace {

constexpr uint64_t kAlignmentBytes = 64;

uint64_t RoundUp(uint64_t bytes) {
  return (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

}  // namespace

void ScratchBlock::Free::operator()(std::byte* memory) const {
  std::free(memory);
}

absl::StatusOr<SampledTask> ScratchBlock::SampleAs(Sampler& sampler,
                                                   const OrderedBatch& batch) {
  if (size_ == 0) FGNN_RETURN_IF_ERROR(Grow());
  while (true) {
    absl::StatusOr<SampledTask> task =
        sampler.SampleAs(batch, {memory_.get(), size_});
    if (!absl::IsResourceExhausted(task.status())) return task;
    FGNN_RETURN_IF_ERROR(Grow());
  }
}

absl::Status ScratchBlock::Tally(Sampler& sampler, BatchSeq drawn,
                                 InputNodeSink* sink) {
  if (size_ == 0) FGNN_RETURN_IF_ERROR(Grow());
  while (true) {
    const absl::Status status =
        sampler.Tally(drawn, {memory_.get(), size_}, sink);
    if (!absl::IsResourceExhausted(status)) return status;
    FGNN_RETURN_IF_ERROR(Grow());
  }
}

absl::Status ScratchBlock::Grow() {
  if (size_ > 0 && size_ >= RoundUp(bound_bytes_)) {
    return absl::InternalError(absl::StrCat("a task exceeds its own bound of ",
                                            bound_bytes_, " bytes"));
  }
  const uint64_t before = size_;
  Release();  // The contents are not needed, and its memory is.
  FGNN_ASSIGN_OR_RETURN(const uint64_t available, AvailableMemoryBytes());
  const uint64_t have =
      std::min(limit_bytes_, available) / kAlignmentBytes * kAlignmentBytes;
  const uint64_t wanted =
      RoundUp(std::min(std::max(first_bytes_, 2 * before), bound_bytes_));
  const uint64_t bytes = std::min(wanted, have);
  if (bytes <= before) {
    const bool by_limit = limit_bytes_ < available;
    return absl::Status(
        by_limit ? absl::StatusCode::kInvalidArgument
                 : absl::StatusCode::kResourceExhausted,
        absl::StrCat(by_limit ? "limits.memory: " : "memory: ",
                     "the job needs more than ", FormatBytes(before),
                     " for a mini-batch of one thread, ", FormatBytes(have),
                     by_limit ? " allowed" : " available",
                     "; lower sampling.fanouts or sampling.batch_size",
                     by_limit ? ", or raise limits.memory" : ""));
  }
  memory_.reset(
      static_cast<std::byte*>(std::aligned_alloc(kAlignmentBytes, bytes)));
  size_ = memory_ == nullptr ? 0 : bytes;
  if (memory_ != nullptr) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("no memory for a mini-batch of ", bytes, " bytes"));
}

}  // namespace fgnn
