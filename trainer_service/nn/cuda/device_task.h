// A task in the memory of a CUDA device: its blocks, and room for the rows of
// its input nodes. CudaModel computes gradients of it.
#ifndef FGNN_TRAINER_SERVICE_NN_CUDA_DEVICE_TASK_H_
#define FGNN_TRAINER_SERVICE_NN_CUDA_DEVICE_TASK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/device/cuda/device_array.h"
#include "shared/device/cuda/stream.h"
#include "shared/graph/dataset.h"
#include "shared/minibatch/task.h"
#include "trainer_service/nn/cuda/kernels/neighbor_sums.h"

namespace fgnn {

// A BlockView on the device. Arrays lie in device memory, at multiples of 64
// bytes.
struct DeviceBlock {
  uint32_t num_destinations = 0;
  uint32_t num_sources = 0;
  uint32_t entries = 0;
  const uint32_t* indptr = nullptr;   // [num_destinations + 1]
  const uint32_t* indices = nullptr;  // [entries]
  const float* weights = nullptr;     // [entries]; null: the task has none.
  // [num_sources] r = 1 / sqrt(d) and r * r, where d is a vertex's in-degree in
  // the whole graph, plus 1. Null without degrees.
  const float* degree_scales = nullptr;
  const float* own_scales = nullptr;
  // [num_destinations] t = r (d - 1) / n with the vertex's r and d and its
  // number n of neighbours in the block; 0 if n is 0. Null without degrees.
  const float* neighbor_scales = nullptr;
  // Of a part of a batch, as in BlockView and TaskSplit::Level; the numbers of
  // the rows that this part sends to each part are on the host.
  uint32_t num_remote_sources = 0;
  const uint32_t* send = nullptr;
  std::array<uint32_t, kMostParts> num_sent = {};

  uint32_t num_own_sources() const { return num_sources - num_remote_sources; }
};

// A TaskView on the device, and the rows of its input nodes. Arrays lie in
// device memory, at multiples of 64 bytes.
struct DeviceTaskView {
  BatchSeq seq;
  uint32_t num_seeds = 0;
  uint32_t batch_examples = 0;  // As TaskView has it.
  uint32_t num_input_nodes = 0;
  uint32_t num_hops = 0;
  std::array<DeviceBlock, kMaxHops> hops = {};  // [num_hops], seed side first.
  // [num_rows] Global ids of the rows that x has.
  const uint32_t* input_nodes = nullptr;
  // [num_rows]; null: the task has none.
  const uint32_t* hot_ranks = nullptr;
  const uint32_t* pairs = nullptr;  // [num_pairs, 2], as in TaskView.
  uint32_t num_pairs = 0;
  uint32_t num_positives = 0;

  // [num_rows, columns] of x_type: the rows of all input nodes; or of some,
  // where `placed` finds each.
  uint64_t columns = 0;
  FeatureType x_type = FeatureType::kFloat32;
  void* x = nullptr;
  uint32_t num_rows = 0;
  PlacedRows placed;  // Places [num_input_nodes].

  // Returns the number of examples of the task: pairs, else seeds.
  uint32_t num_examples() const {
    return num_pairs > 0 ? num_pairs : num_seeds;
  }
};

// The rows that x gets, where others stay in a hot table. Borrowed.
struct PackedRows {
  absl::Span<const uint32_t> nodes;   // Global ids of these rows.
  absl::Span<const uint32_t> ranks;   // Their hot ranks.
  absl::Span<const uint32_t> places;  // Places of input nodes: see PlacedRows.
  const void* table = nullptr;        // As PlacedRows has it.
  uint32_t capacity = 0;
};

// The scales of a hop, as its DeviceBlock has them. In a whole batch the last
// hop has those of the sources for all hops: any hop's sources are the first
// input nodes.
struct HopScales {
  std::vector<float> degree;
  std::vector<float> own;
  std::vector<float> neighbor;
};

// Owns what its view points to. Not thread-safe. Functions work on the current
// device.
class DeviceTask {
 public:
  // Rows have `columns` numbers of `type`: kFloat32 or kBfloat16.
  DeviceTask(uint64_t columns, FeatureType type)
      : columns_(columns), type_(type) {}

  // Queues the copy of the task's arrays on `stream`, and makes room for x,
  // which the caller fills. Copies from a pinned buffer of its own: `task` is
  // not read any more when this returns. Waits for what MarkReady() marked for
  // an earlier task, which is done if a gradient of that task is.
  // graph_indptr [N + 1] is that of the whole graph for a model that
  // divides_by_degrees(), else empty; the input nodes are below N.
  // ResourceExhausted: no memory. Internal: CUDA refuses. The object is then as
  // after Reset().
  // `packed`: null: x has the rows of all input nodes. Read like `task`, but
  // for the table, which stays as it is while the task is in use.
  absl::Status Upload(const TaskView& task, const CudaStream& stream,
                      absl::Span<const EdgeOffset> graph_indptr = {},
                      const PackedRows* packed = nullptr);
  // Marks the work that `stream` has now, of which that on x is the last. The
  // stream is that of Upload(), which marks its own work.
  absl::Status MarkReady(const CudaStream& stream);
  // Lets the later work of `stream` wait for the mark. The host does not wait.
  absl::Status HoldBack(const CudaStream& stream) const;
  // Forgets the task, and keeps the memory for the next one.
  void Reset() { view_ = {}; }

  // Valid until the next Upload().
  const DeviceTaskView& view() const { return view_; }
  uint64_t device_bytes() const { return arrays_.bytes() + rows_.bytes(); }
  uint64_t pinned_bytes() const { return staged_.bytes(); }

 private:
  absl::Status CopyArrays(const TaskView& task, const PackedRows* packed,
                          const CudaStream& stream);
  void ComputeScales(const TaskView& task,
                     absl::Span<const EdgeOffset> graph_indptr);

  const uint64_t columns_;
  const FeatureType type_;
  DeviceTaskView view_;
  DeviceArray<std::byte> arrays_;  // All arrays of the view but x.
  DeviceArray<std::byte> rows_;    // x
  PinnedArray<std::byte> staged_;  // The bytes of arrays_.
  std::vector<HopScales> scales_;  // [num_hops]; empty without degrees.
  std::optional<CudaEvent> ready_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CUDA_DEVICE_TASK_H_
