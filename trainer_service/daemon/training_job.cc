#include "trainer_service/daemon/training_job.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/clock.h"
#include "shared/base/crc32c.h"
#include "shared/base/files/guarded_path.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"
#include "trainer_service/backend/check_code.h"
#include "trainer_service/checkpoint/checkpoint.h"
#include "trainer_service/daemon/evaluate_splits.h"
#include "trainer_service/sync/board_exchange.h"

namespace fgnn {
namespace {

bool FitsACheckpoint(const std::vector<std::string>& names,
                     const TrainerBackend& backend) {
  size_t bytes = names.size();
  for (const std::string& name : names) bytes += name.size();
  if (bytes <= kMostNamesBytes) return true;
  LogWarning("checkpoints leave out {} names of dataset {}: they take {} bytes",
             names.size(), backend.dataset().folder().string(), bytes);
  return false;
}

// Returns the names in the dataset that the checkpoints are to keep.
absl::StatusOr<DatasetNames> NamesToKeep(const TrainerBackend& backend) {
  const Dataset& dataset = backend.dataset();
  FGNN_ASSIGN_OR_RETURN(
      DatasetNames names,
      ReadDatasetNames(dataset.folder(), dataset.num_classes(),
                       dataset.features().columns, dataset.num_targets()));
  // A model that predicts links has no classes and no targets.
  if (backend.model_options().predicts_links()) {
    names.classes.clear();
    names.targets.clear();
  }
  if (!FitsACheckpoint(names.classes, backend)) names.classes.clear();
  if (!FitsACheckpoint(names.targets, backend)) names.targets.clear();
  if (!FitsACheckpoint(names.features, backend)) names.features.clear();
  return names;
}

// What a checkpoint says of it.
std::string SyncOf(const TrainingSpec& training) {
  if (training.sync == "steps") return "";
  return training.sync == "nccl" && !training.deterministic
             ? "nccl, in any order"
             : training.sync;
}

// A run that goes on ends in the bits of one that never stopped, on one model
// of GPU. Returns a warning; empty: it does.
std::string WarningOfOtherBits(const CheckpointInfo& info,
                               const TrainerBackend& backend) {
  if (info.gpu == backend.origin().gpu) return "";
  return absl::StrCat(
      "the checkpoint is of ",
      info.gpu.empty() ? "cores" : PrintableText(info.gpu),
      ", and goes on with ",
      backend.origin().gpu.empty() ? "cores" : backend.origin().gpu,
      ": weights will differ by rounding from those of a run "
      "that stays on one of them");
}

// Returns true if the job's weights have the same bits for any number of
// trainers of one kind.
bool PromisesBits(const TrainingSpec& training) {
  return training.sync == "steps" ||
         (training.sync == "nccl" && training.deterministic);
}

// GPUs of different models round differently, so the weights would depend on
// which GPU had which batch.
absl::Status CheckKind(const TrainingSpec& training,
                       const TrainerBackend& backend, Segment& segment) {
  if (!PromisesBits(training)) return absl::OkStatus();
  const std::string gpu = backend.origin().gpu;
  const uint64_t kind =
      uint64_t{1} << 32 | ExtendCrc32c(0, gpu.data(), gpu.size());
  if (segment.AgreeOnTrainers(kind) == kind) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "devices: the job's trainers are not of one kind, and this one is of ",
      gpu.empty() ? "cores" : PrintableText(gpu),
      ": the weights would depend on which of them trains a batch; name GPUs "
      "of one model, or use training.sync: bounded_staleness"));
}

absl::StatusOr<std::unique_ptr<StepExchange>> ExchangeOf(
    const TrainingJobOptions& options, Segment* segment) {
  if (options.exchanges != nullptr) {
    return options.exchanges({.training = options.spec.training,
                              .segment = segment,
                              .owner = options.owner});
  }
  return std::make_unique<BoardExchange>(segment, options.owner);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingJob>> TrainingJob::Start(
    TrainingJobOptions options, std::unique_ptr<TrainerBackend> backend,
    std::unique_ptr<Segment> segment) {
  FGNN_RETURN_IF_ERROR(
      JobTrainer::CheckSegment(*segment, *backend, options.spec.training));
  const uint32_t num_devices = segment->options().num_devices;
  if (num_devices > 0 && options.device >= num_devices) {
    return absl::InvalidArgumentError(
        absl::StrCat("device ", options.device, " is none of the ", num_devices,
                     " of job ", options.job_id));
  }
  FGNN_RETURN_IF_ERROR(CheckKind(options.spec.training, *backend, *segment));
  FGNN_ASSIGN_OR_RETURN(DatasetNames names, NamesToKeep(*backend));
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<StepExchange> steps,
                        ExchangeOf(options, segment.get()));
  std::unique_ptr<TrainingJob> job = absl::WrapUnique(
      new TrainingJob(std::move(options), std::move(backend),
                      std::move(segment), std::move(steps), std::move(names)));
  job->thread_ = Thread("fgnn-work", [raw = job.get()] { raw->Run(); });
  return job;
}

TrainingJob::TrainingJob(TrainingJobOptions options,
                         std::unique_ptr<TrainerBackend> backend,
                         std::unique_ptr<Segment> segment,
                         std::unique_ptr<StepExchange> steps,
                         DatasetNames names)
    : options_(std::move(options)),
      backend_(std::move(backend)),
      segment_(std::move(segment)),
      names_(std::move(names)),
      steps_(std::move(steps)),
      trainer_(options_.spec, backend_.get(), steps_.get(), segment_.get(),
               options_.owner, options_.device,
               {.job_id = options_.job_id, .totals = options_.totals},
               [this] { return stopping_ || lock_.is_wanted(); }) {
  backend_->LeaveGradients(steps_->DevicePlaces());
}

TrainingJob::~TrainingJob() { Stop(); }

void TrainingJob::Stop() {
  stopping_ = true;
  if (backend_->partitioned() != nullptr) backend_->partitioned()->Stop();
  stopped_.Notify();
}

uint64_t TrainingJob::progress() const {
  std::vector<uint64_t> progress = {
      loop_progress_.load(std::memory_order_relaxed) + trainer_.progress() +
      backend_->progress(TrainerThread::kLoop)};
  const std::optional<uint64_t> ahead = trainer_.progress_ahead();
  if (ahead.has_value()) progress.push_back(*ahead);
  return rounds_.Look(progress);
}

std::optional<uint32_t> TrainingJob::evaluated_permille() const {
  if (!evaluating_) return std::nullopt;
  return permille_;
}

void TrainingJob::Run() {
  const absl::Status status = Loop();
  if (absl::IsCancelled(status)) {
    LogInfo("job {} was stopped", options_.job_id);
  } else if (!status.ok()) {
    LogError("job {}: {}; it cannot go on here", options_.job_id,
             MessageOf(status));
    options_.on_failure(status);
  }
  // The daemon belongs to the job until the scheduler detaches it. The
  // heartbeat goes on until then.
  bool has_left = trainer_.EndSlice();
  while (!stopped_.WaitUntil(DeadlineIn(kTick))) {
    if (!has_left) has_left = trainer_.EndSlice();
    loop_progress_.fetch_add(1, std::memory_order_relaxed);
  }
}

absl::Status TrainingJob::Loop() {
  while (!stopping_) {
    loop_progress_.fetch_add(1, std::memory_order_relaxed);
    const uint32_t seen = trainer_.changes();
    bool worked = false;
    {
      const std::optional<BackendLock::Held> held =
          lock_.LockForLoop(DeadlineIn(kTick));
      if (!held.has_value()) continue;
      FGNN_ASSIGN_OR_RETURN(worked, trainer_.DoNext());
    }
    if (worked) continue;
    FGNN_RETURN_IF_ERROR(trainer_.WaitForWork(seen, DeadlineIn(kTick)));
  }
  return absl::OkStatus();
}

std::function<absl::Status()> TrainingJob::CheckOf(
    const CallLimits& limits) const {
  return [this, &limits] {
    if (stopping_) {
      return absl::UnavailableError(
          absl::StrCat("job ", options_.job_id, " is being detached"));
    }
    return limits.Check();
  };
}

absl::StatusOr<Evaluation> TrainingJob::Evaluate(const EvaluateRequest& request,
                                                 const CallLimits& limits,
                                                 UniqueFd scratch) {
  const std::function<absl::Status()> check = CheckOf(limits);
  FGNN_ASSIGN_OR_RETURN(const BackendLock::Held held,
                        lock_.LockForCommand(limits.deadline, check));
  JobTrainer::Snapshot weights;
  if (request.checkpoint.empty()) {
    FGNN_ASSIGN_OR_RETURN(weights, trainer_.CopyNewest(false));
  } else {
    FGNN_ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                          ReadOfThisModel(request.checkpoint));
    weights.num_weights = checkpoint.weights.size();
    std::copy(checkpoint.weights.begin(), checkpoint.weights.end(),
              weights.weights.Reserve(weights.num_weights));
  }
  std::unique_ptr<SharedInference> shared;
  if (scratch.valid()) {
    FGNN_ASSIGN_OR_RETURN(shared, SharedInference::Open(std::move(scratch)));
  }
  permille_ = 0;
  evaluating_ = true;
  const absl::Cleanup done = [this] { evaluating_ = false; };
  absl::StatusOr<Evaluation> answer =
      EvaluateSplits(*backend_,
                     {.values = weights.weight_span(),
                      .check = check,
                      .shared = shared.get(),
                      .keeps_on_device = segment_->options().hidden_on_gpu != 0,
                      .permille = &permille_},
                     request.splits);
  trainer_.ForgetWait();
  return answer;
}

absl::Status TrainingJob::SaveCheckpoint(const SaveCheckpointRequest& request,
                                         const CallLimits& limits) {
  FGNN_ASSIGN_OR_RETURN(const BackendLock::Held held,
                        lock_.LockForCommand(limits.deadline, CheckOf(limits)));
  FGNN_ASSIGN_OR_RETURN(JobTrainer::Snapshot snapshot,
                        trainer_.CopyNewest(true));
  // A scheduler that has died may have made this call, and training went on.
  if (snapshot.version != request.version) {
    return absl::FailedPreconditionError(
        absl::StrCat("the newest weights are of version ", snapshot.version,
                     ", not ", request.version));
  }
  CheckpointInfo info;
  info.job_id = options_.job_id;
  info.model = backend_->model_options();
  info.parameters = backend_->parameters();
  info.code_crc32c = backend_->origin().code_crc32c;
  info.version = snapshot.version;
  info.epoch = request.epochs_done;
  info.seed = options_.spec.training.seed;
  info.sync = SyncOf(options_.spec.training);
  info.gpu = backend_->origin().gpu;
  info.run_state = request.run_state;
  info.names = names_;
  // Users may have put a link in the place of the checkpoint's folder, or of
  // one above it. What is written is in the folder that was opened and checked.
  FGNN_ASSIGN_OR_RETURN(const HeldFolder folder,
                        HeldFolder::Open(request.path.parent_path()));
  FGNN_RETURN_IF_ERROR(folder.CheckIs(request.folder));
  FGNN_RETURN_IF_ERROR(folder.Named(
      WriteCheckpoint(folder.path() / request.path.filename(), info,
                      {snapshot.weight_span(), snapshot.optimizer_state})));
  trainer_.ForgetWait();
  return absl::OkStatus();
}

absl::StatusOr<Checkpoint> TrainingJob::ReadOfThisModel(
    const std::filesystem::path& path) const {
  FGNN_ASSIGN_OR_RETURN(Checkpoint checkpoint, ReadCheckpoint(path));
  const absl::Status same =
      CheckSameFunction(backend_->model_options(), checkpoint.info.model);
  if (!same.ok()) {
    return absl::Status(
        same.code(),
        absl::StrCat("checkpoint ", path.string(),
                     " is of another model than job ", options_.job_id, ": ",
                     same.message(),
                     "; set it back, or train in another run folder"));
  }
  FGNN_RETURN_IF_ERROR(Annotate(
      CheckCode(checkpoint.info, backend_->model_options(),
                backend_->parameters(), backend_->origin().code_crc32c),
      absl::StrCat("checkpoint ", path.string())));
  return checkpoint;
}

absl::StatusOr<std::string> TrainingJob::LoadCheckpoint(
    const std::filesystem::path& path, const CallLimits& limits) {
  FGNN_ASSIGN_OR_RETURN(const BackendLock::Held held,
                        lock_.LockForCommand(limits.deadline, CheckOf(limits)));
  FGNN_ASSIGN_OR_RETURN(const Checkpoint checkpoint, ReadOfThisModel(path));
  std::vector<std::string> warnings = {
      WarningOfOtherCode(checkpoint.info, backend_->model_options(),
                         backend_->origin().code_crc32c),
      WarningOfOtherBits(checkpoint.info, *backend_)};
  std::erase(warnings, "");
  FGNN_RETURN_IF_ERROR(Annotate(
      trainer_.PublishFirst({.version = checkpoint.info.version,
                             .weights = checkpoint.weights,
                             .optimizer_state = checkpoint.optimizer_state}),
      absl::StrCat("checkpoint ", path.string())));
  return absl::StrJoin(warnings, "; ");
}

}  // namespace fgnn
