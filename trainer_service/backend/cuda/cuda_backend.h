// A trainer's back end on a CUDA device. The device extracts features, computes
// gradients and evaluates; cores of the host make steps.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CUDA_CUDA_BACKEND_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CUDA_CUDA_BACKEND_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/unique_fd.h"
#include "shared/config/job_spec.h"
#include "trainer_service/backend/cpu/host_model.h"
#include "trainer_service/backend/cpu/hosted_backend.h"
#include "trainer_service/backend/cuda/backend_gpu.h"
#include "trainer_service/backend/cuda/byte_count.h"
#include "trainer_service/backend/cuda/cuda_features.h"
#include "trainer_service/backend/cuda/cuda_inference_device.h"
#include "trainer_service/backend/cuda/extraction_lane.h"
#include "trainer_service/backend/cuda/planned_device_cache.h"
#include "trainer_service/backend/cuda/row_packer.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/features/cuda/miss_rows.h"
#include "trainer_service/nn/cuda/cuda_model.h"
#include "trainer_service/nn/cuda/products.h"

namespace fgnn {

// What a CudaBackend is made for.
struct CudaBackendOptions {
  int device = 0;  // Number of the GPU.
  ProductsOpener open_products;
  // Called, on any thread, when the device is lost to this process: after an
  // error of CUDA that stays. Need not return. May be empty.
  std::function<void(const absl::Status&)> on_lost = nullptr;
};

// BytesInUse().device is by how much the device's free memory has shrunk since
// the object was opened, and at least the bytes of the object and of its
// TaskFeatures. So it has the code of kernels, which CUDA loads when they are
// first needed. The process's context is not in it.
//
// A batch that finds no memory on the device frees the cache once, and is tried
// again; the cache then has half of its rows. After an error of CUDA that
// stays, every call that needs the device returns Internal, which says that the
// process has to end.
class CudaBackend final : public HostedBackend {
 public:
  // Opens the back end of a job; num_threads >= 1 threads of the host. Returns
  // errors of HostModel::OpenForJob() and of CudaModel::Make(). Unimplemented,
  // with the way out: the model is the user's. FailedPrecondition: there is no
  // such device, or no library of products. ResourceExhausted, with sizes: the
  // device has no memory.
  static absl::StatusOr<std::unique_ptr<CudaBackend>> OpenForJob(
      const JobSpec& spec, int num_threads, const CudaBackendOptions& options);
  ~CudaBackend() override;

  GradientOrigin origin() const override {
    return {host().code_crc32c(), gpu_name_};
  }

  // The device has a table of its own, also where the plan has a shared one.
  void ShareTables(HotTableSource source) override {
    cache_.CacheAtHome(std::move(source.home));
  }
  UniqueFd SharedTable() const override { return UniqueFd(); }
  absl::Status CacheAsPlanned(const TrainerCache& plan) override;
  bool IsCachedAs(const TrainerCache& plan) const override {
    return cache_.IsFollowed(plan);
  }
  void GiveUpMoreThan(const TrainerCache& plan) override;

  std::unique_ptr<TaskFeatures> NewFeatures() const override;
  // Copies no rows of `before`.
  absl::StatusOr<ExtractedRows> Extract(const TaskView& task,
                                        const TaskFeatures* before,
                                        TrainerThread thread,
                                        TaskFeatures* features) override;
  // Leaves the features as they are. Extracts them again if they need rows of a
  // cache that has been freed since.
  absl::StatusOr<BatchResult> Gradient(const VersionedWeights& weights,
                                       const TrainingBatch& task,
                                       TaskFeatures* features,
                                       absl::Span<float> gradient) override;
  void LeaveGradients(DevicePlaceFinder places) override {
    places_ = std::move(places);
  }
  // Cores of the host compute what the device has no memory for.
  // ResourceExhausted says that the host lacks memory, FailedPrecondition that
  // the device has not even the memory to be asked.
  absl::StatusOr<std::vector<SplitScore>> Evaluate(
      const ScoredWeights& weights,
      const std::vector<absl::Span<const int64_t>>& splits) override;
  absl::StatusOr<std::vector<EdgeRanking>> RankEdges(
      const ScoredWeights& weights, absl::Span<const EdgeView> splits) override;

  PlacedBytes BytesOfFeatures(const TaskView& task) const override;
  absl::StatusOr<PlacedBytes> BytesInUse() const override;
  EvaluationBytes BytesOfEvaluation() override;
  std::optional<DeviceMemory> MemoryBefore() const override { return before_; }

 private:
  CudaBackend(BackendGpu gpu, std::unique_ptr<HostModel> opened,
              std::shared_ptr<ByteCount> count);
  absl::Status Open(const ProductsOpener& open_products);

  // Calls `work` with this device. If it finds no memory, calls it again beside
  // each table that the cache has meanwhile, or beside none. Explains an error.
  absl::Status OnDevice(ThreadTeam& team,
                        absl::FunctionRef<absl::Status()> work);
  // Returns how many of the task's rows are copied in any case. A part sends
  // others rows of features from its copies.
  std::optional<uint32_t> DenseRows(const TaskView& task) const {
    if (task.shares_inputs) return std::nullopt;
    return model_->DenseRows(task, misses_.store().type());
  }
  // Extract() with this cache, which stays as it is meanwhile.
  absl::StatusOr<ExtractedRows> ExtractWith(const LoadedDeviceCache& cached,
                                            const TaskView& task,
                                            TrainerThread thread,
                                            CudaFeatures* features);
  // Adds the device's memory to ResourceExhausted. Says what an error of CUDA
  // that stays means.
  absl::Status Explain(const absl::Status& error) const;
  // Bytes of device memory of this object and of its features.
  uint64_t DeviceBytes() const;

  const BackendGpu gpu_;
  // Shared with features, which may outlive this object.
  const std::shared_ptr<ByteCount> count_;
  const MissRows misses_;
  std::string gpu_name_;  // Name of the device's model.
  DeviceMemory before_;   // Memory before the fields below.
  PlannedDeviceCache cache_;
  std::array<std::unique_ptr<ExtractionLane>, 2> lanes_;  // By TrainerThread.
  std::array<RowPacker, 2> packers_;                      // As well.
  std::unique_ptr<DenseProducts> products_;
  std::unique_ptr<CudaModel> model_;
  std::unique_ptr<CudaInferenceDevice> inference_;
  DevicePlaceFinder places_;
};

// Returns CudaBackends() of cuda_backends.h, with these products.
BackendFactory CudaBackendsWith(ProductsOpener open_products, int device);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CUDA_CUDA_BACKEND_H_
