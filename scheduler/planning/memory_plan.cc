#include "scheduler/planning/memory_plan.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "scheduler/planning/capped.h"
#include "scheduler/planning/gpu_plan.h"
#include "scheduler/planning/hosts/host_evaluation.h"
#include "scheduler/planning/parts/part_plan.h"
#include "scheduler/planning/placement.h"
#include "shared/base/units.h"

namespace fgnn {
namespace {

// Bytes for each ranked vertex: its out-degree, its hotness, and the two arrays
// between which vertices are sorted.
constexpr uint64_t kBytesToRankAVertex = 4 + 4 + 2 * 16;

uint64_t FeatureBytes(const DatasetShape& dataset) {
  return MultiplyCapped(dataset.own_rows.value_or(dataset.num_nodes),
                        dataset.feature_row_bytes);
}

// An item that every executor of a role has.
struct PerExecutor {
  ExecutorRole role;
  std::string name;    // Name such as "cache".
  std::string detail;  // Detail such as " of 9 rows".
  // Bytes of each on a device of this kind.
  absl::FunctionRef<uint64_t(DeviceKind)> bytes;
};

// Adds an item for each device that has such executors, in the order of their
// placement.
void AddPerDevice(const PlanInput& input, const PerExecutor& what,
                  std::vector<MemoryItem>* items) {
  std::vector<std::pair<Device, uint32_t>> counts;
  for (const ExecutorPlacement& placement : ExecutorsOf(input.spec)) {
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
         .device = device.name,
         .bytes = MultiplyCapped(count, what.bytes(device.kind))});
  }
}

// Returns the number of trainers in `roles` whose caches take most.
uint32_t TrainersThatCacheMost(const RoleRange& roles,
                               const SegmentOptions& segment) {
  return segment.cache_rows >= segment.standby_cache_rows
             ? roles.most_trainers
             : roles.least_trainers;
}

// The plan does not say which devices have standby trainers, since that is
// planned later and may change.
void AddCachesByRole(const PlanInput& input, const SegmentOptions& segment,
                     const RoleRange& roles, std::vector<MemoryItem>* items) {
  const uint32_t trainers = TrainersThatCacheMost(roles, segment);
  const uint32_t standbys = input.spec.num_trainers() - trainers;
  const auto add = [&](uint32_t count, const char* what, uint64_t rows) {
    items->push_back(
        {.name = absl::StrCat(Counted(count, what), " of ", rows, " rows"),
         .holder = "trainer",
         .device = "",
         .bytes = MultiplyCapped(
             count, MultiplyCapped(rows, input.dataset.feature_row_bytes))});
  };
  if (trainers > 0) add(trainers, "cache", segment.cache_rows);
  if (standbys > 0 && input.spec.switching) {
    add(standbys, "standby cache", segment.standby_cache_rows);
  }
}

// The table lies in the one memory that all cores of the host have.
void AddSharedTable(const PlanInput& input, const SegmentOptions& segment,
                    std::vector<MemoryItem>* items) {
  items->push_back(
      {.name = absl::StrCat("cache of ", segment.cache_rows, " rows that ",
                            input.spec.num_trainers(), " trainers share"),
       .holder = "trainer",
       .device = "",
       .bytes = MultiplyCapped(segment.cache_rows, segment.shared_row_bytes)});
}

// Adds what trainers on GPUs have in the host's memory for parts.
void AddParts(const PlanInput& input, const SegmentOptions& segment,
              std::vector<MemoryItem>* items) {
  if (!TrainsOnGpus(input.spec)) return;
  const auto add = [&](const char* name, const char* detail, uint64_t bytes) {
    if (bytes == 0) return;
    AddPerDevice(input,
                 {.role = ExecutorRole::kTrainer,
                  .name = name,
                  .detail = detail,
                  .bytes = [bytes](DeviceKind) { return bytes; }},
                 items);
  };
  add("pinned exchange", "", ExchangeMemoryOnGpu(input).pinned_bytes);
  add("map", " of cached rows", HomePlacesBytes(input, segment));
}

void AddCaches(const PlanInput& input, const SegmentOptions& segment,
               const RoleRange& roles, std::vector<MemoryItem>* items) {
  // The caches of GPUs lie in their memory.
  if (!segment.plans_caches() || TrainsOnGpus(input.spec)) return;
  if (segment.shares_table()) return AddSharedTable(input, segment, items);
  if (input.spec.executors == "factored") {
    AddCachesByRole(input, segment, roles, items);
    return;
  }
  AddPerDevice(input,
               {.role = ExecutorRole::kTrainer,
                .name = "cache",
                .detail = absl::StrCat(" of ", segment.cache_rows, " rows"),
                .bytes =
                    [&](DeviceKind) {
                      return MultiplyCapped(segment.cache_rows,
                                            input.dataset.feature_row_bytes);
                    }},
               items);
}

uint64_t SamplerBytes(const PlanInput& input, const SamplingProfile& sampling) {
  return AddCapped(AddCapped(sampling.program_bytes, sampling.workspace_bytes),
                   SplittingBytes(input, sampling));
}

// Returns the sum over the job's samplers, each by what was measured on its
// kind of device.
uint64_t SumOverSamplers(
    const PlanInput& input,
    absl::FunctionRef<uint64_t(const SamplingProfile&)> bytes) {
  uint64_t sum = 0;
  for (const ExecutorPlacement& executor : ExecutorsOf(input.spec)) {
    if (executor.role != ExecutorRole::kSampler) continue;
    sum = AddCapped(sum, bytes(SamplingOn(input, executor.device.kind)));
  }
  return sum;
}

uint64_t TrainerBytes(const PlanInput& input) {
  return AddCapped(input.training.program_bytes, input.training.step_bytes);
}

uint64_t EvaluationBytes(const PlanInput& input) {
  // With "auto", all hosts evaluate only where there is room.
  const bool do_hosts = input.num_hosts > 1 &&
                        input.training.evaluation_bytes > 0 &&
                        input.spec.hosts.evaluation == "all";
  const uint64_t of_hosts = do_hosts ? ResultBytes(input) : 0;
  return AddCapped(AddCapped(input.training.evaluation_shared_bytes, of_hosts),
                   MultiplyCapped(input.spec.num_trainers(),
                                  input.training.evaluation_bytes));
}

// Returns the bytes of the work between two steps: all trainers evaluate, with
// arrays that they share, or one writes a checkpoint.
uint64_t CommandBytes(const PlanInput& input) {
  return std::max(EvaluationBytes(input), input.training.checkpoint_bytes);
}

void AddCommands(const PlanInput& input, std::vector<MemoryItem>* items) {
  const uint64_t bytes = CommandBytes(input);
  if (bytes == 0) return;
  const bool evaluates =
      EvaluationBytes(input) > input.training.checkpoint_bytes;
  items->push_back({.name = evaluates ? "evaluation" : "a checkpoint",
                    .holder = "trainer",
                    .device = evaluates && input.spec.num_trainers() > 1
                                  ? ""  // Shared by all devices.
                                  : FirstDeviceWith(ExecutorRole::kTrainer,
                                                    ExecutorsOf(input.spec))
                                        .name,
                    .bytes = bytes});
}

// Adds the bytes for ranking vertices, which is done before there is a segment
// or a step. If ranking takes more than training, the difference is an item of
// its own.
void AddRanking(const PlanInput& input, JobPlan* plan) {
  const uint64_t nodes = input.dataset.num_nodes;
  // Each thread of a sampler has its own counts, and one sampler sorts.
  const uint64_t counting =
      SumOverSamplers(input, [&](const SamplingProfile& sampling) {
        return AddCapped(
            MultiplyCapped(sampling.num_threads,
                           MultiplyCapped(nodes, sizeof(uint32_t))),
            sampling.workspace_bytes);
      });
  const uint64_t ranking =
      std::max(counting, MultiplyCapped(nodes, kBytesToRankAVertex));
  const uint64_t programs = AddCapped(
      SumOverSamplers(input,
                      [](const SamplingProfile& sampling) {
                        return sampling.program_bytes;
                      }),
      MultiplyCapped(input.spec.num_trainers(), input.training.program_bytes));
  const uint64_t bytes = AddCapped(programs, ranking);
  if (bytes <= plan->total_bytes) return;
  plan->memory.push_back({.name = "ranking the vertices, beyond that",
                          .holder = "sampler",
                          .device = "",
                          .bytes = bytes - plan->total_bytes});
  plan->total_bytes = bytes;
}

uint64_t PinnedFeatureBytes(const PlanInput& input) {
  return input.training.gpu.value_or(GpuMemory()).pinned_bytes;
}

// What GPUs read stays in memory, once for all of them.
std::vector<MemoryItem> PinnedFiles(const PlanInput& input,
                                    const SegmentOptions& segment) {
  std::vector<MemoryItem> pinned;
  const auto add = [&](const char* name, const char* holder, uint64_t bytes) {
    pinned.push_back(
        {.name = name, .holder = holder, .device = "", .bytes = bytes});
  };
  if (segment.topology_on_host != 0) {
    // With tables of weights the topology is larger than the dataset's.
    const GpuMemory on_gpu =
        SamplingOn(input, DeviceKind::kCuda).gpu.value_or(GpuMemory());
    add("topology, pinned for GPUs", "sampler",
        std::max(input.dataset.topology_bytes, on_gpu.topology_bytes));
  }
  if (PinsFeatures(input)) {
    add("features, pinned for GPUs", "trainer", PinnedFeatureBytes(input));
  }
  return pinned;
}

std::vector<MemoryItem> MappedFiles(const PlanInput& input,
                                    const SegmentOptions& segment) {
  std::vector<MemoryItem> mapped;
  if (segment.topology_on_host == 0) {
    mapped.push_back({.name = "topology",
                      .holder = "dataset",
                      .device = "",
                      .bytes = input.dataset.topology_bytes});
  }
  if (!ReadsFromDisk(input) && !PinsFeatures(input)) {
    const std::optional<uint64_t>& own = input.dataset.own_rows;
    mapped.push_back({.name = own.has_value() ? absl::StrCat("features of its ",
                                                             *own, " own rows")
                                              : "features",
                      .holder = "dataset",
                      .device = "",
                      .bytes = FeatureBytes(input.dataset)});
  }
  return mapped;
}

}  // namespace

uint64_t BytesIn(const std::vector<MemoryItem>& items, std::string_view place) {
  uint64_t bytes = 0;
  for (const MemoryItem& item : items) {
    if (item.place == place) bytes = AddCapped(bytes, item.bytes);
  }
  return bytes;
}

CacheRows RowsOfEach(const PlanInput& input) {
  const CacheSpec& cache = input.spec.cache;
  if (cache.policy == "none") return {};
  const auto rows = [&](const std::optional<double>& share) {
    return static_cast<uint64_t>(std::floor(
        share.value_or(0) * static_cast<double>(input.dataset.num_nodes)));
  };
  return {rows(cache.capacity), rows(cache.standby_capacity)};
}

bool PinsFeatures(const PlanInput& input) {
  return PinnedFeatureBytes(input) > 0;
}

bool ReadsFromDisk(const PlanInput& input) {
  return input.spec.features.store == "disk" ||
         (input.spec.features.store == "auto" &&
          FeatureBytes(input.dataset) > input.available_bytes);
}

bool LoadsRows(const PlanInput& input) {
  return ReadsFromDisk(input) || input.dataset.own_rows.has_value();
}

std::string Counted(uint64_t count, const std::string& what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

JobPlan PlanMemory(const PlanInput& input, const SegmentOptions& segment,
                   const RoleRange& roles) {
  JobPlan plan;
  plan.segment = segment;
  if (input.spec.executors == "factored") {
    plan.segment.most_samplers =
        input.spec.num_samplers() - roles.least_trainers;
    plan.segment.most_trainers = roles.most_trainers;
  }
  plan.memory = {{.name = absl::StrCat(
                      "queue of ", Counted(segment.num_slots, "slot"), " of ",
                      FormatBytes(segment.slot_bytes), " with weights"),
                  .holder = "segment",
                  .device = "",
                  .bytes = SegmentBytes(segment)}};
  if (const uint64_t bytes = MeasuredMessageBytes(input, segment); bytes > 0) {
    plan.memory.push_back(
        {.name = absl::StrCat("messages between ", segment.parts, " parts"),
         .holder = "segment",
         .device = "",
         .bytes = bytes});
  }
  if (const uint64_t bytes = UsualOverflowBytes(segment); bytes > 0) {
    plan.memory.push_back(
        {.name =
             Counted(segment.num_overflow_blocks, "block") + " for large parts",
         .holder = "segment",
         .device = "",
         .bytes = bytes});
  }
  AddPerDevice(input,
               {.role = ExecutorRole::kSampler,
                .name = "sampler",
                .detail = "",
                .bytes =
                    [&](DeviceKind kind) {
                      return SamplerBytes(input, SamplingOn(input, kind));
                    }},
               &plan.memory);
  AddPerDevice(input,
               {.role = ExecutorRole::kTrainer,
                .name = "trainer",
                .detail = "",
                .bytes = [&](DeviceKind) { return TrainerBytes(input); }},
               &plan.memory);
  AddParts(input, segment, &plan.memory);
  AddCaches(input, segment, roles, &plan.memory);
  const std::vector<MemoryItem> pinned = PinnedFiles(input, segment);
  plan.memory.insert(plan.memory.end(), pinned.begin(), pinned.end());
  AddCommands(input, &plan.memory);
  plan.total_bytes = BytesIn(plan.memory, kHostMemory);
  if (segment.plans_caches()) AddRanking(input, &plan);
  plan.mapped = MappedFiles(input, segment);
  const std::vector<MemoryItem> on_gpus = GpuItems(input, segment);
  plan.gpus = GpuSums(input, on_gpus);
  plan.memory.insert(plan.memory.end(), on_gpus.begin(), on_gpus.end());
  return plan;
}

RoleMemory MemoryByRole(const PlanInput& input, const SegmentOptions& segment,
                        uint64_t have_bytes) {
  const uint64_t daemons =
      AddCapped(SamplerBytes(input, input.sampling), TrainerBytes(input));
  const uint64_t row_bytes = input.dataset.feature_row_bytes;
  const uint64_t of_parts = AddCapped(MeasuredMessageBytes(input, segment),
                                      UsualOverflowBytes(segment));
  const uint64_t other = AddCapped(AddCapped(SegmentBytes(segment), of_parts),
                                   CommandBytes(input));
  if (segment.shares_table()) {
    return {.num_devices = input.spec.num_trainers(),
            .sampler_bytes = daemons,
            .trainer_bytes = daemons,
            .other_bytes =
                AddCapped(other, MultiplyCapped(segment.cache_rows, row_bytes)),
            .have_bytes = have_bytes};
  }
  return {.num_devices = input.spec.num_trainers(),
          .sampler_bytes = AddCapped(
              daemons, MultiplyCapped(segment.standby_cache_rows, row_bytes)),
          .trainer_bytes =
              AddCapped(daemons, MultiplyCapped(segment.cache_rows, row_bytes)),
          .other_bytes = other,
          .have_bytes = have_bytes};
}

}  // namespace fgnn
