#include "sampler_service/split/part_sampler.h"

#include <algorithm>
#include <utility>

#include "shared/base/clock.h"
#include "shared/base/status.h"

namespace fgnn {

absl::StatusOr<SampledTask> PartSampler::Sample(Sampler& sampler,
                                                const OrderedBatch& batch) {
  FGNN_ASSIGN_OR_RETURN(SampledTask sampled, scratch_.SampleAs(sampler, batch));
  bytes_ = std::max(bytes_, sampled.bytes);
  const TaskView whole = ViewOfTask(scratch_.bytes());
  const Stopwatch watch;
  FGNN_RETURN_IF_ERROR(splitter_.Prepare(whole));
  seconds_ = whole.seconds;
  seconds_.split =
      static_cast<float>(std::exchange(written_seconds_, 0) + watch.Seconds());
  sampled.seconds = seconds_;
  return sampled;
}

absl::Status PartSampler::Write(uint32_t part, absl::Span<std::byte> block) {
  const Stopwatch watch;
  // The first part's task has the seconds of the whole batch.
  const absl::Status status = splitter_.Write(
      part, options_.job_key, part == 0 ? seconds_ : SampleSeconds(), block);
  written_seconds_ += watch.Seconds();
  return status;
}

void PartSampler::EndBatch() {
  if (bytes_ <= options_.usual_bytes) return;
  scratch_.Release();
  splitter_ = BatchSplitter(book_, options_.num_parts);
  bytes_ = 0;
}

}  // namespace fgnn
