#include "scheduler/planning/job_plan.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/planning/cache_capacity.h"
#include "scheduler/planning/capped.h"
#include "scheduler/planning/gpu_plan.h"
#include "scheduler/planning/memory_plan.h"
#include "scheduler/planning/parts/part_plan.h"
#include "scheduler/planning/role_range.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/config/rules/match_rules.h"
#include "shared/minibatch/task.h"

namespace fgnn {
namespace {

constexpr uint64_t kTaskArrayPadding = 64;
constexpr uint32_t kUsualSlots = 8;
// Slots for each device that takes turns, so that it does not change roles at
// each batch.
constexpr uint32_t kSlotsPerTurn = 8;
// Part of memory, one in kQueueShare, that the queue of a single device may
// take; it samples an epoch and then trains it.
constexpr uint64_t kQueueShare = 8;
// Slots for a trainer that looks ahead: some 16 batches that it has not claimed
// yet, and those that are sampled and trained.
constexpr uint64_t kSlotsOfWindow = 24;

// Returns enough slots that no executor waits for one while another holds its
// own. That is the batches of the open steps and of the next one, and one more
// for each batch that an executor may hold.
uint32_t WantedSlots(const PlanInput& input, const SegmentOptions& segment) {
  const JobSpec& spec = input.spec;
  if (spec.queue_slots > 0) return spec.queue_slots;
  const uint32_t sampler_threads = std::max<uint32_t>(spec.sampling.threads, 1);
  const uint64_t hands =
      (uint64_t{spec.training.most_staleness()} + 2) * segment.own_places() +
      uint64_t{spec.num_samplers()} * sampler_threads +
      uint64_t{2} * spec.num_trainers();
  uint64_t wanted = std::max<uint64_t>(hands, kUsualSlots);
  // Tasks have no ranks that are in the queue when online counts become an
  // order of the cache.
  if (ChooseMatch(spec, LoadsRows(input)).looks_ahead &&
      spec.cache.policy != "online") {
    wanted = std::max(wanted, kSlotsOfWindow);
  }
  if (spec.takes_turns()) {
    wanted = std::max(wanted, kSlotsPerTurn * uint64_t{spec.devices.size()});
  }
  // At most two epochs are open at once, so more tasks than theirs are never in
  // the queue.
  return static_cast<uint32_t>(std::min<uint64_t>(
      {wanted, std::max<uint64_t>(2 * segment.batches_per_epoch, 1),
       kMaxSlots}));
}

// Returns whether standby trainers cache as much as the memory left allows.
bool HasAutoStandby(const PlanInput& input) {
  const CacheSpec& cache = input.spec.cache;
  return input.spec.has_standbys() && !cache.standby_capacity.has_value() &&
         cache.policy != "none";
}

// Returns the rows for each of `num_trainers` trainers that fit into the memory
// left.
uint64_t RowsIn(const PlanInput& input, uint64_t left_bytes,
                uint32_t num_trainers) {
  if (num_trainers == 0 || input.dataset.feature_row_bytes == 0) return 0;
  // An eighth stays for the kernel and for needs that no plan knows.
  const uint64_t usable = left_bytes - left_bytes / 8;
  return std::min(input.dataset.num_nodes,
                  usable / input.dataset.feature_row_bytes / num_trainers);
}

// Returns whether trainers cache as much as fits. Mapped features that fit into
// memory need no cache.
bool HasAutoCache(const PlanInput& input) {
  const CacheSpec& cache = input.spec.cache;
  return LoadsRows(input) && !cache.capacity.has_value() &&
         cache.policy != "none";
}

// Returns whether the trainers share one table. Mapped features are shared
// anyway, and a table of a trainer's own has huge pages; but trainers that
// share inputs need a row once (GSplit). GPUs have their own.
bool SharesTable(const PlanInput& input) {
  return (LoadsRows(input) || SharesInputs(input)) &&
         input.spec.num_trainers() > 1 && !TrainsOnGpus(input.spec);
}

// Rows of the table that trainers share, between which memory decides.
struct TableRows {
  uint64_t least = 0;
  uint64_t most = 0;
};

// Returns the sums of the rows that trainers would have cached alone: with the
// fewest and with the most trainers that are no standby trainers.
TableRows TableRowsAskedFor(const PlanInput& input) {
  if (HasAutoCache(input)) return {0, input.dataset.num_nodes};
  const CacheRows each = RowsOfEach(input);
  const RoleRange roles = RolesOf(input.spec);
  const auto sum = [&](uint32_t trainers, uint64_t standby) {
    const uint32_t standbys = input.spec.num_trainers() - trainers;
    return std::min(input.dataset.num_nodes,
                    AddCapped(MultiplyCapped(trainers, each.trainer),
                              MultiplyCapped(standbys, standby)));
  };
  const uint64_t standby = HasAutoStandby(input) ? each.trainer : each.standby;
  return {std::min(sum(roles.least_trainers, each.standby),
                   sum(roles.most_trainers, each.standby)),
          std::max(sum(roles.least_trainers, standby),
                   sum(roles.most_trainers, standby))};
}

// Returns the rows to begin with. Memory that is left may take more, but not a
// GPU's.
CacheRows RowsAskedFor(const PlanInput& input, const GpuChoice& gpus) {
  if (TrainsOnGpus(input.spec)) return gpus.rows;
  if (!SharesTable(input)) return RowsOfEach(input);
  const uint64_t rows = TableRowsAskedFor(input).least;
  return {rows, rows};
}

absl::Status CheckWarmup(const TrainingSpec& training,
                         const SegmentOptions& segment) {
  const uint64_t steps = JobShape(segment).num_steps();
  if (training.warmup_steps < steps) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "training.warmup_steps is ", training.warmup_steps, ", but the job has ",
      steps,
      " steps, so that training.learning_rate would never be reached; "
      "lower it, or raise training.epochs"));
}

SegmentOptions PlanSegment(const PlanInput& input, const CacheRows& rows,
                           bool topology_on_host) {
  const JobSpec& spec = input.spec;
  const SamplingProfile& sampling = input.sampling;
  SegmentOptions segment;
  segment.job_key = input.job_key;
  segment.batches_per_epoch =
      input.own_batches > 0
          ? input.own_batches
          : BatchesPerEpoch(input.dataset.num_train, spec.sampling.batch_size);
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
  if (spec.training.sync == "nccl") segment.num_members = spec.num_trainers();
  segment.num_hosts = input.num_hosts;
  segment.places_before = input.places_before;
  segment.places_after = input.places_after;
  segment.num_slots = WantedSlots(input, segment);
  segment.cache_rows = rows.trainer;
  segment.standby_cache_rows = rows.standby;
  segment.topology_on_host = topology_on_host ? 1 : 0;
  if (SharesTable(input) && segment.plans_caches()) {
    segment.shared_row_bytes = input.dataset.feature_row_bytes;
  }
  // Tasks were measured without hot ranks, so these are added.
  const uint64_t rank_bytes =
      segment.plans_caches()
          ? MultiplyCapped(sampling.max_input_nodes, sizeof(uint32_t)) +
                kTaskArrayPadding
          : 0;
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
    // With parts, slots have twice the room of a batch.
    const uint64_t room = HaveBytes(input) / kQueueShare / segment.slot_bytes /
                          (spec.training.parts > 1 ? 2 : 1);
    const uint64_t epoch =
        std::min<uint64_t>(segment.batches_per_epoch, kMaxSlots);
    segment.num_slots = static_cast<uint32_t>(
        std::max<uint64_t>(segment.num_slots, std::min(room, epoch)));
  }
  PlanParts(input, &segment);
  return segment;
}

// Returns the fewest slots with which every executor still finds one.
uint32_t FewestSlots(const PlanInput& input, uint32_t wanted) {
  if (input.spec.queue_slots > 0) return wanted;
  const uint32_t hands = input.spec.num_samplers() + input.spec.num_trainers();
  return std::min(wanted, hands * std::max(input.spec.training.parts, 1U));
}

// Returns the number of trainers with which the caches take least.
RoleRange CheapestOf(const RoleRange& roles, const SegmentOptions& segment) {
  const uint32_t trainers = segment.cache_rows >= segment.standby_cache_rows
                                ? roles.least_trainers
                                : roles.most_trainers;
  return {trainers, trainers};
}

absl::Status Refuse(const PlanInput& input, const JobPlan& plan,
                    uint64_t have_bytes, bool by_limit) {
  // A limit that is too low is an error in the job; little memory is not.
  const auto code = by_limit ? absl::StatusCode::kInvalidArgument
                             : absl::StatusCode::kResourceExhausted;
  return absl::Status(
      code,
      absl::StrCat(
          by_limit ? "limits.memory: " : "memory: ", "the job needs ",
          FormatBytes(plan.total_bytes), " (", DescribeMemory(plan), "), ",
          FormatBytes(have_bytes), by_limit ? " allowed" : " available",
          "; lower sampling.batch_size, sampling.fanouts, model.hidden",
          plan.segment.plans_caches() && !TrainsOnGpus(input.spec)
              ? " or cache.capacity"
              : "",
          plan.segment.staleness > 0 ? " or training.staleness" : "",
          PinsFeatures(input) ? ", or set features.store to disk" : "",
          by_limit ? ", or raise limits.memory" : ""));
}

JobPlan Cached(const PlanInput& input, const JobPlan& plan,
               const RoleRange& roles, const CacheRows& rows) {
  SegmentOptions segment =
      PlanSegment(input, rows, plan.segment.topology_on_host != 0);
  segment.num_slots = plan.segment.num_slots;
  return PlanMemory(input, segment, roles);
}

// Returns the plan, with as large a table for all trainers as memory allows.
JobPlan WithTable(const PlanInput& input, const JobPlan& plan,
                  const RoleRange& roles, uint64_t have_bytes) {
  const TableRows asked = TableRowsAskedFor(input);
  uint64_t more = std::min(asked.most - asked.least,
                           RowsIn(input, have_bytes - plan.total_bytes, 1));
  while (more > 0) {
    const uint64_t rows = asked.least + more;
    const JobPlan cached = Cached(input, plan, roles, {rows, rows});
    if (cached.total_bytes <= have_bytes) return cached;
    more -= std::max<uint64_t>(more / 8, 1);  // As in WithCaches().
  }
  return plan;
}

// Returns the plan, with caches in the memory that it leaves.
JobPlan WithCaches(const PlanInput& input, const JobPlan& plan,
                   const RoleRange& roles, uint64_t have_bytes) {
  if (TrainsOnGpus(input.spec)) return plan;  // It has them already.
  if (SharesTable(input)) return WithTable(input, plan, roles, have_bytes);
  const uint64_t left_bytes = have_bytes - plan.total_bytes;
  const uint32_t all = input.spec.num_trainers();
  const bool auto_standby = HasAutoStandby(input);
  CacheRows rows = {plan.segment.cache_rows, plan.segment.standby_cache_rows};
  if (!HasAutoCache(input)) {
    if (!auto_standby || !plan.segment.plans_caches()) return plan;
    rows.standby = std::min(
        rows.trainer, RowsIn(input, left_bytes, all - roles.most_trainers));
    return Cached(input, plan, roles, rows);
  }
  rows.trainer =
      RowsIn(input, left_bytes, auto_standby ? all : roles.most_trainers);
  while (rows.trainer > 0) {
    if (auto_standby) rows.standby = rows.trainer;
    const JobPlan cached = Cached(input, plan, roles, rows);
    if (cached.total_bytes <= have_bytes) return cached;
    // The caches' marks make tasks larger, so fewer rows are tried.
    rows.trainer -= std::max<uint64_t>(rows.trainer / 8, 1);
  }
  return plan;
}

}  // namespace

DatasetShape ShapeOf(const DatasetSizes& sizes, const TrainingSpec& training) {
  return {
      .num_nodes = sizes.num_nodes,
      .num_train =
          training.predicts_links() ? sizes.edges.train : sizes.vertices.train,
      .topology_bytes = sizes.topology_bytes,
      .feature_columns = sizes.feature_columns,
      .feature_row_bytes = sizes.feature_row_bytes,
      .num_edges = sizes.num_edges,
      .num_scored = training.predicts_links()
                        ? sizes.num_nodes
                        : std::max(sizes.vertices.valid, sizes.vertices.test),
      .num_outputs = std::max(sizes.num_classes, sizes.target_columns),
      .own_rows = sizes.host_rows.has_value()
                      ? std::optional(sizes.num_feature_rows)
                      : std::nullopt};
}

const SamplingProfile& SamplingOn(const PlanInput& input, DeviceKind kind) {
  const bool is_gpus =
      kind == DeviceKind::kCuda && input.sampling_on_gpus.has_value();
  return is_gpus ? *input.sampling_on_gpus : input.sampling;
}

uint64_t HaveBytes(const PlanInput& input) {
  return std::min(input.available_bytes,
                  input.spec.limits.memory_bytes.value_or(UINT64_MAX));
}

absl::StatusOr<JobPlan> PlanJob(const PlanInput& input) {
  const RoleRange asked = RolesOf(input.spec);
  FGNN_ASSIGN_OR_RETURN(const GpuChoice gpus, ChooseForGpus(input));
  SegmentOptions segment =
      PlanSegment(input, RowsAskedFor(input, gpus), gpus.topology_on_host);
  segment.hidden_on_gpu = gpus.hidden_on_gpu ? 1 : 0;
  FGNN_RETURN_IF_ERROR(CheckMessages(input));
  FGNN_RETURN_IF_ERROR(ValidateOptions(segment));
  FGNN_RETURN_IF_ERROR(CheckWarmup(input.spec.training, segment));
  const std::optional<uint64_t> limit = input.spec.limits.memory_bytes;
  const bool by_limit = limit.has_value() && *limit < input.available_bytes;
  const uint64_t have_bytes = HaveBytes(input);
  const uint32_t fewest = FewestSlots(input, segment.num_slots);
  JobPlan plan = PlanMemory(input, segment, asked);
  while (plan.total_bytes > have_bytes && segment.num_slots > fewest) {
    segment.num_slots -= static_cast<uint32_t>(segment.parts);
    plan = PlanMemory(input, segment, asked);
  }
  RoleRange roles = asked;
  if (plan.total_bytes > have_bytes) {
    const std::optional<RoleRange> fit =
        input.spec.executors == "factored" && !TrainsOnGpus(input.spec)
            ? RolesThatFit(asked, MemoryByRole(input, segment, have_bytes))
            : std::nullopt;
    roles = fit.value_or(CheapestOf(asked, segment));
    plan = PlanMemory(input, segment, roles);
    if (plan.total_bytes > have_bytes) {
      return Refuse(input, plan, have_bytes, by_limit);
    }
  }
  return WithCaches(input, plan, roles, have_bytes);
}

std::string DescribeRoleLimits(const JobPlan& plan, const JobSpec& spec) {
  if (spec.executors != "factored") return "";
  const RoleRange asked = RolesOf(spec);
  const uint32_t devices = spec.num_samplers();
  const auto at_most = [&](uint32_t most, const char* what) {
    return absl::StrCat("memory allows at most ", most, " of ", devices,
                        " devices to be planned to ", what);
  };
  std::vector<std::string> limits;
  if (plan.segment.most_samplers < devices - asked.least_trainers) {
    limits.push_back(at_most(plan.segment.most_samplers, "sample"));
  }
  if (plan.segment.most_trainers < asked.most_trainers) {
    limits.push_back(at_most(plan.segment.most_trainers, "train"));
  }
  return absl::StrJoin(limits, ", ");
}

std::string DescribeItems(const std::vector<MemoryItem>& items,
                          std::string_view place) {
  std::vector<std::string> texts;
  for (const MemoryItem& item : items) {
    if (item.place != place) continue;
    const bool names_device = place == kHostMemory && !item.device.empty();
    texts.push_back(absl::StrCat(item.name, names_device ? " on " : "",
                                 names_device ? item.device : "", " ",
                                 FormatBytes(item.bytes)));
  }
  return absl::StrJoin(texts, " + ");
}

std::string DescribeMemory(const JobPlan& plan) {
  return DescribeItems(plan.memory, kHostMemory);
}

std::string DescribeGpuMemory(const JobPlan& plan) {
  std::string text;
  for (const PlaceBytes& gpu : plan.gpus) {
    absl::StrAppend(&text, "; ", gpu.place, " ", FormatBytes(gpu.total_bytes),
                    " of ", FormatBytes(gpu.have_bytes), ": ",
                    DescribeItems(plan.memory, gpu.place));
  }
  return text;
}

}  // namespace fgnn
