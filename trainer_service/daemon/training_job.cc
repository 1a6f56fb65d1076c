#include "trainer_service/daemon/training_job.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/guarded_path.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"
#include "trainer_service/checkpoint/checkpoint.h"
#include "trainer_service/infer/evaluate.h"
#include "trainer_service/infer/rank_edges.h"

namespace fgnn {
namespace {

constexpr std::chrono::milliseconds kLongestWait{100};

absl::StatusOr<EvaluationAnswer> RankSplits(
    const Workplace& workplace, const InferenceInput& input,
    const std::vector<std::string>& splits) {
  const Stopwatch stopwatch;
  std::vector<EdgeView> edges;
  for (const std::string& name : splits) {
    FGNN_ASSIGN_OR_RETURN(const EdgeView split, workplace.EdgesOf(name));
    edges.push_back(split);
  }
  FGNN_ASSIGN_OR_RETURN(const std::vector<EdgeRanking> rankings,
                        RankEdges(input, edges));
  EvaluationAnswer answer;
  for (size_t i = 0; i < splits.size(); ++i) {
    EvaluationAnswer::Split& split = answer.splits.emplace_back();
    split.name = splits[i];
    split.num_vertices = rankings[i].num_edges;
    split.roc_auc = rankings[i].roc_auc;
    split.mean_rank = rankings[i].mean_rank;
    split.mrr = rankings[i].mrr;
  }
  answer.seconds = stopwatch.Seconds();
  return answer;
}

}  // namespace

absl::Status CheckCode(const CheckpointInfo& info, const Workplace& workplace) {
  FGNN_RETURN_IF_ERROR(CheckParameters(info, workplace.model().parameters()));
  if (info.code_crc32c != workplace.code_crc32c()) {
    const ModelOptions& model = workplace.model().options();
    LogWarning("the weights were trained with other code than {} is now",
               model.plugin.empty()
                   ? absl::StrCat("model.file ", model.file)
                   : absl::StrCat("model.plugin '", model.plugin, "'"));
  }
  return absl::OkStatus();
}

absl::StatusOr<EvaluationAnswer> EvaluateSplits(
    const Workplace& workplace, const InferenceInput& input,
    const std::vector<std::string>& splits) {
  if (input.model->options().predicts_links) {
    return RankSplits(workplace, input, splits);
  }
  const Stopwatch stopwatch;
  std::vector<absl::Span<const int64_t>> vertices;
  for (const std::string& name : splits) {
    FGNN_ASSIGN_OR_RETURN(const absl::Span<const int64_t> split,
                          workplace.SplitOf(name));
    vertices.push_back(split);
  }
  FGNN_ASSIGN_OR_RETURN(
      const std::vector<SplitAccuracy> scores,
      Evaluate(input, workplace.dataset().labels(), vertices));
  EvaluationAnswer answer;
  for (size_t i = 0; i < splits.size(); ++i) {
    answer.splits.push_back({splits[i], scores[i].num_vertices,
                             scores[i].num_correct, scores[i].loss,
                             scores[i].macro_f1, scores[i].roc_auc});
  }
  answer.seconds = stopwatch.Seconds();
  return answer;
}

absl::StatusOr<std::unique_ptr<TrainingJob>> TrainingJob::Start(
    TrainingJobOptions options, std::unique_ptr<Workplace> workplace,
    std::unique_ptr<Segment> segment) {
  FGNN_RETURN_IF_ERROR(JobTrainer::CheckSegment(*segment, workplace->model(),
                                                options.spec.training));
  const uint32_t num_devices = segment->options().num_devices;
  if (num_devices > 0 && options.device >= num_devices) {
    return absl::InvalidArgumentError(
        absl::StrCat("device ", options.device, " is none of the ", num_devices,
                     " of job ", options.job_id));
  }
  std::unique_ptr<TrainingJob> job = absl::WrapUnique(new TrainingJob(
      std::move(options), std::move(workplace), std::move(segment)));
  job->thread_ = Thread("fgnn-work", [raw = job.get()] { raw->Run(); });
  return job;
}

TrainingJob::TrainingJob(TrainingJobOptions options,
                         std::unique_ptr<Workplace> workplace,
                         std::unique_ptr<Segment> segment)
    : options_(std::move(options)),
      workplace_(std::move(workplace)),
      segment_(std::move(segment)),
      trainer_(options_.spec, workplace_.get(), segment_.get(), options_.owner,
               options_.device) {}

TrainingJob::~TrainingJob() { Stop(); }

void TrainingJob::Stop() {
  stopping_ = true;
  stopped_.Notify();
}

uint64_t TrainingJob::turns() const {
  std::vector<uint64_t> turns = {loop_turns_.load(std::memory_order_relaxed) +
                                 workplace_->team().tasks_begun()};
  const std::optional<uint64_t> ahead = trainer_.turns_ahead();
  if (ahead.has_value()) turns.push_back(*ahead);
  return rounds_.Look(turns);
}

void TrainingJob::Run() {
  const absl::Status status = Loop();
  if (absl::IsCancelled(status)) {
    LogInfo("job {} was stopped", options_.job_id);
  } else if (!status.ok()) {
    LogError("job {} cannot go on here: {}", options_.job_id,
             MessageOf(status));
    options_.on_failure(status);
  }
  // Until it is detached this daemon belongs to the job, and its heart beats.
  bool has_left = trainer_.EndTurn();
  while (!stopped_.WaitUntil(DeadlineIn(kLongestWait))) {
    if (!has_left) has_left = trainer_.EndTurn();
    loop_turns_.fetch_add(1, std::memory_order_relaxed);
  }
}

absl::Status TrainingJob::Loop() {
  while (!stopping_) {
    loop_turns_.fetch_add(1, std::memory_order_relaxed);
    const uint32_t seen = trainer_.changes();
    bool worked = false;
    {
      const std::optional<WorkTurns::Turn> turn =
          turns_.TakeForLoop(DeadlineIn(kLongestWait));
      if (!turn.has_value()) continue;
      FGNN_ASSIGN_OR_RETURN(worked, trainer_.DoNext());
    }
    if (worked) continue;
    FGNN_RETURN_IF_ERROR(trainer_.WaitForWork(seen, DeadlineIn(kLongestWait)));
  }
  return absl::OkStatus();
}

std::function<absl::Status()> TrainingJob::CheckOf(
    const CallLimits& limits) const {
  return [this, &limits] {
    if (stopping_) {
      return absl::CancelledError(
          absl::StrCat("job ", options_.job_id, " is being detached"));
    }
    return limits.Check();
  };
}

absl::StatusOr<EvaluationAnswer> TrainingJob::Evaluate(
    const EvaluationQuery& query, const CallLimits& limits, UniqueFd scratch) {
  const std::function<absl::Status()> check = CheckOf(limits);
  FGNN_ASSIGN_OR_RETURN(const WorkTurns::Turn turn,
                        turns_.TakeForCommand(limits.deadline, check));
  JobTrainer::Snapshot weights;
  if (query.checkpoint.empty()) {
    FGNN_ASSIGN_OR_RETURN(weights, trainer_.CopyNewest(false));
  } else {
    FGNN_ASSIGN_OR_RETURN(const Checkpoint checkpoint,
                          ReadOfThisModel(query.checkpoint));
    weights.num_weights = checkpoint.weights.size();
    std::copy(checkpoint.weights.begin(), checkpoint.weights.end(),
              weights.weights.Floats(weights.num_weights));
  }
  std::unique_ptr<SharedInference> shared;
  if (scratch.valid()) {
    FGNN_ASSIGN_OR_RETURN(shared, SharedInference::Open(std::move(scratch)));
  }
  InferenceInput input = workplace_->ForInference(weights.weight_span(), check);
  input.shared = shared.get();
  absl::StatusOr<EvaluationAnswer> answer =
      EvaluateSplits(*workplace_, input, query.splits);
  trainer_.ForgetWait();
  return answer;
}

absl::StatusOr<SaveAnswer> TrainingJob::SaveCheckpoint(
    const SaveQuery& query, const CallLimits& limits) {
  if (!query.path.is_absolute()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "checkpoint path '", query.path.string(), "' must be absolute"));
  }
  FGNN_ASSIGN_OR_RETURN(
      const WorkTurns::Turn turn,
      turns_.TakeForCommand(limits.deadline, CheckOf(limits)));
  FGNN_ASSIGN_OR_RETURN(JobTrainer::Snapshot snapshot,
                        trainer_.CopyNewest(true));
  // Asked for by a scheduler that has died, perhaps: training went on.
  if (snapshot.version != query.version) {
    return absl::FailedPreconditionError(
        absl::StrCat("the newest weights are of version ", snapshot.version,
                     ", not ", query.version));
  }
  CheckpointInfo info;
  info.job_id = options_.job_id;
  info.model = workplace_->model().options();
  info.parameters = workplace_->model().parameters();
  info.code_crc32c = workplace_->code_crc32c();
  info.version = snapshot.version;
  info.epoch = query.epoch;
  info.seed = options_.spec.training.seed;
  info.run_state = query.run_state;
  // The owner of the run's folder may have put a link in the place of this one.
  FGNN_ASSIGN_OR_RETURN(const HeldFolder folder,
                        HeldFolder::Open(query.path.parent_path()));
  const absl::StatusOr<uint64_t> bytes =
      WriteCheckpoint(folder.path() / query.path.filename(), info,
                      {snapshot.weight_span(), snapshot.optimizer_state});
  FGNN_RETURN_IF_ERROR(folder.Named(bytes.status()));
  trainer_.ForgetWait();
  return SaveAnswer{snapshot.version, *bytes};
}

absl::StatusOr<Checkpoint> TrainingJob::ReadOfThisModel(
    const std::filesystem::path& path) const {
  FGNN_ASSIGN_OR_RETURN(Checkpoint checkpoint, ReadCheckpoint(path));
  FGNN_RETURN_IF_ERROR(Annotate(
      CheckSameFunction(workplace_->model().options(), checkpoint.info.model),
      absl::StrCat("checkpoint ", path.string(),
                   " is of another model than job ", options_.job_id)));
  FGNN_RETURN_IF_ERROR(Annotate(CheckCode(checkpoint.info, *workplace_),
                                absl::StrCat("checkpoint ", path.string())));
  return checkpoint;
}

absl::Status TrainingJob::LoadCheckpoint(const std::filesystem::path& path,
                                         const CallLimits& limits) {
  FGNN_ASSIGN_OR_RETURN(
      const WorkTurns::Turn turn,
      turns_.TakeForCommand(limits.deadline, CheckOf(limits)));
  FGNN_ASSIGN_OR_RETURN(const Checkpoint checkpoint, ReadOfThisModel(path));
  return Annotate(
      trainer_.PublishFirst({.version = checkpoint.info.version,
                             .weights = checkpoint.weights,
                             .optimizer_state = checkpoint.optimizer_state}),
      absl::StrCat("checkpoint ", path.string()));
}

}  // namespace fgnn
