#include "scheduler/jobs/resume_point.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/queue/segment_layout.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// The same shapes may hold other values.
absl::Status CheckContent(const std::filesystem::path& path,
                          const RunState& state, const ResumedRun& run) {
  if (state.dataset_content == 0) {
    LogWarning(
        "{} does not say which contents its dataset had; goes on with those "
        "of now",
        path.string());
    return absl::OkStatus();
  }
  if (state.dataset_content == run.dataset_content) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path.string(), " was trained on a dataset with the fingerprint ",
      absl::Hex(state.dataset_content, absl::kZeroPad16),
      ", but the dataset now has ",
      absl::Hex(run.dataset_content, absl::kZeroPad16),
      "; put its files back, or start a new run"));
}

absl::StatusOr<ResumePoint> ResumeFrom(const std::filesystem::path& path,
                                       const CheckpointProfile& profile,
                                       const RunFolder& folder,
                                       SegmentOptions segment,
                                       const ResumedRun& run) {
  absl::StatusOr<RunState> state = RunStateFromJson(profile.run_state);
  FGNN_RETURN_IF_ERROR(Annotate(state.status(), path.string()));
  segment.first_version = profile.version;
  if (!ValidateOptions(segment).ok() ||
      state->batches_per_epoch != segment.batches_per_epoch ||
      state->next_seq != BatchesOf(segment, profile.version).first_batch ||
      profile.seed != run.seed) {
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), " is of a job with ", state->batches_per_epoch,
        " batches an epoch and seed ", profile.seed, ", this one has ",
        segment.batches_per_epoch, " and ", run.seed,
        "; did its dataset or job.yaml change?"));
  }
  FGNN_RETURN_IF_ERROR(CheckContent(path, *state, run));
  FGNN_RETURN_IF_ERROR(
      folder.TruncateTo({.metrics_bytes = state->metrics_bytes,
                         .digests_bytes = state->digests_bytes}));
  return ResumePoint{path, profile.version, *std::move(state)};
}

}  // namespace

absl::StatusOr<std::optional<ResumePoint>> FindResumePoint(
    const RunFolder& folder, const SegmentOptions& segment,
    const ResumedRun& run,
    absl::FunctionRef<
        absl::StatusOr<CheckpointProfile>(const std::filesystem::path&)>
        describe) {
  FGNN_ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> checkpoints,
                        folder.Checkpoints());
  absl::Status damage;
  for (const std::filesystem::path& path : checkpoints) {
    const absl::StatusOr<CheckpointProfile> profile = describe(path);
    absl::StatusOr<ResumePoint> point =
        profile.ok() ? ResumeFrom(path, *profile, folder, segment, run)
                     : profile.status();
    if (point.ok()) return *std::move(point);
    if (!absl::IsDataLoss(point.status())) return point.status();
    LogError("{}; trying the checkpoint before it", MessageOf(point.status()));
    damage = point.status();
  }
  if (!damage.ok()) {
    return Annotate(damage,
                    "none of the checkpoints is sound; the last one tried");
  }
  FGNN_RETURN_IF_ERROR(folder.TruncateTo({}));
  return std::nullopt;
}

}  // namespace fgnn
