#include "trainer_service/backend/cuda/cuda_backend.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/config/rules/model_rules.h"
#include "shared/device/cuda/device_array.h"
#include "shared/telemetry/log.h"
#include "trainer_service/backend/cuda/check_device.h"
#include "trainer_service/backend/cuda/cuda_backends.h"
#include "trainer_service/nn/row_shuffle.h"

namespace fgnn {
namespace {

// Returns the features as CudaFeatures. All features that callers pass came
// from NewFeatures() of this back end.
CudaFeatures* AsCudas(TaskFeatures* features) {
  return static_cast<CudaFeatures*>(features);
}

// Destructors would wait for a device that does not answer.
void EndProcess(const absl::Status& why) {
  LogError("{}; this process ends", MessageOf(why));
  std::_Exit(ExitCode(why));
}

// The exchange of a part's rows. Before it waits for other parts it lets go of
// the cache, which only the first layer's forward pass reads: the thread ahead
// may have to free it, to extract a part for which others wait.
class UncachedShuffle final : public RowShuffle {
 public:
  // Borrows both.
  UncachedShuffle(RowShuffle* shuffle,
                  std::optional<PlannedDeviceCache::Reader>* reader)
      : shuffle_(shuffle), reader_(*reader) {}
  absl::Status Forward(uint32_t hop, const PartRows& rows,
                       ThreadTeam& team) override {
    return shuffle_->Forward(hop, rows, team);
  }
  absl::Status Backward(uint32_t hop, const PartRows& gradient,
                        ThreadTeam& team) override {
    return shuffle_->Backward(hop, gradient, team);
  }
  absl::Status Exchange(uint32_t hop, bool forward,
                        const PackedExchange& rows) override {
    reader_.reset();
    return shuffle_->Exchange(hop, forward, rows);
  }

 private:
  RowShuffle* const shuffle_;
  std::optional<PlannedDeviceCache::Reader>& reader_;
};

size_t IndexOf(TrainerThread thread) { return static_cast<size_t>(thread); }

}  // namespace

absl::StatusOr<std::unique_ptr<CudaBackend>> CudaBackend::OpenForJob(
    const JobSpec& spec, int num_threads, const CudaBackendOptions& options) {
  FGNN_RETURN_IF_ERROR(CheckGpusTrain(spec.model.kind));
  const BackendGpu gpu(options.device, options.on_lost);
  // The device may be lost since an earlier job.
  FGNN_RETURN_IF_ERROR(gpu.ReportIfLost(CheckCudaDevice(options.device)));
  if (spec.features.match == "on" || spec.features.match == "window") {
    LogWarning(
        "features.match is {}; a GPU's trainer loads all rows of a batch",
        spec.features.match);
  }
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<HostModel> host,
                        HostModel::OpenForJob(spec, num_threads));
  FGNN_RETURN_IF_ERROR(gpu.ReportIfLost(gpu.Choose()));
  auto backend = absl::WrapUnique(
      new CudaBackend(gpu, std::move(host), std::make_shared<ByteCount>()));
  const absl::Status opened = backend->Open(options.open_products);
  if (!opened.ok()) return backend->Explain(opened);
  return backend;
}

CudaBackend::CudaBackend(BackendGpu gpu, std::unique_ptr<HostModel> opened,
                         std::shared_ptr<ByteCount> count)
    : HostedBackend(std::move(opened)),
      gpu_(std::move(gpu)),
      count_(std::move(count)),
      misses_(MissRows::Register(&host().features())),
      cache_(&host().features(), count_) {}

CudaBackend::~CudaBackend() = default;

absl::Status CudaBackend::Open(const ProductsOpener& open_products) {
  FGNN_ASSIGN_OR_RETURN(before_, gpu_.Memory());
  const FeatureStore& store = misses_.store();
  const uint64_t feature_bytes = store.num_rows() * store.row_bytes();
  if (misses_.on_device() != nullptr) before_.pinned_bytes = feature_bytes;
  FGNN_ASSIGN_OR_RETURN(products_, open_products());
  FGNN_ASSIGN_OR_RETURN(model_,
                        CudaModel::Make(model_options(), products_.get()));
  FGNN_ASSIGN_OR_RETURN(
      inference_,
      CudaInferenceDevice::Make(model_options(), products_.get(), &misses_,
                                &host().team(TrainerThread::kLoop), count_));
  host().InferOn(inference_.get());
  FGNN_ASSIGN_OR_RETURN(gpu_name_, gpu_.Name());
  FGNN_ASSIGN_OR_RETURN(const uint32_t multiprocessors,
                        gpu_.NumMultiprocessors());
  for (std::unique_ptr<ExtractionLane>& lane : lanes_) {
    FGNN_ASSIGN_OR_RETURN(
        lane, ExtractionLane::Make(&misses_, multiprocessors,
                                   LeastOrderedMisses(feature_bytes), count_));
  }
  return absl::OkStatus();
}

absl::Status CudaBackend::OnDevice(ThreadTeam& team,
                                   absl::FunctionRef<absl::Status()> work) {
  const absl::Status chosen = gpu_.Choose();
  if (!chosen.ok()) return Explain(chosen);
  for (;;) {
    const uint64_t table = cache_.table();
    const absl::Status status = work();
    if (absl::IsResourceExhausted(status) && cache_.MakeRoom(table, team)) {
      continue;
    }
    return Explain(status);
  }
}

uint64_t CudaBackend::DeviceBytes() const {
  uint64_t bytes = count_->device;
  if (products_ != nullptr) bytes += products_->workspace_bytes();
  if (model_ != nullptr) bytes += model_->device_bytes();
  return bytes;
}

absl::Status CudaBackend::Explain(const absl::Status& error) const {
  if (!absl::IsResourceExhausted(error)) return gpu_.ReportIfLost(error);
  const absl::StatusOr<DeviceMemory> now = gpu_.Memory();
  if (!now.ok()) return gpu_.ReportIfLost(now.status());
  return absl::ResourceExhaustedError(absl::StrCat(
      error.message(), "; cuda:", gpu_.number(), " has ",
      FormatBytes(now->free_bytes), " of ", FormatBytes(now->total_bytes),
      " left, and this trainer has ", FormatBytes(DeviceBytes()),
      ", of which its cache has ", FormatBytes(cache_.bytes()),
      "; lower cache.capacity, sampling.batch_size, sampling.fanouts or "
      "model.hidden"));
}

absl::Status CudaBackend::CacheAsPlanned(const TrainerCache& plan) {
  if (cache_.IsFollowed(plan)) return absl::OkStatus();
  const absl::Status chosen = gpu_.Choose();
  if (!chosen.ok()) return Explain(chosen);
  return Explain(cache_.Follow(plan, dataset(),
                               lanes_[IndexOf(TrainerThread::kLoop)]->stream(),
                               host().team(TrainerThread::kLoop)));
}

void CudaBackend::GiveUpMoreThan(const TrainerCache& plan) {
  cache_.GiveUpMoreThan(plan, host().team(TrainerThread::kLoop));
}

std::unique_ptr<TaskFeatures> CudaBackend::NewFeatures() const {
  return std::make_unique<CudaFeatures>(misses_.store().num_columns(),
                                        CudaModel::RowTypeOf(model_options()),
                                        count_);
}

absl::StatusOr<ExtractedRows> CudaBackend::ExtractWith(
    const LoadedDeviceCache& cached, const TaskView& task, TrainerThread thread,
    CudaFeatures* features) {
  const FeatureStore& store = misses_.store();
  CudaSources from;
  from.store = &store;
  from.cached = &cached;
  if (model_options().divides_by_degrees()) {
    from.graph_indptr = dataset().graph().indptr;
  }
  const std::optional<uint32_t> dense_rows = DenseRows(task);
  if (dense_rows.has_value()) from.packer = &packers_[IndexOf(thread)];
  from.dense_rows = dense_rows.value_or(0);
  return features->Extract(task, from, *lanes_[IndexOf(thread)],
                           host().team(thread));
}

absl::StatusOr<ExtractedRows> CudaBackend::Extract(
    const TaskView& task, const TaskFeatures* /*before*/, TrainerThread thread,
    TaskFeatures* features) {
  absl::StatusOr<ExtractedRows> rows;
  FGNN_RETURN_IF_ERROR(OnDevice(host().team(thread), [&] {
    const PlannedDeviceCache::Reader reader(&cache_);
    rows = ExtractWith(reader.cached(), task, thread, AsCudas(features));
    return rows.status();
  }));
  return rows;
}

absl::StatusOr<BatchResult> CudaBackend::Gradient(
    const VersionedWeights& weights, const TrainingBatch& task,
    TaskFeatures* features, absl::Span<float> gradient) {
  // The model makes no gradient of a batch without seeds.
  float* const place = places_ != nullptr && task.task->batch_examples() > 0
                           ? places_(gradient)
                           : nullptr;
  absl::StatusOr<BatchResult> result;
  const auto compute = [&]() -> absl::Status {
    std::optional<PlannedDeviceCache::Reader> reader(&cache_);
    UncachedShuffle shuffle(task.shuffle, &reader);
    if (!AsCudas(features)->AreThere(reader->cached())) {
      FGNN_RETURN_IF_ERROR(ExtractWith(reader->cached(), *task.task,
                                       TrainerThread::kLoop, AsCudas(features))
                               .status());
    }
    result = model_->Gradient(
        weights,
        {.task = &AsCudas(features)->task(),
         .answers = {task.labels, task.targets},
         .place = {task.seed, task.epoch, task.batch, task.task->part},
         .shuffle = task.shuffle == nullptr ? nullptr : &shuffle,
         .shares_inputs = task.task->shares_inputs},
        gradient, place);
    return result.status();
  };
  FGNN_RETURN_IF_ERROR(OnDevice(host().team(TrainerThread::kLoop), compute));
  return result;
}

absl::StatusOr<std::vector<SplitScore>> CudaBackend::Evaluate(
    const ScoredWeights& weights,
    const std::vector<absl::Span<const int64_t>>& splits) {
  return gpu_.Use([&] { return HostedBackend::Evaluate(weights, splits); });
}

absl::StatusOr<std::vector<EdgeRanking>> CudaBackend::RankEdges(
    const ScoredWeights& weights, absl::Span<const EdgeView> splits) {
  return gpu_.Use([&] { return HostedBackend::RankEdges(weights, splits); });
}

EvaluationBytes CudaBackend::BytesOfEvaluation() {
  EvaluationBytes bytes = HostedBackend::BytesOfEvaluation();
  const CscView& graph = dataset().graph();
  bytes.own.device =
      inference_->MostBytes(graph.num_nodes(), graph.num_edges());
  bytes.kept = KeptBytes(host().ForInference({}));
  return bytes;
}

PlacedBytes CudaBackend::BytesOfFeatures(const TaskView& task) const {
  return CudaFeatures::Bytes(task, misses_.store().num_columns(),
                             CudaModel::RowTypeOf(model_options()),
                             model_options().divides_by_degrees(),
                             DenseRows(task).has_value());
}

absl::StatusOr<PlacedBytes> CudaBackend::BytesInUse() const {
  FGNN_ASSIGN_OR_RETURN(PlacedBytes bytes, HostedBackend::BytesInUse());
  bytes.host += count_->pinned + model_->pinned_bytes();
  FGNN_ASSIGN_OR_RETURN(const DeviceMemory now, gpu_.Memory());
  const uint64_t gone =
      before_.free_bytes - std::min(before_.free_bytes, now.free_bytes);
  bytes.device = std::max(DeviceBytes(), gone);
  return bytes;
}

uint64_t GpuBytesInUse() { return DeviceBytesInArrays(); }

BackendFactory CudaBackendsWith(ProductsOpener open_products, int device) {
  return
      [open_products = std::move(open_products), device](
          const JobSpec& spec,
          int num_threads) -> absl::StatusOr<std::unique_ptr<TrainerBackend>> {
        return CudaBackend::OpenForJob(spec, num_threads,
                                       {.device = device,
                                        .open_products = open_products,
                                        .on_lost = EndProcess});
      };
}

}  // namespace fgnn
