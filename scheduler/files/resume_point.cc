#include "scheduler/files/resume_point.h"

#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/files/plain_file.h"
#include "shared/base/status.h"
#include "shared/queue/job_shape.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Most bytes of a checkpoint beside its floats, see
// trainer_service/checkpoint/README.md.
constexpr uint64_t kMostHeaderBytes = (uint64_t{1} << 20) + sizeof(uint64_t);

// Checks the file before a trainer reads it as a whole, since it may have any
// size. DataLoss: it cannot be a checkpoint of this job.
absl::Status CheckFile(const fs::path& path, const SegmentOptions& segment) {
  const absl::StatusOr<PlainFile> file = PlainFile::Open(path);
  if (!file.ok()) return absl::DataLossError(MessageOf(file.status()));
  const uint64_t least = segment.num_parameters * sizeof(float) *
                         (uint64_t{1} + segment.optimizer_floats_per_parameter);
  if (file->size() >= least && file->size() <= least + kMostHeaderBytes) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat(
      path.string(), ": has ", file->size(), " bytes, where weights and ",
      "optimizer of this job take ", least, " to ", least + kMostHeaderBytes,
      "; it is damaged, or model or optimizer in job.yaml changed"));
}

// Returns whether a trainer's error is the file's fault.
bool IsUnreadable(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status) ||
         absl::IsPermissionDenied(status) || absl::IsInvalidArgument(status);
}

std::string OrderOf(uint64_t matched_window) {
  return matched_window == 0
             ? "drawn"
             : absl::StrCat("matched in windows of ", matched_window);
}

std::string WordsOfParts(uint64_t parts, uint64_t book) {
  return parts == 1 ? "1"
                    : absl::StrCat(parts, " by the partition book ",
                                   absl::Hex(book, absl::kZeroPad16));
}

std::string SeedsOf(const SeedShares& seeds) {
  return seeds.are_own() ? absl::StrCat("own by the partition book ",
                                        absl::Hex(seeds.book, absl::kZeroPad16))
                         : "global";
}

// InvalidArgument: the run's batches are others, or came in another order. The
// message names the field and the way out.
absl::Status CheckSameKeys(const CheckpointProfile& profile,
                           const RunState& state, const ResumedRun& run) {
  if (profile.seed != run.seed) {
    return absl::InvalidArgumentError(absl::StrCat(
        "is of a run with training.seed ", profile.seed, ", this job has ",
        run.seed, "; set the seed back, or train in another run folder"));
  }
  if (state.batch_dependency != run.batch_dependency) {
    return absl::InvalidArgumentError(absl::StrCat(
        "is of a run with sampling.batch_dependency ", state.batch_dependency,
        ", this job has ", run.batch_dependency,
        "; set the field back, or train in another run folder"));
  }
  if (state.matched_window != run.matched_window) {
    return absl::InvalidArgumentError(absl::StrCat(
        "is of a run with sampling.order ", OrderOf(state.matched_window),
        ", this job has ", OrderOf(run.matched_window),
        "; set sampling.order and sampling.window back, or train in another "
        "run folder"));
  }
  if (state.seeds != run.seeds) {
    return absl::InvalidArgumentError(absl::StrCat(
        "is of a run with training.seeds ", SeedsOf(state.seeds),
        ", this job has ", SeedsOf(run.seeds),
        "; set training.seeds and run.json back, or train in another run "
        "folder"));
  }
  return absl::OkStatus();
}

// InvalidArgument: the checkpoint is of another job. The message names the
// first difference and the way out.
absl::Status CheckSameJob(const CheckpointProfile& profile,
                          const RunState& state, const SegmentOptions& segment,
                          const ResumedRun& run) {
  FGNN_RETURN_IF_ERROR(CheckSameKeys(profile, state, run));
  if (state.parts != segment.parts || state.book != segment.book) {
    return absl::InvalidArgumentError(absl::StrCat(
        "is of a run with training.parts ",
        WordsOfParts(state.parts, state.book), ", this job has ",
        WordsOfParts(segment.parts, segment.book),
        "; set the field back, make the book again as it was with 'fgnn "
        "dataset partition', or train in another run folder"));
  }
  if (state.batches_per_epoch != segment.batches_per_epoch) {
    return absl::InvalidArgumentError(absl::StrCat(
        "is of a run with ", state.batches_per_epoch,
        " batches an epoch, this job has ", segment.batches_per_epoch,
        "; set the dataset and sampling.batch_size back, or train in another "
        "run folder"));
  }
  const JobShape shape(segment);
  const uint64_t reached =
      state.next_seq == BatchSeq(0)
          ? 0
          : shape.PlaceInEpoch(state.next_seq - 1).epoch + 1;
  if (reached > segment.epochs) {
    return absl::InvalidArgumentError(
        absl::StrCat("has reached epoch ", reached, ", but training.epochs is ",
                     segment.epochs, "; raise it to ", reached,
                     " or more, or train in another run folder"));
  }
  if (state.next_seq !=
      shape.BatchesOfStep(StepNumber(profile.version)).begin) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has trained ", state.next_seq.value(), " batches in ", profile.version,
        " steps, which are not steps of this job's ", segment.batches_per_step,
        " batches; set training.batches_per_step back, or train in another "
        "run folder"));
  }
  return ValidateOptions(segment);
}

// Checks the dataset's contents, since equal shapes may hold other values.
absl::Status CheckContent(const fs::path& path, const RunState& state,
                          const ResumedRun& run) {
  if (state.dataset_content == run.dataset_content) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      path.string(), " was trained on a dataset with the fingerprint ",
      absl::Hex(state.dataset_content, absl::kZeroPad16), ", but ", run.dataset,
      " now has ", absl::Hex(run.dataset_content, absl::kZeroPad16),
      "; put its files back, or start a new run"));
}

absl::StatusOr<ResumePoint> ResumeFrom(const fs::path& path,
                                       const CheckpointProfile& profile,
                                       const RunFolder& folder,
                                       SegmentOptions segment,
                                       const ResumedRun& run) {
  absl::StatusOr<RunState> state = RunStateFromJson(profile.run_state);
  FGNN_RETURN_IF_ERROR(Annotate(state.status(), path.string()));
  segment.first_version = profile.version;
  FGNN_RETURN_IF_ERROR(
      Annotate(CheckSameJob(profile, *state, segment, run), path.string()));
  FGNN_RETURN_IF_ERROR(CheckContent(path, *state, run));
  FGNN_RETURN_IF_ERROR(
      folder.CheckHas({.metrics_bytes = state->metrics_bytes,
                       .digests_bytes = state->digests_bytes}));
  return ResumePoint{path, profile.version, *std::move(state)};
}

bool IsFolder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(fs::symlink_status(path, error));
}

}  // namespace

absl::StatusOr<std::optional<ResumePoint>> FindResumePoint(
    const RunFolder& folder, const SegmentOptions& segment,
    const ResumedRun& run,
    absl::FunctionRef<absl::StatusOr<CheckpointProfile>(const fs::path&)>
        describe) {
  FGNN_ASSIGN_OR_RETURN(const std::vector<fs::path> checkpoints,
                        folder.checkpoints().Find());
  absl::Status damage;
  std::vector<fs::path> in_the_way;
  for (const fs::path& path : checkpoints) {
    damage = CheckFile(path, segment);
    if (damage.ok()) {
      const absl::StatusOr<CheckpointProfile> profile = describe(path);
      absl::StatusOr<ResumePoint> point =
          profile.ok() ? ResumeFrom(path, *profile, folder, segment, run)
                       : profile.status();
      if (point.ok()) {
        point->in_the_way = std::move(in_the_way);
        return *std::move(point);
      }
      damage = point.status();
      const bool is_unreadable =
          profile.ok() ? absl::IsDataLoss(damage) : IsUnreadable(damage);
      if (!is_unreadable) return damage;
    }
    LogWarning("{}; trying the checkpoint before it", MessageOf(damage));
    if (IsFolder(path)) in_the_way.push_back(path);
  }
  if (!damage.ok()) {
    return absl::DataLossError(
        absl::StrCat("none of the checkpoints is sound; the last one tried: ",
                     MessageOf(damage)));
  }
  return std::nullopt;
}

absl::Status GoBackTo(const std::optional<ResumePoint>& point,
                      const RunFolder& folder) {
  if (!point.has_value()) return folder.TruncateTo({});
  for (const fs::path& path : point->in_the_way) {
    FGNN_RETURN_IF_ERROR(folder.checkpoints().MoveAway(path));
  }
  return folder.TruncateTo({.metrics_bytes = point->state.metrics_bytes,
                            .digests_bytes = point->state.digests_bytes});
}

}  // namespace fgnn
