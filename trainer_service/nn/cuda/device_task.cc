#include "trainer_service/nn/cuda/device_task.h"

#include <cmath>
#include <cstddef>
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

// The same functions of degrees as in nn/cpu.
HopScales ScalesOf(const TaskView& task, size_t hop,
                   absl::Span<const EdgeOffset> graph_indptr) {
  const auto degree_of = [&](uint32_t v) {
    return static_cast<float>(graph_indptr[v + 1] - graph_indptr[v]) + 1.0F;
  };
  const BlockView& block = task.hops[hop];
  HopScales scales;
  const auto add = [&](absl::Span<const uint32_t> sources) {
    for (const uint32_t v : sources) {
      const float scale = 1.0F / std::sqrt(degree_of(v));
      scales.degree.push_back(scale);
      scales.own.push_back(scale * scale);
    }
  };
  if (task.num_parts > 1) {
    add(task.input_nodes.subspan(0, block.num_own_sources()));
    add(task.split.levels[hop].remote_nodes);
  } else if (hop + 1 == static_cast<size_t>(task.num_hops)) {
    add(task.input_nodes);
  }
  for (uint32_t v = 0; v < block.num_destinations; ++v) {
    const uint32_t drawn = block.indptr[v + 1] - block.indptr[v];
    const float degree = degree_of(task.input_nodes[v]);
    scales.neighbor.push_back(drawn == 0
                                  ? 0
                                  : 1.0F / std::sqrt(degree) * (degree - 1) /
                                        static_cast<float>(drawn));
  }
  return scales;
}

// `scales`: null without degrees.
void AddBlock(const BlockView& block, const HopScales* scales, Arrays* arrays,
              DeviceBlock* device) {
  device->num_destinations = block.num_destinations;
  device->num_sources = block.num_sources;
  device->entries = static_cast<uint32_t>(block.indices.size());
  arrays->Add(block.indptr, &device->indptr);
  arrays->Add(block.indices, &device->indices);
  if (!block.weights.empty()) arrays->Add(block.weights, &device->weights);
  if (scales == nullptr) return;
  arrays->Add(absl::MakeConstSpan(scales->neighbor), &device->neighbor_scales);
  arrays->Add(absl::MakeConstSpan(scales->degree), &device->degree_scales);
  arrays->Add(absl::MakeConstSpan(scales->own), &device->own_scales);
}

void AddSplit(const TaskView& task, size_t hop, Arrays* arrays,
              DeviceBlock* device) {
  const TaskSplit::Level& level = task.split.levels[hop];
  device->num_remote_sources = task.hops[hop].num_remote_sources;
  arrays->Add(level.send, &device->send);
  for (uint32_t to = 0; to < task.num_parts; ++to) {
    device->num_sent[to] = level.counts[task.part * task.num_parts + to];
  }
}

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

void DeviceTask::ComputeScales(const TaskView& task,
                               absl::Span<const EdgeOffset> graph_indptr) {
  scales_.clear();
  if (graph_indptr.empty()) return;
  for (size_t hop = 0; hop < static_cast<size_t>(task.num_hops); ++hop) {
    scales_.push_back(ScalesOf(task, hop, graph_indptr));
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
  view_.batch_examples = task.batch_examples();
  view_.num_input_nodes = static_cast<uint32_t>(task.input_nodes.size());
  view_.num_hops = static_cast<uint32_t>(task.num_hops);
  view_.num_pairs = task.num_pairs();
  view_.num_positives = task.num_positives;
  view_.columns = columns_;
  view_.x_type = type_;
  Arrays arrays;
  arrays.Add(nodes, &view_.input_nodes);
  if (!ranks.empty()) arrays.Add(ranks, &view_.hot_ranks);
  if (packed != nullptr) {
    arrays.Add(packed->places, &view_.placed.places);
    view_.placed.table = packed->table;
    view_.placed.capacity = packed->capacity;
  }
  if (!task.pairs.empty()) arrays.Add(task.pairs, &view_.pairs);
  for (size_t hop = 0; hop < view_.num_hops; ++hop) {
    AddBlock(task.hops[hop], scales_.empty() ? nullptr : &scales_[hop], &arrays,
             &view_.hops[hop]);
    if (task.num_parts > 1) AddSplit(task, hop, &arrays, &view_.hops[hop]);
  }
  const uint64_t number_bytes = type_ == FeatureType::kFloat32 ? 4 : 2;
  FGNN_RETURN_IF_ERROR(GrowArray(arrays.bytes(), &staged_));
  FGNN_RETURN_IF_ERROR(GrowArray(arrays.bytes(), &arrays_));
  FGNN_RETURN_IF_ERROR(
      GrowArray(view_.num_rows * columns_ * number_bytes, &rows_));
  view_.x = rows_.get();
  arrays.Copy(staged_.get(), arrays_.get());
  for (size_t hop = 0; task.num_parts == 1 && hop < view_.num_hops; ++hop) {
    const DeviceBlock& last = view_.hops[view_.num_hops - 1];
    view_.hops[hop].degree_scales = last.degree_scales;
    view_.hops[hop].own_scales = last.own_scales;
  }
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
