#include "sampler_service/sampling/scratch_block.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/memory.h"

namespace fgnn {
namespace {

constexpr uint64_t kFirstBytes = uint64_t{1} << 20;
constexpr uint64_t kAlignmentBytes = 64;

uint64_t RoundUp(uint64_t bytes) {
  return (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

}  // namespace

void ScratchBlock::Free::operator()(std::byte* memory) const {
  std::free(memory);
}

absl::StatusOr<SampledTask> ScratchBlock::Sample(Sampler& sampler,
                                                 BatchSeq seq) {
  if (size_ == 0) FGNN_RETURN_IF_ERROR(Grow());
  while (true) {
    absl::StatusOr<SampledTask> task =
        sampler.Sample(seq, {memory_.get(), size_});
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
  const uint64_t bytes =
      std::min(std::max(kFirstBytes, 2 * size_), RoundUp(bound_bytes_));
  if (bytes == size_) {
    return absl::InternalError(absl::StrCat("a task exceeds its own bound of ",
                                            bound_bytes_, " bytes"));
  }
  FGNN_ASSIGN_OR_RETURN(const uint64_t available, AvailableMemoryBytes());
  if (bytes > available) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "a mini-batch needs ", bytes, " bytes and ", available,
        " are left; lower sampling.fanouts or sampling.batch_size"));
  }
  memory_.reset(
      static_cast<std::byte*>(std::aligned_alloc(kAlignmentBytes, bytes)));
  size_ = memory_ == nullptr ? 0 : bytes;
  if (memory_ != nullptr) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("no memory for a mini-batch of ", bytes, " bytes"));
}

}  // namespace fgnn
