#include "tests/fuzz/changing/dataset_users.h"

#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sampler_service/job/job_ranking.h"
#include "sampler_service/job/job_sampling.h"
#include "sampler_service/sampling/scratch_block.h"
#include "shared/base/status.h"
#include "shared/graph/book/book_figures.h"
#include "shared/graph/book/making/book_parts.h"
#include "shared/graph/book/making/undirected_graph.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/leaked_edges.h"
#include "shared/graph/untrained_classes.h"
#include "shared/minibatch/task.h"
#include "tests/fakes/default_job.h"
#include "tools/dataset/inspecting/dataset_info.h"
#include "trainer_service/backend/cpu/cpu_backend.h"
#include "trainer_service/backend/seed_answers.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/infer/new_neighbors.h"
#include "trainer_service/infer/rank_edges.h"
#include "trainer_service/infer/tables/vertex_truth.h"

namespace fgnn {
namespace {

constexpr const char* kModels[] = {"graphsage", "gcn", "gat", "gin", "pinsage"};
constexpr const char* kKinds[] = {"khop", "khop_weighted", "labor",
                                  "random_walk"};
constexpr const char* kPolicies[] = {"degree", "vip", "presc", "optimal",
                                     "random"};
constexpr uint64_t kBatches = 3;

template <size_t kSize>
const char* Choose(const char* const (&words)[kSize], uint64_t number) {
  return words[number % kSize];
}

JobSpec SpecOf(const std::filesystem::path& folder, VertexLabels labels,
               uint64_t number) {
  JobSpec spec = DefaultJob();
  spec.dataset = folder;
  spec.model.kind = Choose(kModels, number);
  spec.model.layers = 2;
  spec.model.hidden = 8;
  spec.model.heads = spec.model.kind == "gat" ? 2 : 1;
  spec.sampling.kind = Choose(kKinds, number / 5);
  spec.sampling.fanouts = number % 7 == 0 && spec.sampling.kind != "random_walk"
                              ? std::vector<int32_t>{-1, -1}
                              : std::vector<int32_t>{4, 3};
  spec.sampling.batch_size = 32;
  spec.sampling.replace = number % 3 == 0;
  spec.features.store = number % 4 == 0 ? "disk" : "memory";
  spec.cache.policy = Choose(kPolicies, number / 3);
  if (labels == VertexLabels::kNumbers) {
    spec.training.task = "node_regression";
  } else if (labels == VertexLabels::kSets) {
    spec.training.task = "multi_label_classification";
  } else if (number % 2 == 0) {
    spec.training.task = "link_prediction";
    spec.training.negatives = 2;
    spec.training.exclude_seed_edges = true;
  }
  return spec;
}

// A trainer with its first weights.
struct Trainer {
  std::unique_ptr<CpuBackend> backend;
  Scratch<float> weights;

  absl::Span<float> values() {
    const uint64_t size = NumParameters(*backend);
    return absl::MakeSpan(weights.Reserve(size), size);
  }
};

absl::StatusOr<Trainer> OpenTrainer(const JobSpec& spec) {
  Trainer trainer;
  FGNN_ASSIGN_OR_RETURN(trainer.backend, CpuBackend::OpenForJob(spec, 2));
  StepTensors step;
  step.new_weights = trainer.values();
  FGNN_RETURN_IF_ERROR(
      trainer.backend->Step(spec.training.seed, OptimizerOptions(), step));
  return trainer;
}

// Samples some batches, and trains on each one.
absl::Status Train(const JobSpec& spec) {
  FGNN_ASSIGN_OR_RETURN(const JobSampling job,
                        OpenJobSampling(spec, {.job_key = 7}));
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<Sampler> sampler,
                        job.factory(job.input(), job.options));
  FGNN_ASSIGN_OR_RETURN(Trainer trainer, OpenTrainer(spec));
  ScratchBlock block(MaxTaskBytesOf(job.dataset.graph(), job.options));
  const std::unique_ptr<TaskFeatures> features = trainer.backend->NewFeatures();
  std::vector<float> gradient(NumParameters(*trainer.backend));
  SeedAnswers answers;
  for (BatchSeq seq(0); seq < BatchSeq(kBatches); ++seq) {
    FGNN_RETURN_IF_ERROR(block.Sample(*sampler, seq).status());
    FGNN_ASSIGN_OR_RETURN(const TaskView view, ReadTask(block.bytes(), 7));
    const Dataset& dataset = trainer.backend->dataset();
    FGNN_RETURN_IF_ERROR(CheckInputNodes(view, dataset.num_nodes()));
    FGNN_RETURN_IF_ERROR(
        answers.Gather(dataset, trainer.backend->model_options(), view));
    FGNN_RETURN_IF_ERROR(trainer.backend
                             ->Extract(view, /*before=*/nullptr,
                                       TrainerThread::kLoop, features.get())
                             .status());
    TrainingBatch task;
    task.task = &view;
    answers.AddTo(task);
    FGNN_RETURN_IF_ERROR(trainer.backend
                             ->Gradient({0, trainer.values()}, task,
                                        features.get(),
                                        absl::MakeSpan(gradient))
                             .status());
  }
  return absl::OkStatus();
}

absl::Status Evaluate(const JobSpec& spec) {
  FGNN_ASSIGN_OR_RETURN(Trainer trainer, OpenTrainer(spec));
  const Dataset& dataset = trainer.backend->dataset();
  ScoredWeights weights;
  weights.values = trainer.values();
  if (!spec.training.predicts_links()) {
    return trainer.backend->Evaluate(weights, {dataset.valid(), dataset.test()})
        .status();
  }
  FGNN_RETURN_IF_ERROR(
      trainer.backend
          ->RankEdges(weights, {dataset.valid_edges(), dataset.train_edges()})
          .status());
  return FindNewNeighbors(trainer.backend->host().ForInference(weights),
                          {1, 2, 3}, 4)
      .status();
}

absl::Status Rank(const JobSpec& spec) {
  FGNN_ASSIGN_OR_RETURN(const JobSampling job, OpenJobSampling(spec, {}));
  RankOrderOptions options;
  options.num_threads = 2;
  FGNN_ASSIGN_OR_RETURN(const RankOrderFacts facts,
                        MakeRankOrder(spec, job, options));
  FGNN_ASSIGN_OR_RETURN(const Trainer trainer, OpenTrainer(spec));
  return trainer.backend->CacheAsPlanned({facts.key, kChangingNodes / 2});
}

absl::Status Warn(const JobSpec& spec) {
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(spec.dataset, Validation::kShapes));
  const absl::Status untrained = UntrainedClassesWarning(dataset).status();
  const absl::Status leaked = LeakedEdgesWarning(dataset).status();
  const absl::Status truth = VertexTruth::Make(dataset).status();
  FGNN_RETURN_IF_ERROR(untrained);
  FGNN_RETURN_IF_ERROR(leaked);
  return truth;
}

absl::Status Partition(const JobSpec& spec) {
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(spec.dataset, Validation::kShapes));
  const absl::Status undirected =
      MakeUndirected(dataset.graph(), INT32_MAX).status();
  FGNN_ASSIGN_OR_RETURN(
      const std::vector<uint8_t> parts,
      MakeBookParts(dataset, BookMethod::kStream, {},
                    [](std::string_view) { return absl::OkStatus(); }));
  FGNN_RETURN_IF_ERROR(PartitionBook::Save(dataset, parts));
  FGNN_ASSIGN_OR_RETURN(const PartitionBook book, PartitionBook::Open(dataset));
  FGNN_RETURN_IF_ERROR(CountByParts(dataset, book).status());
  return undirected;
}

absl::Status Inspect(const JobSpec& spec) {
  FGNN_RETURN_IF_ERROR(ReadDatasetInfo(spec.dataset).status());
  return ValidateOnce(spec.dataset, /*state_dir=*/{}).status();
}

}  // namespace

void UseDataset(const std::filesystem::path& folder, VertexLabels labels,
                uint64_t number, UsesByName* uses) {
  const JobSpec spec = SpecOf(folder, labels, number);
  const std::pair<const char*, absl::Status (*)(const JobSpec&)> ways[] = {
      {"train", Train}, {"evaluate", Evaluate},   {"rank", Rank},
      {"warn", Warn},   {"partition", Partition}, {"inspect", Inspect}};
  for (const auto& [name, use] : ways) {
    UseCounts& counts = (*uses)[name];
    const absl::Status status = use(spec);
    ++(status.ok() ? counts.well : counts.refused);
    if (!status.ok()) counts.last_refusal = MessageOf(status);
  }
}

}  // namespace fgnn
