#include "sampler_service/sampling/cuda/device_graph.h"

#include <cuda_runtime_api.h>

#include <utility>
#include <variant>

#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "shared/device/cuda/stream.h"

namespace fgnn {
namespace {

// Copies and waits. The null stream would hold up the streams of samplers.
absl::Status CopyToDevice(void* to, const void* from, uint64_t bytes,
                          const char* what) {
  FGNN_ASSIGN_OR_RETURN(const CudaStream stream, CudaStream::Make());
  FGNN_RETURN_IF_ERROR(CudaStatus(
      cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream.get()),
      what));
  return CudaStatus(cudaStreamSynchronize(stream.get()), what);
}

// Registers an array to be read. Mapped files need to be registered as
// read-only, which not every machine can; other memory can be registered in any
// case.
absl::StatusOr<PinnedRange> Register(const void* begin, const void* end) {
  auto range = PinnedRange::Make(begin, end, PinnedRange::Access::kRead);
  if (range.ok()) return range;
  return PinnedRange::Make(begin, end, PinnedRange::Access::kReadWrite);
}

struct Bytes {
  const std::byte* begin;
  uint64_t size;
};
Bytes BytesOfIndices(const CscView& graph) {
  return std::visit(
      [](auto indices) {
        return Bytes{reinterpret_cast<const std::byte*>(indices.data()),
                     indices.size() * sizeof(indices[0])};
      },
      graph.indices);
}

}  // namespace

absl::StatusOr<std::shared_ptr<DeviceGraph>> DeviceGraph::Make(
    const CscView& graph, int device, TopologyPlace place) {
  std::shared_ptr<DeviceGraph> made(new DeviceGraph);
  made->device_ = device;
  made->host_ = graph;
  made->place_ = place;
  FGNN_RETURN_IF_ERROR(made->ChooseDevice());
  int num_multiprocessors = 0;
  FGNN_RETURN_IF_ERROR(
      CudaStatus(cudaDeviceGetAttribute(&num_multiprocessors,
                                        cudaDevAttrMultiProcessorCount, device),
                 "ask for the number of multiprocessors"));
  made->num_multiprocessors_ = static_cast<uint32_t>(num_multiprocessors);
  made->csc_ = {
      .indptr = nullptr,
      .indices = nullptr,
      .wide = std::holds_alternative<absl::Span<const int64_t>>(graph.indices),
      .num_nodes = graph.num_nodes(),
      .num_edges = graph.num_edges()};
  FGNN_RETURN_IF_ERROR(place == TopologyPlace::kDevice
                           ? made->CopyArrays(graph)
                           : made->RegisterArrays(graph));
  return made;
}

absl::Status DeviceGraph::ChooseDevice() const {
  return CudaStatus(cudaSetDevice(device_), "choose the device");
}

absl::Status DeviceGraph::CopyArrays(const CscView& graph) {
  const Bytes indices = BytesOfIndices(graph);
  FGNN_ASSIGN_OR_RETURN(indptr_,
                        DeviceArray<int64_t>::Make(graph.indptr.size()));
  FGNN_ASSIGN_OR_RETURN(indices_, DeviceArray<std::byte>::Make(indices.size));
  FGNN_RETURN_IF_ERROR(CopyToDevice(indptr_.get(), graph.indptr.data(),
                                    indptr_.bytes(), "upload csc_indptr"));
  FGNN_RETURN_IF_ERROR(CopyToDevice(indices_.get(), indices.begin, indices.size,
                                    "upload the indices"));
  csc_.indptr = indptr_.get();
  csc_.indices = indices_.get();
  return absl::OkStatus();
}

absl::Status DeviceGraph::RegisterArrays(const CscView& graph) {
  const Bytes indices = BytesOfIndices(graph);
  FGNN_ASSIGN_OR_RETURN(
      host_indptr_,
      Register(graph.indptr.data(), graph.indptr.data() + graph.indptr.size()));
  FGNN_ASSIGN_OR_RETURN(host_indices_,
                        Register(indices.begin, indices.begin + indices.size));
  csc_.indptr = static_cast<const int64_t*>(host_indptr_->DevicePointer());
  csc_.indices = host_indices_->DevicePointer();
  return absl::OkStatus();
}

absl::StatusOr<DeviceRanks> DeviceGraph::Upload(const HotRanks& ranks) {
  MutexLock lock(&mutex_);
  DeviceRanks known = device_ranks_.lock();
  if (known != nullptr && ranks_.ranks.data() == ranks.ranks.data() &&
      ranks_.rank_order_version == ranks.rank_order_version) {
    return known;
  }
  FGNN_ASSIGN_OR_RETURN(DeviceArray<uint32_t> copy,
                        DeviceArray<uint32_t>::Make(ranks.ranks.size()));
  FGNN_RETURN_IF_ERROR(CopyToDevice(copy.get(), ranks.ranks.data(),
                                    copy.bytes(), "upload the hot ranks"));
  known = std::make_shared<const DeviceArray<uint32_t>>(std::move(copy));
  ranks_ = ranks;
  device_ranks_ = known;
  return known;
}

absl::StatusOr<UploadedTables> DeviceGraph::Upload(const AliasTables& tables) {
  MutexLock lock(&mutex_);
  if (UploadedTables known = tables_.lock();
      known != nullptr && cells_ == tables.cells().data()) {
    return known;
  }
  const absl::Span<const AliasCell> cells = tables.cells();
  const absl::Span<const float> weights = tables.weights();
  auto made = std::make_shared<DeviceTables>();
  made->view.all_positive = tables.all_positive();
  if (place_ == TopologyPlace::kHost) {
    FGNN_ASSIGN_OR_RETURN(made->host_cells,
                          Register(cells.data(), cells.data() + cells.size()));
    FGNN_ASSIGN_OR_RETURN(
        made->host_weights,
        Register(weights.data(), weights.data() + weights.size()));
    made->view.cells =
        static_cast<const AliasCell*>(made->host_cells->DevicePointer());
    made->view.weights =
        static_cast<const float*>(made->host_weights->DevicePointer());
  } else {
    FGNN_ASSIGN_OR_RETURN(made->cells,
                          DeviceArray<AliasCell>::Make(cells.size()));
    FGNN_ASSIGN_OR_RETURN(made->weights,
                          DeviceArray<float>::Make(weights.size()));
    FGNN_RETURN_IF_ERROR(CopyToDevice(made->cells.get(), cells.data(),
                                      made->cells.bytes(),
                                      "upload the alias tables"));
    FGNN_RETURN_IF_ERROR(CopyToDevice(made->weights.get(), weights.data(),
                                      made->weights.bytes(),
                                      "upload the weights"));
    made->view.cells = made->cells.get();
    made->view.weights = made->weights.get();
  }
  cells_ = cells.data();
  tables_ = made;
  return made;
}

}  // namespace fgnn
