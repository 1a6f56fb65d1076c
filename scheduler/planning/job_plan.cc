#include "scheduler/planning/job_plan.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/minibatch/task.h"

namespace fgnn {
namespace {

// Measured: resident bytes of the programs before they have work to do. The
// trainer's are libtorch's.
constexpr uint64_t kSamplerProgramBytes = uint64_t{24} << 20;
constexpr uint64_t kTrainerProgramBytes = uint64_t{160} << 20;
constexpr uint64_t kTaskArrayPadding = 64;
constexpr uint32_t kUsualSlots = 8;
constexpr uint32_t kMaxSlots = 4096;

uint64_t MultiplyCapped(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

uint64_t AddCapped(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

// Enough that no executor waits for a slot while another holds its own: two
// steps' batches, and one in each hand of everybody.
uint32_t WantedSlots(const JobSpec& spec, uint64_t batches_per_epoch) {
  if (spec.queue_slots > 0) return spec.queue_slots;
  const uint32_t sampler_threads = std::max<uint32_t>(spec.sampling.threads, 1);
  const uint64_t hands = uint64_t{2} * spec.training.batches_per_step +
                         uint64_t{spec.samplers} * sampler_threads +
                         uint64_t{2} * spec.trainers;
  const uint64_t wanted = std::max<uint64_t>(hands, kUsualSlots);
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

// Rows that fit into what the plan leaves, where trainers may take what they
// like. Mapped features that fit into memory are there already.
uint64_t AutoCacheRows(const PlanInput& input, uint64_t left_bytes) {
  const DatasetShape& dataset = input.dataset;
  const uint64_t feature_bytes =
      MultiplyCapped(dataset.num_nodes, dataset.feature_row_bytes);
  const bool on_disk = input.spec.features.store == "disk" ||
                       (input.spec.features.store == "auto" &&
                        feature_bytes > input.available_bytes);
  const CacheSpec& cache = input.spec.cache;
  if (!on_disk || cache.capacity.has_value() || cache.policy == "none" ||
      dataset.feature_row_bytes == 0) {
    return 0;
  }
  // The kernel's own needs and what no plan knows.
  const uint64_t usable = left_bytes - left_bytes / 8;
  return std::min(dataset.num_nodes,
                  usable / dataset.feature_row_bytes / input.spec.trainers);
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
  segment.num_parameters = input.model.num_parameters;
  segment.optimizer_floats_per_parameter =
      input.model.optimizer_floats_per_parameter;
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
    segment.num_overflow_blocks = spec.samplers;
    segment.overflow_bytes = bound;
  }
  return segment;
}

// Vertices that a layer computes for one batch: at most those that its hops
// can reach, at most the batch's input nodes.
uint64_t LayerVertices(const PlanInput& input, uint32_t hops) {
  uint64_t vertices = input.spec.sampling.batch_size;
  for (uint32_t hop = 0; hop < hops; ++hop) {
    const int32_t fanout = input.spec.sampling.fanouts[hop];
    // LABOR's fanouts are means, not bounds.
    if (fanout < 0 || input.spec.sampling.kind == "labor") {
      return input.sampling.max_input_nodes;
    }
    vertices = MultiplyCapped(vertices, static_cast<uint64_t>(fanout) + 1);
  }
  return std::min(vertices, input.sampling.max_input_nodes);
}

// Features and activations of one batch in a trainer: each layer keeps its
// aggregate and its output, and as much again for their gradients.
uint64_t BatchBytes(const PlanInput& input) {
  const JobSpec& spec = input.spec;
  const uint64_t columns = input.dataset.feature_columns;
  uint64_t bytes = MultiplyCapped(
      MultiplyCapped(input.sampling.max_input_nodes, columns * 4),
      uint64_t{1} + spec.features.ahead);
  const uint32_t layers = std::min<uint32_t>(
      spec.model.layers, static_cast<uint32_t>(spec.sampling.fanouts.size()));
  for (uint32_t layer = 0; layer < layers; ++layer) {
    const uint64_t width_in = layer == 0 ? columns : spec.model.hidden;
    const uint64_t width_out =
        layer + 1 == layers ? input.dataset.num_classes : spec.model.hidden;
    bytes = AddCapped(bytes,
                      MultiplyCapped(LayerVertices(input, layers - 1 - layer),
                                     (width_in + width_out) * 4 * 2));
  }
  return bytes;
}

// Layer by layer over the whole graph: one layer's output is the next one's
// input.
uint64_t EvaluationBytes(const PlanInput& input) {
  if (input.spec.training.evaluate_every == 0) return 0;
  const uint64_t buffers = std::min<uint64_t>(input.spec.model.layers - 1, 2);
  return MultiplyCapped(input.dataset.num_nodes,
                        buffers * input.spec.model.hidden * 4);
}

std::string Counted(uint64_t count, const char* what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

JobPlan PlanWith(const PlanInput& input, const SegmentOptions& segment) {
  const JobSpec& spec = input.spec;
  JobPlan plan;
  plan.segment = segment;
  plan.memory = {
      {absl::StrCat("queue of ", Counted(segment.num_slots, "slot"), " of ",
                    FormatBytes(segment.slot_bytes), " with weights"),
       SegmentBytes(segment)},
      {Counted(spec.samplers, "sampler"),
       MultiplyCapped(spec.samplers, AddCapped(input.sampling.workspace_bytes,
                                               kSamplerProgramBytes))},
      {Counted(spec.trainers, "trainer"),
       MultiplyCapped(spec.trainers,
                      AddCapped(BatchBytes(input), kTrainerProgramBytes))}};
  if (segment.cache_rows > 0) {
    plan.memory.push_back(
        {absl::StrCat(Counted(spec.trainers, "cache"), " of ",
                      segment.cache_rows, " rows"),
         MultiplyCapped(spec.trainers,
                        MultiplyCapped(segment.cache_rows,
                                       input.dataset.feature_row_bytes))});
  }
  if (const uint64_t bytes = EvaluationBytes(input); bytes > 0) {
    plan.memory.push_back({"evaluation", bytes});
  }
  for (const MemoryItem& item : plan.memory) {
    plan.total_bytes = AddCapped(plan.total_bytes, item.bytes);
  }
  return plan;
}

// The fewest slots with which every executor still finds one.
uint32_t FewestSlots(const PlanInput& input, uint32_t wanted) {
  if (input.spec.queue_slots > 0) return wanted;
  return std::min<uint32_t>(wanted, input.spec.samplers + input.spec.trainers);
}

absl::Status Refuse(const JobPlan& plan, uint64_t have_bytes, bool by_limit) {
  return absl::ResourceExhaustedError(absl::StrCat(
      by_limit ? "limits.memory: " : "memory: ", "the job needs ",
      FormatBytes(plan.total_bytes), " (", DescribeMemory(plan), "), ",
      FormatBytes(have_bytes), by_limit ? " allowed" : " available",
      "; lower sampling.batch_size, sampling.fanouts, model.hidden",
      plan.segment.cache_rows > 0 ? " or cache.capacity" : "",
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

DatasetShape ShapeOf(const Dataset& dataset) {
  return {.num_nodes = dataset.num_nodes(),
          .num_train = dataset.train().size(),
          .feature_columns = dataset.features().columns,
          .feature_row_bytes = dataset.features().row_bytes(),
          .num_classes = dataset.num_classes()};
}

absl::StatusOr<JobPlan> PlanJob(const PlanInput& input) {
  SegmentOptions segment = PlanSegment(input, CacheRows(input));
  FGNN_RETURN_IF_ERROR(ValidateOptions(segment));
  const std::optional<uint64_t> limit = input.spec.limits.memory_bytes;
  const bool by_limit = limit.has_value() && *limit < input.available_bytes;
  const uint64_t have_bytes = by_limit ? *limit : input.available_bytes;
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
        absl::StrAppend(out, item.name, " ", FormatBytes(item.bytes));
      });
}

}  // namespace fgnn
