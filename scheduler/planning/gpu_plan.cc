#include "scheduler/planning/gpu_plan.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "scheduler/planning/capped.h"
#include "scheduler/planning/memory_plan.h"
#include "scheduler/planning/parts/part_plan.h"
#include "scheduler/planning/placement.h"
#include "shared/base/units.h"
#include "shared/device/device.h"

namespace fgnn {
namespace {

// A GPU and the executors on it.
struct LoadedGpu {
  std::string device = {};  // Name in the job, "cuda:0+cpu:0-3".
  std::string place = {};   // "cuda:0".
  uint32_t samplers = 0;
  uint32_t trainers = 0;
};

// Returns the job's GPUs in the order of their executors' placement.
std::vector<LoadedGpu> GpusOf(const JobSpec& spec) {
  std::vector<LoadedGpu> gpus;
  for (const ExecutorPlacement& executor : ExecutorsOf(spec)) {
    if (executor.device.kind == DeviceKind::kCpu) continue;
    const std::string place = MemoryPlaceOf(executor.device);
    auto gpu = std::find_if(
        gpus.begin(), gpus.end(),
        [&](const LoadedGpu& known) { return known.place == place; });
    if (gpu == gpus.end()) {
      gpu = gpus.insert(gpus.end(), {executor.device.name, place});
    }
    ++(executor.role == ExecutorRole::kSampler ? gpu->samplers : gpu->trainers);
  }
  return gpus;
}

// Returns the memory of the sampler that was measured on a GPU; nullopt: none
// was.
const std::optional<GpuMemory>& SamplersMemory(const PlanInput& input) {
  return SamplingOn(input, DeviceKind::kCuda).gpu;
}

// What was measured on a GPU: as little as one of its daemons saw. GPUs of a
// job count as alike, since one daemon of each role is measured there.
struct Measured {
  uint64_t total_bytes = UINT64_MAX;
  uint64_t free_bytes = UINT64_MAX;
};

std::optional<Measured> MeasuredOn(const PlanInput& input,
                                   const LoadedGpu& gpu) {
  std::optional<Measured> least;
  const auto look = [&](uint32_t count, const std::optional<GpuMemory>& seen) {
    if (count == 0 || !seen.has_value()) return;
    if (!least.has_value()) least = Measured();
    least->total_bytes = std::min(least->total_bytes, seen->total_bytes);
    least->free_bytes = std::min(least->free_bytes, seen->free_bytes);
  };
  look(gpu.samplers, SamplersMemory(input));
  look(gpu.trainers, input.training.gpu);
  if (least.has_value()) {
    least->free_bytes = std::min(least->free_bytes, least->total_bytes);
  }
  return least;
}

// NCCL's own buffers on a GPU: a ring has two of 10 MiB on each channel, and
// GPUs with fast links between them have some 24 channels. Nobody has measured
// it for a job.
constexpr uint64_t kNcclBytes = uint64_t{512} << 20;

// Returns what a trainer takes to exchange gradients by NCCL: the gradients of
// a step's batches, a sum, and the buffers.
uint64_t BytesOfNccl(const PlanInput& input) {
  const uint64_t arrays = uint64_t{input.spec.training.batches_per_step} + 1;
  return AddCapped(
      kNcclBytes,
      MultiplyCapped(arrays, MultiplyCapped(input.training.num_parameters,
                                            sizeof(float))));
}

// Few batches were measured, and larger ones come. Slots have the same margin.
uint64_t WithMargin(uint64_t bytes) { return AddCapped(bytes, bytes / 4); }

// The most rows of a trainer on any GPU, whatever the GPU is planned to do.
uint64_t MostRows(const CacheRows& rows) {
  return std::max(rows.trainer, rows.standby);
}

// Collects the items of a GPU.
struct ItemsOfGpu {
  const LoadedGpu& gpu;
  std::vector<MemoryItem> items = {};

  // Adds an item of `count` executors, each with these bytes, if there are any.
  void Add(std::string name, const char* holder, uint32_t count,
           uint64_t bytes) {
    if (count == 0 || bytes == 0) return;
    items.push_back({.name = std::move(name),
                     .holder = holder,
                     .device = gpu.device,
                     .bytes = MultiplyCapped(count, bytes),
                     .place = gpu.place});
  }
};

void AddSamplers(const PlanInput& input, const GpuChoice& choice,
                 ItemsOfGpu* to) {
  const uint32_t samplers = to->gpu.samplers;
  const GpuMemory sampling = SamplersMemory(input).value_or(GpuMemory());
  if (!choice.topology_on_host) {
    to->Add("topology", "sampler", samplers, sampling.topology_bytes);
  }
  if (MostRows(choice.rows) > 0) {
    to->Add("hot ranks", "sampler", samplers,
            MultiplyCapped(input.dataset.num_nodes, sizeof(uint32_t)));
  }
  to->Add(absl::StrCat("batches of ", Counted(samplers, "sampler")), "sampler",
          samplers, WithMargin(sampling.work_bytes));
}

void AddTrainers(const PlanInput& input, const GpuChoice& choice,
                 ItemsOfGpu* to) {
  const uint32_t trainers = to->gpu.trainers;
  const GpuMemory training = input.training.gpu.value_or(GpuMemory());
  to->Add(Counted(trainers, "trainer"), "trainer", trainers,
          WithMargin(training.work_bytes));
  to->Add("evaluation", "trainer", trainers, training.evaluation_bytes);
  if (choice.hidden_on_gpu) {
    to->Add("hidden states", "trainer", trainers, training.hidden_bytes);
  }
  if (input.spec.training.sync == "nccl") {
    to->Add(absl::StrCat("NCCL of ", Counted(trainers, "trainer")), "trainer",
            trainers, BytesOfNccl(input));
  }
  to->Add("rows of other parts", "trainer", trainers,
          ExchangeMemoryOnGpu(input).device_bytes);
  const uint64_t rows = MostRows(choice.rows);
  to->Add(absl::StrCat(Counted(trainers, "cache"), " of ", rows, " rows"),
          "trainer", trainers,
          MultiplyCapped(rows, input.dataset.feature_row_bytes));
}

// Returns the items of one GPU; none if it was not measured.
std::vector<MemoryItem> ItemsOf(const PlanInput& input, const LoadedGpu& gpu,
                                const GpuChoice& choice) {
  const std::optional<Measured> measured = MeasuredOn(input, gpu);
  if (!measured.has_value()) return {};
  ItemsOfGpu items = {.gpu = gpu};
  items.Add("contexts, and what else is there", "device", 1,
            measured->total_bytes - measured->free_bytes);
  AddSamplers(input, choice, &items);
  AddTrainers(input, choice, &items);
  return std::move(items.items);
}

// Returns how many rows each trainer on this GPU can cache, and each trainer of
// the job if this GPU only samples: a sampler has to know which are cached.
uint64_t RowsThatFit(const PlanInput& input, const LoadedGpu& gpu,
                     bool topology_on_host) {
  const std::optional<Measured> measured = MeasuredOn(input, gpu);
  if (!measured.has_value()) return 0;
  // One row brings the hot ranks, and takes next to nothing.
  const uint64_t need =
      BytesIn(ItemsOf(input, gpu, {topology_on_host, {1, 1}}), gpu.place);
  if (need > measured->total_bytes) return 0;
  const uint64_t row_bytes = input.dataset.feature_row_bytes;
  if (gpu.trainers == 0 || row_bytes == 0) return input.dataset.num_nodes;
  const uint64_t left = measured->total_bytes - need;
  // An eighth stays for needs that no plan knows.
  return std::min(input.dataset.num_nodes,
                  (left - left / 8) / row_bytes / gpu.trainers);
}

// Returns the rows to cache, with those that fit where the job leaves it open.
CacheRows ChooseRows(const PlanInput& input, const std::vector<LoadedGpu>& gpus,
                     bool topology_on_host) {
  const CacheSpec& cache = input.spec.cache;
  CacheRows rows = RowsOfEach(input);
  if (cache.policy == "none") return rows;
  if (!cache.capacity.has_value()) {
    rows.trainer = input.dataset.num_nodes;
    for (const LoadedGpu& gpu : gpus) {
      rows.trainer =
          std::min(rows.trainer, RowsThatFit(input, gpu, topology_on_host));
    }
  }
  // GPUs of standby trainers have the same daemons, so the same room.
  const bool has_standbys = input.spec.has_standbys();
  if (has_standbys && !cache.standby_capacity.has_value()) {
    rows.standby = rows.trainer;
  }
  return rows;
}

absl::Status RefuseGpus(const PlanInput& input, const LoadedGpu& gpu,
                        const GpuChoice& choice,
                        const std::vector<MemoryItem>& items) {
  const bool caches = MostRows(choice.rows) > 0;
  return absl::ResourceExhaustedError(absl::StrCat(
      "memory of ", gpu.place, ": the job needs ",
      FormatBytes(BytesIn(items, gpu.place)), " there (",
      DescribeItems(items, gpu.place), ")",
      choice.topology_on_host ? " beside a topology in the host's memory" : "",
      ", and it has ", FormatBytes(MeasuredOn(input, gpu)->total_bytes),
      "; lower ", caches ? "cache.capacity, " : "",
      "sampling.batch_size, sampling.fanouts or model.hidden",
      gpu.samplers > 0 && gpu.trainers > 0
          ? ", let cores sample (devices such as [cuda:0, cpu:0-7])"
          : "",
      ", or end what else uses the GPU"));
}

// Returns why the choice does not fit; OK: it does.
absl::Status Check(const PlanInput& input, const std::vector<LoadedGpu>& gpus,
                   const GpuChoice& choice) {
  for (const LoadedGpu& gpu : gpus) {
    const std::optional<Measured> measured = MeasuredOn(input, gpu);
    if (!measured.has_value()) continue;
    const std::vector<MemoryItem> items = ItemsOf(input, gpu, choice);
    if (BytesIn(items, gpu.place) > measured->total_bytes) {
      return RefuseGpus(input, gpu, choice, items);
    }
  }
  return absl::OkStatus();
}

// Returns whether the one trainer of the job keeps hidden states on its GPU:
// they fit beside all else that is chosen, and beside the eighth of the rest
// that stays for needs that no plan knows. Trainers that evaluate together
// share them in the host's memory.
bool KeepsHidden(const PlanInput& input, const std::vector<LoadedGpu>& gpus,
                 GpuChoice choice) {
  const GpuMemory training = input.training.gpu.value_or(GpuMemory());
  if (input.spec.num_trainers() != 1 || training.hidden_bytes == 0) {
    return false;
  }
  choice.hidden_on_gpu = true;
  const GpuChoice least = {.topology_on_host = choice.topology_on_host};
  return std::all_of(gpus.begin(), gpus.end(), [&](const LoadedGpu& gpu) {
    const std::optional<Measured> measured = MeasuredOn(input, gpu);
    if (gpu.trainers == 0 || !measured.has_value()) return true;
    const uint64_t need = BytesIn(ItemsOf(input, gpu, least), gpu.place);
    const uint64_t left = measured->total_bytes - need;
    return BytesIn(ItemsOf(input, gpu, choice), gpu.place) <=
           measured->total_bytes - left / 8;
  });
}

}  // namespace

bool TrainsOnGpus(const JobSpec& spec) {
  const std::vector<LoadedGpu> gpus = GpusOf(spec);
  return std::any_of(gpus.begin(), gpus.end(),
                     [](const LoadedGpu& gpu) { return gpu.trainers > 0; });
}

absl::StatusOr<GpuChoice> ChooseForGpus(const PlanInput& input) {
  const std::vector<LoadedGpu> gpus = GpusOf(input.spec);
  const bool sample_on_gpus =
      std::any_of(gpus.begin(), gpus.end(),
                  [](const LoadedGpu& gpu) { return gpu.samplers > 0; });
  absl::Status status;
  for (const bool on_host : {false, true}) {
    if (on_host && !sample_on_gpus) break;
    GpuChoice choice = {.topology_on_host = on_host};
    if (TrainsOnGpus(input.spec)) {
      choice.rows = ChooseRows(input, gpus, on_host);
    }
    status = Check(input, gpus, choice);
    if (!status.ok()) continue;
    choice.hidden_on_gpu = KeepsHidden(input, gpus, choice);
    return choice;
  }
  return status;
}

std::vector<MemoryItem> GpuItems(const PlanInput& input,
                                 const SegmentOptions& segment) {
  GpuChoice choice = {.topology_on_host = segment.topology_on_host != 0,
                      .hidden_on_gpu = segment.hidden_on_gpu != 0};
  if (TrainsOnGpus(input.spec)) {
    choice.rows = {segment.cache_rows, segment.standby_cache_rows};
  }
  std::vector<MemoryItem> items;
  for (const LoadedGpu& gpu : GpusOf(input.spec)) {
    const std::vector<MemoryItem> more = ItemsOf(input, gpu, choice);
    items.insert(items.end(), more.begin(), more.end());
  }
  return items;
}

std::vector<PlaceBytes> GpuSums(const PlanInput& input,
                                const std::vector<MemoryItem>& items) {
  std::vector<PlaceBytes> sums;
  for (const LoadedGpu& gpu : GpusOf(input.spec)) {
    const std::optional<Measured> measured = MeasuredOn(input, gpu);
    if (!measured.has_value()) continue;
    sums.push_back({.place = gpu.place,
                    .total_bytes = BytesIn(items, gpu.place),
                    .have_bytes = measured->total_bytes});
  }
  return sums;
}

}  // namespace fgnn
