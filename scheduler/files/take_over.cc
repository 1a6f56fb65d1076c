#include "scheduler/files/take_over.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "scheduler/figures/epoch_sum.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Adds an epoch's score; the best epoch is the first with the highest score.
void AddEpoch(uint32_t epoch, std::optional<double> score, RunState& state) {
  if (!score.has_value()) return;
  state.valid_score = score;
  if (!state.best_valid_score.has_value() || *score > *state.best_valid_score) {
    state.best_valid_score = score;
    state.best_epoch = epoch;
  }
}

}  // namespace

absl::StatusOr<RunState> FindRunningState(const SegmentOptions& segment,
                                          const GradientBoard& board,
                                          const RunFolder& folder,
                                          bool has_digests) {
  const std::optional<uint64_t> version = board.version();
  if (!version.has_value()) {
    return absl::FailedPreconditionError("its segment has no weights yet");
  }
  RunState state;
  uint32_t epochs = 0;
  const absl::StatusOr<uint64_t> metrics_bytes =
      folder.ReadMetrics([&](const Scores& scores) {
        AddEpoch(epochs++, scores.compared(), state);
      });
  if (!metrics_bytes.ok()) {
    return absl::FailedPreconditionError(metrics_bytes.status().message());
  }
  const JobShape shape(segment);
  const uint64_t trained = shape.EpochOfStep(StepNumber(*version));
  // The metrics of an epoch are written after its last step and before the
  // first step of the next epoch.
  const bool fits =
      epochs == trained ||
      (StepNumber(*version) == shape.StepsOfEpoch(trained).begin &&
       trained > 0 && epochs == trained - 1);
  const BatchSeq next_seq = shape.BatchesOfEpoch(epochs).begin;
  const BatchSeq first_seq =
      shape.BatchesOfStep(StepNumber(segment.first_version)).begin;
  if (!fits || next_seq < first_seq) {
    return absl::FailedPreconditionError(
        absl::StrCat("its metrics have ", epochs, " epochs, its segment steps ",
                     segment.first_version, " to ", *version, ", ",
                     shape.steps_per_epoch(), " an epoch"));
  }
  state.batches_per_epoch = segment.batches_per_epoch;
  state.next_seq = next_seq;
  state.metrics_bytes = *metrics_bytes;
  if (has_digests) {
    state.digests_bytes = DigestBytes(next_seq.value());
  } else {  // The digests in the file are of an earlier run.
    FGNN_ASSIGN_OR_RETURN(const RunFolder::Lengths lengths, folder.Sync());
    state.digests_bytes = lengths.digests_bytes;
  }
  return state;
}

}  // namespace fgnn
