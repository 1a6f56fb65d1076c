#include "trainer_service/nn/cuda/device_task.h"

#include <cmath>
#include <cstring>
#include <functional>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "trainer_service/nn/cuda/growing_array.h"

namespace fgnn {
namespace {

constexpr uint64_t kAlignment = 64;

// Arrays on the host that lie behind each other on the device.
class Arrays {
 public:
  // `place` is set by Copy(). An empty array has a place too.
  template <typename T>
  void Add(absl::Span<const T> array, const T** place) {
    pieces_.push_back({array.data(), array.size() * sizeof(T), bytes_,
                       [place](const std::byte* at) {
                         *place = reinterpret_cast<const T*>(at);
                       }});
    bytes_ +=
        (array.size() * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
  }
  // The last array may be empty, and its place is within the memory too.
  uint64_t bytes() const { return bytes_ + kAlignment; }

  // Copies all arrays to `staged`; sets their places as if they were at
  // `device`.
  void Copy(std::byte* staged, const std::byte* device) const {
    for (const Piece& piece : pieces_) {
      if (piece.bytes > 0) {
        std::memcpy(staged + piece.offset, piece.from, piece.bytes);
      }
      piece.set_place(device + piece.offset);
    }
  }

 private:
  struct Piece {
    const void* from;
    uint64_t bytes;
    uint64_t offset;
    std::function<void(const std::byte*)> set_place;
  };
  std::vector<Piece> pieces_;
  uint64_t bytes_ = 0;
};

}  // namespace

absl::Status DeviceTask::Upload(const TaskView& task, const CudaStream& stream,
                                absl::Span<const EdgeOffset> graph_indptr,
                                const PackedRows* packed) {
  Reset();
  if (!ready_) {
    FGNN_ASSIGN_OR_RETURN(ready_, CudaEvent::Make());
  }
  // Earlier work may still read the pinned buffer, and write x.
  FGNN_RETURN_IF_ERROR(ready_->WaitForWork([] {}));
  ComputeScales(task, graph_indptr);
  const absl::Status status = CopyArrays(task, packed, stream);
  if (!status.ok()) Reset();
  return status;
}

// The same functions of degrees as in nn/cpu.
void DeviceTask::ComputeScales(const TaskView& task,
                               absl::Span<const EdgeOffset> graph_indptr) {
  scales_.clear();
  if (graph_indptr.empty()) return;
  scales_.resize(2 + static_cast<size_t>(task.num_hops));
  std::vector<float> degrees;
  for (const uint32_t v : task.input_nodes) {
    const EdgeOffset in = graph_indptr[v + 1] - graph_indptr[v];
    degrees.push_back(static_cast<float>(in) + 1.0F);
    const float scale = 1.0F / std::sqrt(degrees.back());
    scales_[0].push_back(scale);
    scales_[1].push_back(scale * scale);
  }
  for (int hop = 0; hop < task.num_hops; ++hop) {
    const BlockView& block = task.hops[static_cast<size_t>(hop)];
    std::vector<float>& scales = scales_[2 + static_cast<size_t>(hop)];
    for (uint32_t v = 0; v < block.num_destinations; ++v) {
      const uint32_t drawn = block.indptr[v + 1] - block.indptr[v];
      scales.push_back(drawn == 0 ? 0
                                  : scales_[0][v] * (degrees[v] - 1) /
                                        static_cast<float>(drawn));
    }
  }
}

absl::Status DeviceTask::CopyArrays(const TaskView& task,
                                    const PackedRows* packed,
                                    const CudaStream& stream) {
  const absl::Span<const uint32_t> nodes =
      packed == nullptr ? task.input_nodes : packed->nodes;
  const absl::Span<const uint32_t> ranks =
      packed == nullptr ? task.hot_rank : packed->ranks;
  view_.num_rows = static_cast<uint32_t>(nodes.size());
  view_.seq = task.seq;
  view_.num_seeds = task.num_seeds;
  view_.num_input_nodes = static_cast<uint32_t>(task.input_nodes.size());
  view_.num_hops = static_cast<uint32_t>(task.num_hops);
  view_.num_pairs = task.num_pairs();
  view_.num_positives = task.num_positives;
  view_.columns = columns_;
  view_.x_type = type_;
  const bool has_scales = !scales_.empty();
  Arrays arrays;
  arrays.Add(nodes, &view_.input_nodes);
  if (!ranks.empty()) arrays.Add(ranks, &view_.hot_ranks);
  if (packed != nullptr) {
    arrays.Add(packed->places, &view_.placed.places);
    view_.placed.table = packed->table;
    view_.placed.capacity = packed->capacity;
  }
  if (!task.pairs.empty()) arrays.Add(task.pairs, &view_.pairs);
  if (has_scales) {
    arrays.Add(absl::MakeConstSpan(scales_[0]), &view_.degree_scales);
    arrays.Add(absl::MakeConstSpan(scales_[1]), &view_.own_scales);
  }
  for (size_t hop = 0; hop < view_.num_hops; ++hop) {
    const BlockView& block = task.hops[hop];
    DeviceBlock& device = view_.hops[hop];
    device.num_destinations = block.num_destinations;
    device.num_sources = block.num_sources;
    device.entries = static_cast<uint32_t>(block.indices.size());
    arrays.Add(block.indptr, &device.indptr);
    arrays.Add(block.indices, &device.indices);
    if (!block.weights.empty()) arrays.Add(block.weights, &device.weights);
    if (has_scales) {
      arrays.Add(absl::MakeConstSpan(scales_[2 + hop]),
                 &device.neighbor_scales);
    }
  }
  const uint64_t number_bytes = type_ == FeatureType::kFloat32 ? 4 : 2;
  FGNN_RETURN_IF_ERROR(GrowArray(arrays.bytes(), &staged_));
  FGNN_RETURN_IF_ERROR(GrowArray(arrays.bytes(), &arrays_));
  FGNN_RETURN_IF_ERROR(
      GrowArray(view_.num_rows * columns_ * number_bytes, &rows_));
  view_.x = rows_.get();
  arrays.Copy(staged_.get(), arrays_.get());
  FGNN_RETURN_IF_ERROR(CudaStatus(
      cudaMemcpyAsync(arrays_.get(), staged_.get(), arrays.bytes(),
                      cudaMemcpyHostToDevice, stream.get()),
      absl::StrCat("cannot copy batch ", task.seq.value(), " to the device")));
  return MarkReady(stream);
}

absl::Status DeviceTask::MarkReady(const CudaStream& stream) {
  return ready_->Record(stream);
}

absl::Status DeviceTask::HoldBack(const CudaStream& stream) const {
  return ready_->HoldBack(stream);
}

}  // namespace fgnn
