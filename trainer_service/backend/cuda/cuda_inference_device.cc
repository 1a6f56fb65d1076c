#include "trainer_service/backend/cuda/cuda_inference_device.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/device/cuda/status.h"
#include "shared/telemetry/log.h"
#include "trainer_service/backend/cuda/check_device.h"
#include "trainer_service/features/cuda/gather_rows.h"
#include "trainer_service/features/cuda/scatter_rows.h"
#include "trainer_service/nn/cuda/growing_array.h"

namespace fgnn {
namespace {

// Long enough that a copy takes longer than its start.
constexpr uint64_t kStagedBytes = uint64_t{4} << 20;

// Rows that are staged at once: as many as fit, at least one.
uint64_t RowsAtOnce(uint64_t columns) {
  return std::max<uint64_t>(1, kStagedBytes / (columns * sizeof(float)));
}

// Place of the array in kept_.
size_t IndexOf(RowsPlace place) { return place == RowsPlace::kHidden ? 0 : 1; }

absl::Status Scatter(const ScatterRowsArgs& args, const CudaStream& stream) {
  return CudaStatus(LaunchScatterRows(args, stream.get()), "cannot keep rows");
}

void LogOnCores() {
  LogWarning(
      "the device has no memory for this evaluation: cores of the host make "
      "it");
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaInferenceDevice>> CudaInferenceDevice::Make(
    const ModelOptions& options, DenseProducts* products,
    const MissRows* features, ThreadTeam* team,
    std::shared_ptr<ByteCount> count, uint64_t most_bytes) {
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<CudaInference> inference,
                        CudaInference::Make(options, products));
  FGNN_ASSIGN_OR_RETURN(CudaEvent first, CudaEvent::Make());
  FGNN_ASSIGN_OR_RETURN(CudaEvent second, CudaEvent::Make());
  return absl::WrapUnique(new CudaInferenceDevice(
      std::move(inference),
      {Staged{{}, std::move(first)}, Staged{{}, std::move(second)}}, features,
      team, std::move(count), most_bytes));
}

absl::StatusOr<std::unique_ptr<InferenceDevice>> CudaInferenceDevice::Open(
    int device, const ProductsOpener& open_products,
    const ModelOptions& options, ThreadTeam* team) {
  FGNN_RETURN_IF_ERROR(CheckCudaDevice(device));
  FGNN_RETURN_IF_ERROR(
      CudaStatus(cudaSetDevice(device), absl::StrCat("cuda:", device)));
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<DenseProducts> products,
                        open_products());
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<CudaInferenceDevice> opened,
                        Make(options, products.get(), /*features=*/nullptr,
                             team, std::make_shared<ByteCount>()));
  opened->own_products_ = std::move(products);
  return opened;
}

CudaInferenceDevice::CudaInferenceDevice(
    std::unique_ptr<CudaInference> inference, std::array<Staged, 2> staged,
    const MissRows* features, ThreadTeam* team,
    std::shared_ptr<ByteCount> count, uint64_t most_bytes)
    : inference_(std::move(inference)),
      staged_(std::move(staged)),
      features_(features),
      team_(*team),
      bytes_(std::move(count)),
      most_bytes_(most_bytes) {}

absl::Status CudaInferenceDevice::Begin(absl::Span<const float> weights) {
  room_bytes_ = most_bytes_;
  const absl::Status begun = Finish(inference_->Begin(weights));
  if (absl::IsResourceExhausted(begun)) LogOnCores();
  return begun;
}

void CudaInferenceDevice::End() {
  inference_->End();
  for (Staged& staged : staged_) staged.memory = {};
  kept_ = {};
  bytes_.Set(0, 0);
}

absl::StatusOr<bool> CudaInferenceDevice::Keep(uint64_t num_nodes,
                                               const KeptWidths& widths) {
  kept_[0].columns = widths.hidden;
  kept_[1].columns = widths.messages;
  for (Kept& kept : kept_) {
    absl::StatusOr<DeviceArray<float>> rows =
        DeviceArray<float>::Make(num_nodes * kept.columns);
    if (!rows.ok()) {
      kept_ = {};
      if (!absl::IsResourceExhausted(rows.status())) return rows.status();
      LogWarning(
          "the device has no memory for hidden states: they stay in the "
          "host's");
      return false;
    }
    kept.rows = *std::move(rows);
  }
  FGNN_RETURN_IF_ERROR(Finish(absl::OkStatus()));
  return true;
}

absl::Status CudaInferenceDevice::GiveBack(float* hidden, float* messages) {
  for (size_t i = 0; i < kept_.size(); ++i) {
    float* const to = i == 0 ? hidden : messages;
    const uint64_t columns = kept_[i].columns;
    if (to == nullptr || columns == 0) continue;
    const auto take = [&](uint64_t first, uint64_t rows, const float* values) {
      std::copy_n(values, rows * columns, to + first * columns);
      return absl::OkStatus();
    };
    FGNN_RETURN_IF_ERROR(AsLasting(
        Finish(Give(kept_[i].rows.get(), kept_[i].rows.size() / columns,
                    columns, {take, RowsPlace::kHost, {}}))));
  }
  kept_ = {};
  return Finish(absl::OkStatus());
}

bool CudaInferenceDevice::HasRoomForMessages(uint32_t layer,
                                             uint64_t rows) const {
  return inference_->BytesOfMessages(layer, rows) <= room_bytes_;
}

bool CudaInferenceDevice::HasRoom(uint32_t layer, const BlockSize& most) const {
  return inference_->BytesOf(layer, {most.destinations, most.sources,
                                     most.entries}) <= room_bytes_;
}

bool CudaInferenceDevice::TakeLess() {
  room_bytes_ = std::min(room_bytes_, last_bytes_) / 2;
  if (room_bytes_ >= kLeastInferenceBytes) return true;
  LogOnCores();
  return false;
}

absl::Status CudaInferenceDevice::Messages(uint32_t layer, uint64_t rows,
                                           const Rows& inputs,
                                           const Results& messages) {
  return Finish(TryMessages(layer, rows, inputs, messages));
}

absl::Status CudaInferenceDevice::Update(uint32_t layer,
                                         const InferenceBlock& block,
                                         const Rows& messages,
                                         const Rows& inputs,
                                         const Results& outputs) {
  return Finish(TryUpdate(layer, block, messages, inputs, outputs));
}

absl::Status CudaInferenceDevice::Finish(const absl::Status& status) {
  // What is queued reads the buffers. An error of the device is known already.
  if (!status.ok()) cudaStreamSynchronize(inference_->stream().get());
  bytes_.Set(inference_->device_bytes() + kept_[0].rows.bytes() +
                 kept_[1].rows.bytes(),
             inference_->pinned_bytes() + staged_[0].memory.bytes() +
                 staged_[1].memory.bytes());
  return status;
}

absl::Status CudaInferenceDevice::Start(uint64_t bytes, uint64_t columns) {
  last_bytes_ = bytes;
  for (Staged& staged : staged_) {
    // Before any result is given, so that none is given twice.
    FGNN_RETURN_IF_ERROR(WaitFor(staged));
    FGNN_RETURN_IF_ERROR(GrowArray(
        std::max(kStagedBytes, columns * sizeof(float)), &staged.memory));
  }
  return inference_->Start(bytes);
}

absl::Status CudaInferenceDevice::TryMessages(uint32_t layer, uint64_t rows,
                                              const Rows& inputs,
                                              const Results& messages) {
  const uint64_t in = inference_->options().input_width(layer);
  const uint64_t width = inference_->message_width(layer);
  FGNN_RETURN_IF_ERROR(
      Start(inference_->BytesOfMessages(layer, rows), std::max(in, width)));
  FGNN_ASSIGN_OR_RETURN(const float* const x, BringRows(rows, in, inputs));
  FGNN_ASSIGN_OR_RETURN(const float* const made,
                        inference_->Messages(layer, x, rows));
  return Give(made, rows, width, messages);
}

absl::Status CudaInferenceDevice::TryUpdate(uint32_t layer,
                                            const InferenceBlock& block,
                                            const Rows& messages,
                                            const Rows& inputs,
                                            const Results& outputs) {
  const uint64_t destinations = block.num_destinations();
  const uint64_t in = inference_->options().input_width(layer);
  const uint64_t out = inference_->options().output_width(layer);
  const uint64_t width = inference_->message_width(layer);
  FGNN_RETURN_IF_ERROR(
      Start(inference_->BytesOf(layer, {.destinations = destinations,
                                        .sources = block.num_sources,
                                        .entries = block.indices.size()}),
            std::max({in, out, width})));
  DeviceBlock lists;
  lists.num_destinations = block.num_destinations();
  lists.num_sources = block.num_sources;
  lists.entries = static_cast<uint32_t>(block.indices.size());
  FGNN_ASSIGN_OR_RETURN(lists.indptr, CopyArray(block.indptr));
  FGNN_ASSIGN_OR_RETURN(lists.indices, CopyArray(block.indices));
  CudaInferenceRows rows;
  std::vector<float> own_scales;
  if (!block.degree_scales.empty()) {
    for (uint64_t d = 0; d < destinations; ++d) {
      own_scales.push_back(block.degree_scales[d] * block.degree_scales[d]);
    }
    FGNN_ASSIGN_OR_RETURN(rows.degree_scales, CopyArray(block.degree_scales));
    FGNN_ASSIGN_OR_RETURN(rows.own_scales,
                          CopyArray(absl::MakeConstSpan(own_scales)));
    // All neighbours are there: t is r.
    lists.neighbor_scales = rows.degree_scales;
  }
  FGNN_ASSIGN_OR_RETURN(rows.messages,
                        BringRows(block.num_sources, width, messages));
  if (inference_->ReadsInputs(layer)) {
    rows.inputs = rows.messages;  // Destinations are the first sources.
    if (inference_->SendsProducts(layer)) {
      FGNN_ASSIGN_OR_RETURN(rows.inputs, BringRows(destinations, in, inputs));
    }
  }
  FGNN_ASSIGN_OR_RETURN(const float* const made,
                        inference_->Update(layer, lists, rows));
  return Give(made, destinations, out, outputs);
}

absl::StatusOr<float*> CudaInferenceDevice::BringRows(uint64_t rows,
                                                      uint64_t columns,
                                                      const Rows& from) {
  if (from.place == RowsPlace::kHidden || from.place == RowsPlace::kMessages) {
    return GatherRows(kept_[IndexOf(from.place)].rows.get(), columns,
                      FeatureType::kFloat32, from.nodes);
  }
  if (from.place == RowsPlace::kFeatures && features_ != nullptr &&
      features_->on_device() != nullptr) {
    return GatherRows(features_->on_device(), columns,
                      features_->store().type(), from.nodes);
  }
  return CopyRows(rows, columns, from.copy);
}

absl::StatusOr<float*> CudaInferenceDevice::GatherRows(
    const void* array, uint64_t columns, FeatureType type,
    absl::Span<const GlobalId> nodes) {
  GatherRowsArgs args;
  args.misses = static_cast<const std::byte*>(array);
  args.rows = static_cast<uint32_t>(nodes.size());
  args.columns = static_cast<uint32_t>(columns);
  args.type = type;
  FGNN_ASSIGN_OR_RETURN(args.miss_places, CopyArray(nodes));
  FGNN_ASSIGN_OR_RETURN(args.num_hits, inference_->MakeArray<uint32_t>(1));
  FGNN_ASSIGN_OR_RETURN(float* const rows,
                        inference_->MakeArray<float>(nodes.size() * columns));
  args.out = rows;
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchGatherRows(args, inference_->stream().get()),
                 "cannot gather rows"));
  return rows;
}

absl::StatusOr<float*> CudaInferenceDevice::CopyRows(uint64_t rows,
                                                     uint64_t columns,
                                                     Source source) {
  FGNN_ASSIGN_OR_RETURN(float* const to,
                        inference_->MakeArray<float>(rows * columns));
  const uint64_t at_once = RowsAtOnce(columns);
  for (uint64_t first = 0; first < rows; first += at_once) {
    const uint64_t count = std::min(at_once, rows - first);
    FGNN_ASSIGN_OR_RETURN(Staged* const staged, NextStaged());
    FGNN_RETURN_IF_ERROR(
        source(first, count, reinterpret_cast<float*>(staged->memory.get())));
    FGNN_RETURN_IF_ERROR(CudaStatus(
        cudaMemcpyAsync(to + first * columns, staged->memory.get(),
                        count * columns * sizeof(float), cudaMemcpyHostToDevice,
                        inference_->stream().get()),
        "cannot copy rows to the device"));
    FGNN_RETURN_IF_ERROR(staged->copied.Record(inference_->stream()));
  }
  return to;
}

// Copies numbers of 4 bytes, as rows of one column.
template <typename T>
absl::StatusOr<T*> CudaInferenceDevice::CopyArray(absl::Span<const T> array) {
  static_assert(sizeof(T) == sizeof(float));
  FGNN_ASSIGN_OR_RETURN(
      float* const to,
      CopyRows(array.size(), 1, [&](uint64_t first, uint64_t rows, float* out) {
        std::memcpy(out, array.data() + first, rows * sizeof(T));
        return absl::OkStatus();
      }));
  return reinterpret_cast<T*>(to);
}

absl::Status CudaInferenceDevice::Give(const float* values, uint64_t rows,
                                       uint64_t columns, const Results& to) {
  if (to.place != RowsPlace::kHost) {
    FGNN_ASSIGN_OR_RETURN(const uint32_t* const places, CopyArray(to.nodes));
    // Not waited for: cores make the next block meanwhile, whose work is queued
    // behind this on the same stream.
    return Scatter({.rows = values,
                    .places = places,
                    .num_rows = static_cast<uint32_t>(rows),
                    .columns = static_cast<uint32_t>(columns),
                    .table = kept_[IndexOf(to.place)].rows.get()},
                   inference_->stream());
  }
  struct Part {
    Staged* staged;
    uint64_t first;
    uint64_t count;
  };
  const auto give = [&](const Part& part) -> absl::Status {
    FGNN_RETURN_IF_ERROR(WaitFor(*part.staged));
    return to.take(part.first, part.count,
                   reinterpret_cast<const float*>(part.staged->memory.get()));
  };
  std::optional<Part> before;
  const uint64_t at_once = RowsAtOnce(columns);
  for (uint64_t first = 0; first < rows; first += at_once) {
    const uint64_t count = std::min(at_once, rows - first);
    FGNN_ASSIGN_OR_RETURN(Staged* const staged, NextStaged());
    FGNN_RETURN_IF_ERROR(CudaStatus(
        cudaMemcpyAsync(staged->memory.get(), values + first * columns,
                        count * columns * sizeof(float), cudaMemcpyDeviceToHost,
                        inference_->stream().get()),
        "cannot copy rows from the device"));
    FGNN_RETURN_IF_ERROR(staged->copied.Record(inference_->stream()));
    if (before.has_value()) FGNN_RETURN_IF_ERROR(give(*before));
    before = Part{staged, first, count};
  }
  return before.has_value() ? give(*before) : absl::OkStatus();
}

absl::StatusOr<CudaInferenceDevice::Staged*> CudaInferenceDevice::NextStaged() {
  Staged& staged = staged_[next_staged_];
  next_staged_ = 1 - next_staged_;
  FGNN_RETURN_IF_ERROR(WaitFor(staged));
  return &staged;
}

absl::Status CudaInferenceDevice::WaitFor(const Staged& staged) const {
  return staged.copied.WaitForWork([this] { team_.CountTask(); });
}

uint64_t CudaInferenceDevice::HostBytes(uint64_t num_nodes,
                                        uint64_t num_edges) const {
  // Sources as they are found and numbered, scales, lists. On the device each
  // has two numbers and a row.
  const uint64_t lists = 4 * sizeof(uint32_t) * (num_nodes + num_edges);
  return staged_.size() * kStagedBytes + std::min(lists, most_bytes_ / 2) +
         inference_->WeightBytes();
}

uint64_t CudaInferenceDevice::MostBytes(uint64_t num_nodes,
                                        uint64_t num_edges) const {
  const ModelOptions& options = inference_->options();
  uint64_t most = 0;
  for (uint32_t layer = 0; layer < options.layers; ++layer) {
    most = std::max(most, inference_->BytesOf(layer, {.destinations = num_nodes,
                                                      .sources = num_nodes,
                                                      .entries = num_edges}));
    if (inference_->SendsProducts(layer)) {
      most = std::max(most, inference_->BytesOfMessages(layer, num_nodes));
    }
  }
  return std::min(most, most_bytes_) + inference_->WeightBytes();
}

}  // namespace fgnn
