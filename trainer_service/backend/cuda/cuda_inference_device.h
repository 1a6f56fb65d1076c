// A CUDA device as the InferenceDevice of a trainer: brings rows to the device
// through pinned buffers, computes with nn/cuda, and brings results back.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CUDA_CUDA_INFERENCE_DEVICE_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CUDA_CUDA_INFERENCE_DEVICE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/stream.h"
#include "shared/graph/feature_type.h"
#include "trainer_service/backend/cuda/byte_count.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/features/cuda/miss_rows.h"
#include "trainer_service/infer/inference_device.h"
#include "trainer_service/nn/cuda/cuda_inference.h"
#include "trainer_service/nn/cuda/products.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Largest workspace of an inference on the device. A smaller one is no gain:
// below the least, cores of the host compute.
inline constexpr uint64_t kMostInferenceBytes = uint64_t{1} << 30;
inline constexpr uint64_t kLeastInferenceBytes = uint64_t{1} << 20;

// While a chunk's rows are copied, the caller's threads gather the next ones.
// Holds memory between Begin() and End() alone. Call it on one thread, with the
// device chosen.
class CudaInferenceDevice final : public InferenceDevice {
 public:
  // Borrows `products`; `features`, which it reads itself where they are
  // registered (null: the caller copies them); and `team`, of which it counts
  // tasks while it waits. Errors: see CudaInference::Make().
  static absl::StatusOr<std::unique_ptr<CudaInferenceDevice>> Make(
      const ModelOptions& options, DenseProducts* products,
      const MissRows* features, ThreadTeam* team,
      std::shared_ptr<ByteCount> count,
      uint64_t most_bytes = kMostInferenceBytes);

  // The same on GPU number `device`, which becomes the calling thread's, with
  // products of its own. Also the errors of CheckCudaDevice() and of
  // open_products.
  static absl::StatusOr<std::unique_ptr<InferenceDevice>> Open(
      int device, const ProductsOpener& open_products,
      const ModelOptions& options, ThreadTeam* team);

  absl::Status Begin(absl::Span<const float> weights) override;
  void End() override;
  absl::StatusOr<bool> Keep(uint64_t num_nodes,
                            const KeptWidths& widths) override;
  absl::Status GiveBack(float* hidden, float* messages) override;
  bool HasRoomForMessages(uint32_t layer, uint64_t rows) const override;
  bool HasRoom(uint32_t layer, const BlockSize& most) const override;
  bool TakeLess() override;
  absl::Status Messages(uint32_t layer, uint64_t rows, const Rows& inputs,
                        const Results& messages) override;
  absl::Status Update(uint32_t layer, const InferenceBlock& block,
                      const Rows& messages, const Rows& inputs,
                      const Results& outputs) override;
  uint64_t HostBytes(uint64_t num_nodes, uint64_t num_edges) const override;

  // Returns the most bytes of device memory for a graph of so many vertices and
  // edges, with the weights, and without what Keep() takes.
  uint64_t MostBytes(uint64_t num_nodes, uint64_t num_edges) const;

 private:
  // A pinned buffer, and the mark behind the last copy that uses it.
  struct Staged {
    PinnedArray<std::byte> memory;
    CudaEvent copied;
  };
  // An array over all vertices.
  struct Kept {
    DeviceArray<float> rows;
    uint64_t columns = 0;
  };

  CudaInferenceDevice(std::unique_ptr<CudaInference> inference,
                      std::array<Staged, 2> staged, const MissRows* features,
                      ThreadTeam* team, std::shared_ptr<ByteCount> count,
                      uint64_t most_bytes);

  absl::Status TryMessages(uint32_t layer, uint64_t rows, const Rows& inputs,
                           const Results& messages);
  absl::Status TryUpdate(uint32_t layer, const InferenceBlock& block,
                         const Rows& messages, const Rows& inputs,
                         const Results& outputs);
  // Makes memory for a chunk of `bytes`, whose rows have up to `columns`.
  absl::Status Start(uint64_t bytes, uint64_t columns);
  // Lets errors wait for what is queued, and counts the bytes that are held.
  absl::Status Finish(const absl::Status& status);

  // Queue what brings rows to a new array of the device.
  absl::StatusOr<float*> BringRows(uint64_t rows, uint64_t columns,
                                   const Rows& from);
  // Rows of an array that the device reads, `columns` numbers of `type` each.
  absl::StatusOr<float*> GatherRows(const void* array, uint64_t columns,
                                    FeatureType type,
                                    absl::Span<const GlobalId> nodes);
  absl::StatusOr<float*> CopyRows(uint64_t rows, uint64_t columns,
                                  Source source);
  template <typename T>
  absl::StatusOr<T*> CopyArray(absl::Span<const T> array);
  // Gives rows [rows, columns] to the caller, and waits for all work; or queues
  // their way to the array that keeps them.
  absl::Status Give(const float* values, uint64_t rows, uint64_t columns,
                    const Results& to);
  // Returns the next buffer, of which no copy is under way.
  absl::StatusOr<Staged*> NextStaged();
  absl::Status WaitFor(const Staged& staged) const;

  std::unique_ptr<DenseProducts> own_products_;  // Products that Open() made.
  const std::unique_ptr<CudaInference> inference_;
  // Hidden states, then messages; none where the caller has them.
  std::array<Kept, 2> kept_;
  std::array<Staged, 2> staged_;
  size_t next_staged_ = 0;
  const MissRows* const features_;
  ThreadTeam& team_;
  CountedBytes bytes_;
  const uint64_t most_bytes_;
  uint64_t room_bytes_ = 0;  // Most bytes of a chunk, in this inference.
  uint64_t last_bytes_ = 0;  // Bytes of the last chunk.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CUDA_CUDA_INFERENCE_DEVICE_H_
