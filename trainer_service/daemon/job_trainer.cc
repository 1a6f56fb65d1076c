#include "trainer_service/daemon/job_trainer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "trainer_service/daemon/diverged.h"
#include "trainer_service/daemon/trainer_home.h"

namespace fgnn {
namespace {

constexpr int kMostCopies = 5;

OptimizerOptions OptimizerFor(const JobSpec& spec, const JobShape& shape) {
  OptimizerOptions options = OptimizerOf(spec.training);
  options.num_steps = shape.num_steps();
  return options;
}

float Seconds(double seconds) { return static_cast<float>(seconds); }

}  // namespace

absl::Status JobTrainer::CheckSegment(const Segment& segment,
                                      const TrainerBackend& backend,
                                      const TrainingSpec& training) {
  const SegmentOptions& options = segment.options();
  const uint32_t state_floats = StateFloatsPerParameter(OptimizerOf(training));
  if (options.num_parameters == NumParameters(backend) &&
      options.optimizer_floats_per_parameter == state_floats) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the job's segment was planned for ", options.num_parameters,
      " parameters with ", options.optimizer_floats_per_parameter,
      " floats of state each; the model has ", NumParameters(backend), " with ",
      state_floats, "; did the dataset change?"));
}

JobTrainer::JobTrainer(const JobSpec& spec, TrainerBackend* backend,
                       StepExchange* steps, Segment* segment, OwnerIndex owner,
                       uint32_t device, TrainerReport report,
                       std::function<bool()> is_wanted)
    : owner_(owner),
      seed_(spec.training.seed),
      optimizer_(OptimizerFor(spec, segment->shape())),
      backend_(backend),
      steps_(steps),
      totals_(report.totals),
      segment_(segment),
      board_(segment, owner),
      source_(
          {.owner = owner,
           .device = device,
           .ahead = spec.features.ahead,
           .limit = {segment->options().num_devices > 0 ? AheadLimit::kNothing
                                                        : AheadLimit::kNextStep,
                     std::max(spec.num_trainers(), 1u)},
           .home_part = [home = TrainerHome(segment, spec,
                                            device)] { return home.part(); },
           .report = std::move(report)},
          backend, segment) {
  if (segment->options().parts > 1) {
    parts_ = std::make_unique<PartExchange>(
        segment, owner, backend->model_options(),
        PartExchange::Hooks{.waits = [this] { source_.PauseAhead(); },
                            .is_wanted = std::move(is_wanted)});
  }
  if (segment->options().num_devices > 0)
    slice_.emplace(segment, owner, device);
}

absl::StatusOr<bool> JobTrainer::DoNext() {
  times_.wait += times_.since_last.Restart();
  // A job that resumes gets its first weights from the checkpoint.
  const bool waits_for_checkpoint =
      segment_->options().first_version > 0 && !board_.version().has_value();
  if (waits_for_checkpoint) return false;
  if (slice_.has_value() && !slice_->held()) {
    if (!slice_->Take()) {
      source_.GiveUpCache();
      return false;
    }
    times_.wait = 0;  // The device may have sampled meanwhile.
  }
  FGNN_ASSIGN_OR_RETURN(const bool stepped, MakeStep());
  if (stepped) return true;
  absl::StatusOr<std::optional<ExtractedBatch>> fetched = Fetch();
  // Another host does not answer. Between two tries the trainer does what its
  // scheduler asks for, which may be a checkpoint.
  if (absl::IsUnavailable(fetched.status())) return false;
  FGNN_ASSIGN_OR_RETURN(std::optional<ExtractedBatch> batch,
                        std::move(fetched));
  if (batch.has_value()) {
    if (slice_.has_value()) slice_->Fetched();
    // `wait` is the time in which this trainer had nothing to train. An
    // extraction in this loop, and not ahead, does not count as waiting.
    times_.fetch = times_.since_last.Restart();
    times_.wait +=
        std::max(0.0, times_.fetch - (batch->was_ahead ? 0 : batch->seconds));
    if (parts_ != nullptr) return TrainParts(std::move(batch));
    FGNN_RETURN_IF_ERROR(Train(*std::move(batch)));
    return true;
  }
  return slice_.has_value() && !slice_goes_on_ && !EndSlice();
}

// Trains a part of a batch, or gives it back and trains the part for which it
// waits. Returns whether there may be more to do.
absl::StatusOr<bool> JobTrainer::TrainParts(
    std::optional<ExtractedBatch> batch) {
  while (batch.has_value()) {
    const absl::Status trained = Train(*std::move(batch));
    batch.reset();
    if (parts_->end() == PartEnd::kDone) {
      // Not before: tests/models/parts.pml has the run that never ends.
      source_.ResumeAhead();
      FGNN_RETURN_IF_ERROR(trained);
      return true;
    }
    times_.shuffle += parts_->waited();
    times_.since_last.Restart();  // What was computed is no work of the next.
    if (parts_->end() != PartEnd::kTakeOther || parts_->is_wanted()) break;
    FGNN_ASSIGN_OR_RETURN(batch, source_.NextPart(parts_->missing()));
    times_.fetch = times_.since_last.Restart();
  }
  if (parts_->end() == PartEnd::kEndTurn && slice_.has_value()) {
    slice_goes_on_ = false;
    return !EndSlice();
  }
  return true;
}

// Makes the next step, or the first weights. Returns false if neither is due.
absl::StatusOr<bool> JobTrainer::MakeStep() {
  FGNN_ASSIGN_OR_RETURN(
      const bool made, steps_->TryStep([this](const StepTensors& step) {
        OptimizerOptions optimizer = optimizer_;
        optimizer.learning_rate *= segment_->rate_factor();
        return Explain(backend_->Step(seed_, optimizer, step), step);
      }));
  if (made) times_.sync += times_.since_last.Restart();
  return made;
}

absl::Status JobTrainer::Explain(const absl::Status& made,
                                 const StepTensors& step) const {
  if (!absl::IsAborted(made) || step.is_initial()) return made;
  const uint64_t epoch =
      segment_->shape().EpochOfStep(StepNumber(step.step_number - 1));
  return Diverged(absl::StrCat("in epoch ", epoch + 1, ", ", made.message()),
                  backend_->model_options().objective);
}

// Returns the next batch; nullopt: there is none. If the device is to do other
// work, only batches that were claimed before are returned.
absl::StatusOr<std::optional<ExtractedBatch>> JobTrainer::Fetch() {
  if (!slice_.has_value()) {
    FGNN_RETURN_IF_ERROR(FollowCachePlan());
    return source_.Next();
  }
  slice_goes_on_ = slice_->GoesOn();
  if (slice_goes_on_) {
    FGNN_RETURN_IF_ERROR(FollowCachePlan());
    source_.LimitAhead(slice_->ahead());
    FGNN_ASSIGN_OR_RETURN(std::optional<ExtractedBatch> batch, source_.Next());
    if (batch.has_value()) return batch;
    slice_goes_on_ = slice_->GoesOn();  // Other trainers were faster.
  }
  if (slice_goes_on_) return std::nullopt;
  source_.LimitAhead({.batches = AheadLimit::kNothing});
  return source_.NextAhead();
}

// A batch's seconds are to tell how long batches take, so that those of a cache
// that is filled before it do not count.
absl::Status JobTrainer::FollowCachePlan() {
  FGNN_ASSIGN_OR_RETURN(const bool followed, source_.FollowCachePlan());
  if (followed) times_.since_last.Restart();
  return absl::OkStatus();
}

bool JobTrainer::EndSlice() {
  if (!slice_.has_value()) {
    // Other trainers may wait for parts that this one holds.
    return parts_ == nullptr || source_.PauseAhead();
  }
  source_.LimitAhead({.batches = AheadLimit::kNothing});
  if (!source_.GiveBackAhead()) return false;
  slice_->End();
  return true;
}

absl::Status JobTrainer::PublishFirst(const FirstWeights& first) {
  if (first.version != segment_->options().first_version) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it is of version ", first.version, ", the job goes on from version ",
        segment_->options().first_version));
  }
  if (board_.version().has_value()) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(const bool made,
                        steps_->TryStep([&first](const StepTensors& step) {
                          return CopyFirst(first, step);
                        }));
  if (made) return absl::OkStatus();
  return absl::UnavailableError("another trainer makes the first weights");
}

absl::Status JobTrainer::CopyFirst(const FirstWeights& first,
                                   const StepTensors& step) {
  if (!step.is_initial()) {
    return absl::UnavailableError("another trainer made the first weights");
  }
  if (step.new_weights.size() != first.weights.size() ||
      step.new_optimizer_state.size() != first.optimizer_state.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it has ", first.weights.size(), " weights and ",
        first.optimizer_state.size(),
        " floats of optimizer state, the job's "
        "segment ",
        step.new_weights.size(), " and ", step.new_optimizer_state.size(),
        "; set training.optimizer back, or train in another run folder"));
  }
  std::copy(first.weights.begin(), first.weights.end(),
            step.new_weights.begin());
  std::copy(first.optimizer_state.begin(), first.optimizer_state.end(),
            step.new_optimizer_state.begin());
  return absl::OkStatus();
}

absl::Status JobTrainer::Train(ExtractedBatch batch) {
  const TaskView& task = batch.task;
  if (parts_ != nullptr) parts_->Reset();
  BatchRecord record;
  record.sampler = batch.slot.sampler();
  record.trainer = owner_;
  record.part = task.part;
  record.digest = task.num_parts == 1 ? task.digest : task.batch_digest;
  record.num_seeds = task.num_examples();
  record.batch_examples = task.batch_examples();
  record.num_edges = task.num_edges();
  record.num_input_nodes = static_cast<uint32_t>(task.num_loaded_nodes());
  record.num_cache_hits = static_cast<uint32_t>(batch.rows.num_cached);
  record.num_matched = static_cast<uint32_t>(batch.rows.num_matched);
  record.num_remote = static_cast<uint32_t>(batch.rows.num_remote);
  record.order = task.seconds.order;
  record.sample = task.seconds.sample;
  record.id_map = task.seconds.id_map;
  record.mark = task.seconds.mark;
  record.copy = task.seconds.copy;
  record.split = task.seconds.split;
  record.sampled_ns = task.finished_ns;
  record.extract = Seconds(batch.seconds);
  FGNN_RETURN_IF_ERROR(
      answers_.Gather(backend_->dataset(), backend_->model_options(), task));
  if (const absl::Status computed = ComputeGradient(batch, &record);
      !computed.ok()) {
    source_.GiveBack(std::move(batch.features));
    return computed;
  }
  record.wait = Seconds(std::exchange(times_.wait, 0));
  record.sync = Seconds(std::exchange(times_.sync, 0));
  // Time in which other parts were waited for is no work of this one.
  const double waited = parts_ == nullptr ? 0 : parts_->waited();
  record.message_bytes = parts_ == nullptr ? 0 : parts_->message_bytes();
  record.shuffle = Seconds(std::exchange(times_.shuffle, 0) + waited);
  record.train = Seconds(std::max(0.0, times_.since_last.Restart() - waited));
  record.trained_ns = MonotonicNanoseconds();
  FGNN_RETURN_IF_ERROR(board_.MarkDone({task.seq, task.part}, record));
  batches_.fetch_add(1, std::memory_order_relaxed);
  if (totals_ != nullptr) totals_->Add(record);
  const absl::Status released = std::move(batch.slot).Release();
  source_.GiveBack(std::move(batch.features));
  if (slice_.has_value()) {
    slice_->Trained(times_.fetch + double{record.sync} + double{record.train});
  }
  times_.sync += times_.since_last.Restart();
  return released;
}

absl::Status JobTrainer::ComputeGradient(const ExtractedBatch& extracted,
                                         BatchRecord* record) {
  const TaskView& task = extracted.task;
  const BatchSeq seq = task.seq;
  TrainingBatch batch;
  batch.task = &task;
  batch.shuffle = parts_ == nullptr ? nullptr : parts_->Begin(&task);
  answers_.AddTo(batch);
  batch.seed = seed_;
  const BatchPlace place = segment_->shape().PlaceInEpoch(seq);
  batch.epoch = place.epoch;
  batch.batch = place.batch;
  // Takes the newest version. The batch's own step cannot be made until the
  // batch is done, so that version is not later than the step.
  const StepNumber step = segment_->shape().StepOf(seq);
  const uint64_t version = board_.version().value_or(step.value());
  record->staleness = static_cast<uint32_t>(step - StepNumber(version));
  FGNN_ASSIGN_OR_RETURN(const BatchResult result,
                        backend_->Gradient({version, board_.weights(version)},
                                           batch, extracted.features.get(),
                                           board_.gradient({seq, task.part})));
  FGNN_RETURN_IF_ERROR(CheckLoss(result.loss, batch, optimizer_.learning_rate,
                                 backend_->model_options().objective));
  record->loss = static_cast<float>(result.loss);
  record->num_correct = result.num_correct;
  return absl::OkStatus();
}

absl::StatusOr<JobTrainer::Snapshot> JobTrainer::CopyNewest(
    bool with_optimizer_state) const {
  Snapshot snapshot;
  for (int attempt = 0; attempt < kMostCopies; ++attempt) {
    const std::optional<uint64_t> version = board_.version();
    if (!version.has_value()) {
      return absl::FailedPreconditionError(
          "the job has no weights yet; open its first step");
    }
    snapshot.version = *version;
    const absl::Span<const float> weights = board_.weights(*version);
    snapshot.num_weights = weights.size();
    std::copy(weights.begin(), weights.end(),
              snapshot.weights.Reserve(weights.size()));
    if (with_optimizer_state) {
      const absl::Span<const float> state = board_.optimizer_state(*version);
      snapshot.optimizer_state.assign(state.begin(), state.end());
    }
    // The step after the next one overwrites what was copied. The fence keeps
    // the second read of the version behind the copy.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (board_.version() == version) return snapshot;
  }
  return absl::UnavailableError(
      "the weights change faster than they can be copied; close training "
      "first");
}

}  // namespace fgnn
