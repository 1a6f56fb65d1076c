#include "trainer_service/commands/bench_command.h"

#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/device/device.h"
#include "shared/minibatch/task.h"
#include "trainer_service/backend/seed_answers.h"
#include "trainer_service/rpc/profile_json.h"
#include "trainer_service/sync/optimizer.h"
#include "trainer_service/sync/step_exchange.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

struct MappedTask {
  MappedFile file;
  TaskView view;  // Borrowed from the file.
  SeedAnswers answers;
};

absl::StatusOr<std::vector<MappedTask>> OpenTasks(
    const fs::path& folder, const TrainerBackend& backend) {
  const Dataset& dataset = backend.dataset();
  std::vector<MappedTask> tasks;
  for (;;) {
    const fs::path path = folder / absl::StrCat("task-", tasks.size());
    absl::StatusOr<MappedFile> file = MappedFile::Open(path);
    if (absl::IsNotFound(file.status()) && !tasks.empty()) return tasks;
    if (!file.ok()) return file.status();
    MappedTask task = {*std::move(file), {}, {}};
    absl::StatusOr<TaskView> view = ReadTask(task.file.bytes(), /*job_key=*/0);
    if (!view.ok()) return Annotate(view.status(), path.string());
    task.view = *view;
    FGNN_RETURN_IF_ERROR(CheckInputNodes(task.view, dataset.num_nodes()));
    FGNN_RETURN_IF_ERROR(
        task.answers.Gather(dataset, backend.model_options(), task.view));
    tasks.push_back(std::move(task));
  }
}

// The steps of a job with one trainer, without queue and board.
class Loop {
 public:
  Loop(const JobSpec& spec, TrainerBackend* backend)
      : spec_(spec),
        backend_(backend),
        optimizer_(OptimizerOf(spec.training)),
        features_(backend->NewFeatures()),
        gradient_(NumParameters(*backend)),
        weights_(gradient_.size()),
        next_weights_(gradient_.size()),
        state_(gradient_.size() * StateFloatsPerParameter(optimizer_)),
        next_state_(state_.size()) {
    optimizer_.num_steps = UINT32_MAX;  // More steps than the rounds make.
  }

  absl::Status MakeFirstWeights() {
    StepTensors step;
    step.new_weights = absl::MakeSpan(weights_);
    return backend_->Step(spec_.training.seed, optimizer_, step);
  }

  absl::StatusOr<TrainingRound> Round(const std::vector<MappedTask>& tasks,
                                      uint64_t epoch) {
    TrainingRound round;
    Stopwatch watch;
    for (size_t i = 0; i < tasks.size(); ++i) {
      FGNN_RETURN_IF_ERROR(backend_
                               ->Extract(tasks[i].view, /*before=*/nullptr,
                                         TrainerThread::kLoop, features_.get())
                               .status());
      round.extract += watch.Restart();
      TrainingBatch task;
      task.task = &tasks[i].view;
      tasks[i].answers.AddTo(task);
      task.seed = spec_.training.seed;
      task.epoch = epoch;
      task.batch = i;
      FGNN_RETURN_IF_ERROR(backend_
                               ->Gradient({steps_, weights_}, task,
                                          features_.get(),
                                          absl::MakeSpan(gradient_))
                               .status());
      round.train += watch.Restart();
      FGNN_RETURN_IF_ERROR(Step(tasks[i].view.num_seeds));
      round.sync += watch.Restart();
    }
    return round;
  }

 private:
  absl::Status Step(uint32_t num_seeds) {
    StepTensors tensors;
    tensors.step_number = ++steps_;
    tensors.old_weights = weights_;
    tensors.old_optimizer_state = state_;
    tensors.new_weights = absl::MakeSpan(next_weights_);
    tensors.new_optimizer_state = absl::MakeSpan(next_state_);
    tensors.gradients = {gradient_};
    tensors.batch_examples = {num_seeds};
    FGNN_RETURN_IF_ERROR(
        backend_->Step(spec_.training.seed, optimizer_, tensors));
    weights_.swap(next_weights_);
    state_.swap(next_state_);
    return absl::OkStatus();
  }

  const JobSpec& spec_;
  TrainerBackend* const backend_;
  OptimizerOptions optimizer_;
  const std::unique_ptr<TaskFeatures> features_;
  std::vector<float> gradient_;
  std::vector<float> weights_;
  std::vector<float> next_weights_;
  std::vector<float> state_;
  std::vector<float> next_state_;
  uint64_t steps_ = 0;
};

absl::StatusOr<std::vector<TrainingRound>> Measure(const JobSpec& spec,
                                                   const fs::path& tasks_folder,
                                                   uint32_t num_rounds,
                                                   int num_threads,
                                                   const BackendFactory& open) {
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<TrainerBackend> backend,
                        open(spec, num_threads));
  FGNN_ASSIGN_OR_RETURN(const std::vector<MappedTask> tasks,
                        OpenTasks(tasks_folder, *backend));
  Loop loop(spec, backend.get());
  FGNN_RETURN_IF_ERROR(loop.MakeFirstWeights());
  FGNN_RETURN_IF_ERROR(loop.Round(tasks, 0).status());
  std::vector<TrainingRound> rounds;
  for (uint32_t round = 0; round < num_rounds; ++round) {
    FGNN_ASSIGN_OR_RETURN(const TrainingRound seconds,
                          loop.Round(tasks, round + 1));
    rounds.push_back(seconds);
  }
  return rounds;
}

}  // namespace

absl::StatusOr<std::vector<TrainingRound>> BenchTraining(
    const JobSpec& spec, const fs::path& tasks, uint32_t num_rounds,
    int num_threads, const BackendFactory& open) {
  try {
    return Measure(spec, tasks, num_rounds, num_threads, open);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        "memory: there is none left to train with; lower --batch-size, "
        "--fanouts or --hidden");
  }
}

absl::StatusOr<std::string> RunBenchCommand(const TrainingBenchOptions& options,
                                            const BackendFactory& open) {
  FGNN_ASSIGN_OR_RETURN(const Device device, ParseCpuDevice(options.device));
  FGNN_RETURN_IF_ERROR(PinThisThread(device));
  FGNN_ASSIGN_OR_RETURN(const JobSpec spec,
                        SpecOfProfileRequest(options.request));
  const size_t num_threads =
      spec.training.threads > 0 ? spec.training.threads : device.cores.size();
  FGNN_ASSIGN_OR_RETURN(const std::vector<TrainingRound> rounds,
                        BenchTraining(spec, options.tasks, options.rounds,
                                      static_cast<int>(num_threads), open));
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const TrainingRound& round : rounds) {
    json.push_back({{"extract", round.extract},
                    {"train", round.train},
                    {"sync", round.sync}});
  }
  return json.dump();
}

}  // namespace fgnn
