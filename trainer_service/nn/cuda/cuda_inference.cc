#include "trainer_service/nn/cuda/cuda_inference.h"

#include <cuda_runtime_api.h>

#include <utility>

#include "absl/memory/memory.h"
#include "shared/base/status.h"
#include "shared/config/rules/model_rules.h"
#include "trainer_service/nn/cuda/kernels/long_lists.h"
#include "trainer_service/nn/cuda/layers/make_cuda_layer.h"
#include "trainer_service/nn/layer_options.h"

namespace fgnn {
namespace {

// What arrays' ends may take at most: there are fewer than 32 in a chunk.
constexpr uint64_t kAlignmentBytes = 32 * 256;

ModelOptions InFloats(ModelOptions options) {
  options.precision = Precision::kFloat32;
  return options;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaInference>> CudaInference::Make(
    const ModelOptions& options, DenseProducts* products) {
  FGNN_RETURN_IF_ERROR(ValidateOptions(options));
  FGNN_RETURN_IF_ERROR(CheckGpusTrain(options.kind));
  FGNN_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Make());
  return absl::WrapUnique(
      new CudaInference(options, products, std::move(stream)));
}

CudaInference::CudaInference(const ModelOptions& options,
                             DenseProducts* products, CudaStream stream)
    : options_(InFloats(options)),
      products_(products),
      parameter_infos_(ParametersOf(options)),
      stream_(std::move(stream)) {
  const LayerDescriber describer(options_, parameter_infos_);
  for (uint32_t layer = 0; layer < options.layers; ++layer) {
    layers_.push_back(
        MakeCudaLayer(options_, describer, layer, ProductOrder::kCheapest));
    const auto stage = describer.Stage(layer);
    stages_.push_back(stage ? std::make_unique<CudaHiddenStage>(*stage)
                            : nullptr);
  }
}

absl::Status CudaInference::Begin(absl::Span<const float> weights) {
  weights_ = weights;
  parameters_.emplace(parameter_infos_, Precision::kFloat32);
  return parameters_->Upload({.version = 0, .values = weights}, stream_.get());
}

void CudaInference::End() {
  // An error of the device is known already.
  cudaStreamSynchronize(stream_.get());
  memory_ = BatchMemory();
  parameters_.reset();
  weights_ = {};
}

bool CudaInference::SendsProducts(uint32_t layer) const {
  return layers_[layer]->SendsProducts();
}

bool CudaInference::ReadsInputs(uint32_t layer) const {
  return layers_[layer]->ReadsInputs() || options_.adds_inputs(layer);
}

uint64_t CudaInference::message_width(uint32_t layer) const {
  return SendsProducts(layer) ? layers_[layer]->MessageWeight().out
                              : options_.input_width(layer);
}

// Parameters, and as much for a gradient; each ends at a multiple of 32 floats.
uint64_t CudaInference::WeightBytes() const {
  const uint64_t gaps = 32 * (parameter_infos_.size() + 1);
  return 2 * (NumParameters(options_) + gaps) * sizeof(float);
}

uint64_t CudaInference::BytesOf(uint32_t layer,
                                const DeviceBlockSize& size) const {
  const uint64_t in = options_.input_width(layer);
  const uint64_t out = options_.output_width(layer);
  const uint64_t width = message_width(layer);
  const uint64_t heads =
      options_.kind == "gat" ? options_.layer_heads(layer) : 0;
  // Chunks of long lists have partial sums. (See MostChunks().)
  const uint64_t chunks = 2 * size.entries / (kChunkEntries + 1);
  // Messages, scales, ids and scores; inputs, sums, three arrays of outputs,
  // ids of inputs and outputs, scores, attention to itself, and lists; indices
  // and attention, with self-loops.
  const uint64_t floats =
      size.sources * (width + 3 + heads) +
      size.destinations * (in + width + 3 * out + 2 * heads + 8) +
      size.entries * (2 + heads) + chunks * (width + 4) + out;
  return floats * sizeof(float) + kAlignmentBytes;
}

uint64_t CudaInference::BytesOfMessages(uint32_t layer, uint64_t rows) const {
  // With their ids, once for each.
  return rows * (options_.input_width(layer) + message_width(layer) + 2) *
             sizeof(float) +
         kAlignmentBytes;
}

absl::Status CudaInference::Start(uint64_t bytes) {
  memory_.Start();
  if (memory_.bytes() >= bytes) return absl::OkStatus();
  memory_ = BatchMemory();
  return memory_.Reserve(bytes);
}

absl::StatusOr<float*> CudaInference::Messages(uint32_t layer, const float* x,
                                               uint64_t rows) {
  const CudaLayer& sender = *layers_[layer];
  const DeviceWeight weight = sender.MessageWeight();
  const BatchRun run = RunOf();
  FGNN_ASSIGN_OR_RETURN(float* const messages,
                        run.Make<float>(rows * weight.out));
  FGNN_RETURN_IF_ERROR(run.Forward(weight, x, rows, {.to = messages}));
  const std::optional<uint64_t> bias = sender.MessageBias();
  if (!bias) return messages;
  FGNN_ASSIGN_OR_RETURN(const CudaLayerOutput output,
                        run.FinishOutput(messages, rows, weight.out, *bias,
                                         /*plainly=*/false, Dropout()));
  return output.Floats();
}

absl::StatusOr<float*> CudaInference::Update(uint32_t layer,
                                             const DeviceBlock& block,
                                             const CudaInferenceRows& rows) {
  const BatchRun run = RunOf();
  FGNN_ASSIGN_OR_RETURN(float* const z,
                        layers_[layer]->Infer(run, block, rows));
  if (stages_[layer] == nullptr) return z;
  return stages_[layer]->Infer(run, block.num_destinations, z, rows.inputs);
}

uint64_t CudaInference::device_bytes() const {
  return memory_.bytes() + (parameters_ ? parameters_->device_bytes() : 0);
}

uint64_t CudaInference::pinned_bytes() const {
  return parameters_ ? parameters_->pinned_bytes() : 0;
}

BatchRun CudaInference::RunOf() {
  return BatchRun(products_, &memory_, &*parameters_, weights_,
                  Precision::kFloat32, stream_.get());
}

}  // namespace fgnn
