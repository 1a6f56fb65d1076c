#include "scheduler/planning/job_plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/planning/placement.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/minibatch/task.h"

namespace fgnn {
namespace {

constexpr uint64_t kTaskArrayPadding = 64;
// Out-degree, hotness, and what is sorted by them, from one array into another.
constexpr uint64_t kBytesToRankAVertex = 4 + 4 + 2 * 16;
constexpr uint32_t kUsualSlots = 8;
// Of a device that takes turns, so that it does not change roles at each batch.
constexpr uint32_t kSlotsPerTurn = 8;
// The share of memory that the queue of one device alone, which samples an
// epoch and then trains it, may take.
constexpr uint64_t kQueueShare = 8;
constexpr uint32_t kMaxSlots = 4096;

uint64_t MultiplyCapped(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t AddCapped(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

// Enough that no executor waits for a slot while another holds its own: the
// batches of the open steps and of the next, and one in each hand of everybody.
uint32_t WantedSlots(const JobSpec& spec, uint64_t batches_per_epoch) {
  if (spec.queue_slots > 0) return spec.queue_slots;
  const uint32_t sampler_threads = std::max<uint32_t>(spec.sampling.threads, 1);
  const uint64_t hands = (uint64_t{spec.training.most_staleness()} + 2) *
                             spec.training.batches_per_step +
                         uint64_t{spec.num_samplers()} * sampler_threads +
                         uint64_t{2} * spec.num_trainers();
  uint64_t wanted = std::max<uint64_t>(hands, kUsualSlots);
  if (spec.takes_turns()) {
    wanted = std::max(wanted, kSlotsPerTurn * uint64_t{spec.devices.size()});
  }
  // Two epochs are open at once, so that no more tasks are ever in the queue.
  return static_cast<uint32_t>(std::min<uint64_t>(
      {wanted, std::max<uint64_t>(2 * batches_per_epoch, 1), kMaxSlots}));
}

// Rows that each trainer was told to cache.
uint64_t CacheRows(const PlanInput& input) {
  const CacheSpec& cache = input.spec.cache;
  const double share = cache.policy == "none" ? 0 : cache.capacity.value_or(0);
  return static_cast<uint64_t>(
      std::floor(share * static_cast<double>(input.dataset.num_nodes)));
}

uint64_t FeatureBytes(const DatasetShape& dataset) {
  return MultiplyCapped(dataset.num_nodes, dataset.feature_row_bytes);
}

bool ReadsFromDisk(const PlanInput& input) {
  return input.spec.features.store == "disk" ||
         (input.spec.features.store == "auto" &&
          FeatureBytes(input.dataset) > input.available_bytes);
}

// Rows that fit into what the plan leaves, where trainers may take what they
// like. Mapped features that fit into memory are there already.
uint64_t AutoCacheRows(const PlanInput& input, uint64_t left_bytes) {
  const DatasetShape& dataset = input.dataset;
  const CacheSpec& cache = input.spec.cache;
  if (!ReadsFromDisk(input) || cache.capacity.has_value() ||
      cache.policy == "none" || dataset.feature_row_bytes == 0) {
    return 0;
  }
  // The kernel's own needs and what no plan knows.
  const uint64_t usable = left_bytes - left_bytes / 8;
  return std::min(dataset.num_nodes, usable / dataset.feature_row_bytes /
                                         input.spec.num_trainers());
}

absl::Status CheckWarmup(const TrainingSpec& training,
                         const SegmentOptions& segment) {
  const uint64_t steps = segment.steps_per_epoch() * segment.epochs;
  if (training.warmup_steps < steps) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "training.warmup_steps is ", training.warmup_steps, ", but the job has ",
      steps,
      " steps, so that training.learning_rate would never be reached; "
      "lower it, or raise training.epochs"));
}

uint64_t HaveBytes(const PlanInput& input) {
  return std::min(input.spec.limits.memory_bytes.value_or(UINT64_MAX),
                  input.available_bytes);
}

SegmentOptions PlanSegment(const PlanInput& input, uint64_t cache_rows) {
  const JobSpec& spec = input.spec;
  const SamplingProfile& sampling = input.sampling;
  SegmentOptions segment;
  segment.job_key = input.job_key;
  segment.batches_per_epoch =
      BatchesPerEpoch(input.dataset.num_train, spec.sampling.batch_size);
  segment.epochs = spec.training.epochs;
  segment.batches_per_step = spec.training.batches_per_step;
  segment.staleness = spec.training.most_staleness();
  segment.num_parameters = input.training.num_parameters;
  segment.optimizer_floats_per_parameter =
      input.training.optimizer_floats_per_parameter;
  if (spec.takes_turns()) {
    segment.num_devices = static_cast<uint32_t>(spec.devices.size());
    segment.switching = spec.switching ? 1 : 0;
  }
  segment.num_slots = WantedSlots(spec, segment.batches_per_epoch);
  segment.cache_rows = cache_rows;
  // Tasks were measured without hot ranks.
  const uint64_t rank_bytes =
      segment.cache_rows == 0
          ? 0
          : MultiplyCapped(sampling.max_input_nodes, sizeof(uint32_t)) +
                kTaskArrayPadding;
  const uint64_t measured =
      AddCapped(std::max<uint64_t>(sampling.max_task_bytes, sizeof(TaskHeader)),
                rank_bytes);
  const uint64_t bound = std::max(sampling.bound_task_bytes, measured);
  segment.slot_bytes = std::min(AddCapped(measured, measured / 4), bound);
  if (segment.slot_bytes < bound) {
    segment.num_overflow_blocks = spec.num_samplers();
    segment.overflow_bytes = bound;
  }
  if (segment.num_devices == 1 && spec.queue_slots == 0) {
    const uint64_t room = HaveBytes(input) / kQueueShare / segment.slot_bytes;
    const uint64_t epoch =
        std::min<uint64_t>(segment.batches_per_epoch, kMaxSlots);
    segment.num_slots = static_cast<uint32_t>(
        std::max<uint64_t>(segment.num_slots, std::min(room, epoch)));
  }
  return segment;
}

std::string Counted(uint64_t count, const std::string& what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// What every executor of a role has.
struct PerExecutor {
  ExecutorRole role;
  std::string name;    // "cache"
  std::string detail;  // " of 9 rows"
  uint64_t bytes;
};

// An item for each device that has some, in the order of their placement.
void AddPerDevice(const PlanInput& input, const PerExecutor& what,
                  std::vector<MemoryItem>* items) {
  std::vector<std::pair<std::string, uint32_t>> counts;
  for (const ExecutorPlacement& placement :
       PlaceExecutors(input.spec.num_samplers(), input.spec.num_trainers(),
                      input.spec.devices)) {
    if (placement.role != what.role) continue;
    const auto found = std::find_if(
        counts.begin(), counts.end(),
        [&](const auto& count) { return count.first == placement.device; });
    if (found == counts.end()) {
      counts.emplace_back(placement.device, 1);
    } else {
      ++found->second;
    }
  }
  for (const auto& [device, count] : counts) {
    items->push_back(
        {.name = absl::StrCat(Counted(count, what.name), what.detail),
         .holder = std::string(NameOf(what.role)),
         .device = device,
         .bytes = MultiplyCapped(count, what.bytes)});
  }
}

// Between two steps all trainers evaluate, with arrays that they share, or one
// writes a checkpoint.
void AddCommands(const PlanInput& input, std::vector<MemoryItem>* items) {
  const TrainingProfile& training = input.training;
  const uint64_t evaluation = AddCapped(
      training.evaluation_shared_bytes,
      MultiplyCapped(input.spec.num_trainers(), training.evaluation_bytes));
  const uint64_t bytes = std::max(evaluation, training.checkpoint_bytes);
  if (bytes == 0) return;
  const bool evaluates = evaluation > training.checkpoint_bytes;
  const std::vector<ExecutorPlacement> trainer =
      PlaceExecutors(input.spec.num_samplers(), 1, input.spec.devices);
  items->push_back({.name = evaluates ? "evaluation" : "a checkpoint",
                    .holder = "trainer",
                    .device = evaluates && input.spec.num_trainers() > 1
                                  ? ""  // Of them all.
                                  : trainer.back().device,
                    .bytes = bytes});
}

// Vertices are ranked before there is a segment or a step. Where that takes
// more than all of training, the rest is an item of its own.
void AddRanking(const PlanInput& input, JobPlan* plan) {
  const SamplingProfile& sampling = input.sampling;
  const uint64_t nodes = input.dataset.num_nodes;
  // Each thread of a sampler counts, and one sampler sorts.
  const uint64_t counts = MultiplyCapped(
      MultiplyCapped(input.spec.num_samplers(), sampling.num_threads),
      MultiplyCapped(nodes, sizeof(uint32_t)));
  const uint64_t ranking =
      std::max(AddCapped(counts, MultiplyCapped(input.spec.num_samplers(),
                                                sampling.workspace_bytes)),
               MultiplyCapped(nodes, kBytesToRankAVertex));
  const uint64_t programs = AddCapped(
      MultiplyCapped(input.spec.num_samplers(), sampling.program_bytes),
      MultiplyCapped(input.spec.num_trainers(), input.training.program_bytes));
  const uint64_t bytes = AddCapped(programs, ranking);
  if (bytes <= plan->total_bytes) return;
  plan->memory.push_back({.name = "ranking the vertices, beyond that",
                          .holder = "sampler",
                          .device = "",
                          .bytes = bytes - plan->total_bytes});
  plan->total_bytes = bytes;
}

std::vector<MemoryItem> MappedFiles(const PlanInput& input) {
  std::vector<MemoryItem> mapped = {{.name = "topology",
                                     .holder = "dataset",
                                     .device = "",
                                     .bytes = input.dataset.topology_bytes}};
  if (!ReadsFromDisk(input)) {
    mapped.push_back({.name = "features",
                      .holder = "dataset",
                      .device = "",
                      .bytes = FeatureBytes(input.dataset)});
  }
  return mapped;
}

JobPlan PlanWith(const PlanInput& input, const SegmentOptions& segment) {
  JobPlan plan;
  plan.segment = segment;
  plan.memory = {{.name = absl::StrCat(
                      "queue of ", Counted(segment.num_slots, "slot"), " of ",
                      FormatBytes(segment.slot_bytes), " with weights"),
                  .holder = "segment",
                  .device = "",
                  .bytes = SegmentBytes(segment)}};
  AddPerDevice(input,
               {.role = ExecutorRole::kSampler,
                .name = "sampler",
                .detail = "",
                .bytes = AddCapped(input.sampling.program_bytes,
                                   input.sampling.workspace_bytes)},
               &plan.memory);
  AddPerDevice(input,
               {.role = ExecutorRole::kTrainer,
                .name = "trainer",
                .detail = "",
                .bytes = AddCapped(input.training.program_bytes,
                                   input.training.step_bytes)},
               &plan.memory);
  if (segment.cache_rows > 0) {
    AddPerDevice(input,
                 {.role = ExecutorRole::kTrainer,
                  .name = "cache",
                  .detail = absl::StrCat(" of ", segment.cache_rows, " rows"),
                  .bytes = MultiplyCapped(segment.cache_rows,
                                          input.dataset.feature_row_bytes)},
                 &plan.memory);
  }
  AddCommands(input, &plan.memory);
  for (const MemoryItem& item : plan.memory) {
    plan.total_bytes = AddCapped(plan.total_bytes, item.bytes);
  }
  if (segment.cache_rows > 0) AddRanking(input, &plan);
  plan.mapped = MappedFiles(input);
  return plan;
}

// The fewest slots with which every executor still finds one.
uint32_t FewestSlots(const PlanInput& input, uint32_t wanted) {
  if (input.spec.queue_slots > 0) return wanted;
  return std::min<uint32_t>(
      wanted, input.spec.num_samplers() + input.spec.num_trainers());
}

absl::Status Refuse(const JobPlan& plan, uint64_t have_bytes, bool by_limit) {
  return absl::ResourceExhaustedError(absl::StrCat(
      by_limit ? "limits.memory: " : "memory: ", "the job needs ",
      FormatBytes(plan.total_bytes), " (", DescribeMemory(plan), "), ",
      FormatBytes(have_bytes), by_limit ? " allowed" : " available",
      "; lower sampling.batch_size, sampling.fanouts, model.hidden",
      plan.segment.cache_rows > 0 ? " or cache.capacity" : "",
      plan.segment.staleness > 0 ? " or training.staleness" : "",
      by_limit ? ", or raise limits.memory" : ""));
}

// The plan, with a cache in what it leaves.
JobPlan WithCache(const PlanInput& input, const JobPlan& plan,
                  uint64_t have_bytes) {
  uint64_t rows = AutoCacheRows(input, have_bytes - plan.total_bytes);
  while (rows > 0) {
    SegmentOptions segment = PlanSegment(input, rows);
    segment.num_slots = plan.segment.num_slots;
    const JobPlan cached = PlanWith(input, segment);
    if (cached.total_bytes <= have_bytes) return cached;
    // Marked tasks are larger.
    rows -= std::max<uint64_t>(rows / 8, 1);
  }
  return plan;
}

}  // namespace

DatasetShape ShapeOf(const Dataset& dataset, const TrainingSpec& training) {
  const CscView& graph = dataset.graph();
  const uint64_t index_bytes = std::visit(
      [](auto indices) { return sizeof(*indices.data()); }, graph.indices);
  return {.num_nodes = dataset.num_nodes(),
          .num_train = training.predicts_links() ? dataset.train_edges().size()
                                                 : dataset.train().size(),
          .topology_bytes = graph.indptr.size() * sizeof(*graph.indptr.data()) +
                            dataset.num_edges() * index_bytes,
          .feature_row_bytes = dataset.features().row_bytes()};
}

absl::StatusOr<JobPlan> PlanJob(const PlanInput& input) {
  SegmentOptions segment = PlanSegment(input, CacheRows(input));
  FGNN_RETURN_IF_ERROR(ValidateOptions(segment));
  FGNN_RETURN_IF_ERROR(CheckWarmup(input.spec.training, segment));
  const std::optional<uint64_t> limit = input.spec.limits.memory_bytes;
  const bool by_limit = limit.has_value() && *limit < input.available_bytes;
  const uint64_t have_bytes = HaveBytes(input);
  const uint32_t fewest = FewestSlots(input, segment.num_slots);
  while (true) {
    JobPlan plan = PlanWith(input, segment);
    if (plan.total_bytes <= have_bytes)
      return WithCache(input, plan, have_bytes);
    if (segment.num_slots <= fewest) return Refuse(plan, have_bytes, by_limit);
    --segment.num_slots;
  }
}

std::string DescribeMemory(const JobPlan& plan) {
  return absl::StrJoin(
      plan.memory, " + ", [](std::string* out, const MemoryItem& item) {
        absl::StrAppend(out, item.name, item.device.empty() ? "" : " on ",
                        item.device, " ", FormatBytes(item.bytes));
      });
}

}  // namespace fgnn
