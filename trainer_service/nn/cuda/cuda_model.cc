#include "trainer_service/nn/cuda/cuda_model.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/config/rules/model_rules.h"
#include "shared/device/cuda/status.h"
#include "trainer_service/nn/cuda/kernels/dropout.h"
#include "trainer_service/nn/cuda/layers/make_cuda_layer.h"

namespace fgnn {
absl::StatusOr<std::unique_ptr<CudaModel>> CudaModel::Make(
    const ModelOptions& options, DenseProducts* products, ProductOrder order) {
  FGNN_RETURN_IF_ERROR(ValidateOptions(options));
  FGNN_RETURN_IF_ERROR(CheckGpusTrain(options.kind));
  FGNN_ASSIGN_OR_RETURN(CudaStream stream, CudaStream::Make());
  FGNN_ASSIGN_OR_RETURN(CudaEvent done, CudaEvent::Make());
  FGNN_ASSIGN_OR_RETURN(CudaRowExchange exchange, CudaRowExchange::Make());
  return absl::WrapUnique(new CudaModel(options, products, order,
                                        std::move(stream), std::move(done),
                                        std::move(exchange)));
}

CudaModel::CudaModel(const ModelOptions& options, DenseProducts* products,
                     ProductOrder order, CudaStream stream, CudaEvent done,
                     CudaRowExchange exchange)
    : options_(options),
      products_(products),
      num_parameters_(NumParameters(options)),
      parameters_(ParametersOf(options), options.precision),
      loss_(options),
      inputs_(options.layers),
      stream_(std::move(stream)),
      done_(std::move(done)),
      exchange_(std::move(exchange)) {
  const std::vector<ParameterInfo> parameters = ParametersOf(options);
  const LayerDescriber describer(options_, parameters);
  for (uint32_t layer = 0; layer < options.layers; ++layer) {
    layers_.push_back(MakeCudaLayer(options_, describer, layer, order));
    const auto stage = describer.Stage(layer);
    stages_.push_back(stage ? std::make_unique<CudaHiddenStage>(*stage)
                            : nullptr);
  }
}

FeatureType CudaModel::RowTypeOf(const ModelOptions& options) {
  return options.input_dropout > 0 ? FeatureType::kFloat32
                                   : NumbersOf(options.precision);
}

// Dropout makes rows of its own. Rows of another type would be converted for
// each edge.
std::optional<uint32_t> CudaModel::DenseRows(const TaskView& task,
                                             FeatureType stored) const {
  if (options_.input_dropout > 0 || stored != NumbersOf(options_.precision) ||
      task.num_hops != static_cast<int>(options_.layers)) {
    return std::nullopt;
  }
  return layers_[0]->DenseRows(task.hops[options_.layers - 1]);
}

uint64_t CudaModel::device_bytes() const {
  return parameters_.device_bytes() + memory_.bytes();
}

uint64_t CudaModel::pinned_bytes() const {
  return parameters_.pinned_bytes() + loss_.pinned_bytes() +
         exchange_.pinned_bytes();
}

// Returns the block of layer l: hop L - 1 - l, as the last hop's sources have
// features.
const DeviceBlock& CudaModel::BlockOf(uint32_t layer,
                                      const CudaBatch& batch) const {
  return batch.task->view().hops[HopOf(layer)];
}

ExchangedHop CudaModel::InputsOf(uint32_t layer, const CudaBatch& batch) const {
  return {
      .shuffle = batch.shuffle,
      .stream = &stream_,
      .hop = HopOf(layer),
      .block = &BlockOf(layer, batch),
      .type = layer == 0 ? RowTypeOf(options_) : NumbersOf(options_.precision),
      .columns = options_.input_width(layer)};
}

// Without a shuffle nothing would be where layers read rows of other parts.
bool CudaModel::LacksRows(const CudaBatch& batch) const {
  for (uint32_t layer = batch.shares_inputs ? 0 : 1; layer < options_.layers;
       ++layer) {
    if (BlockOf(layer, batch).num_remote_sources > 0) {
      return batch.shuffle == nullptr;
    }
  }
  return false;
}

absl::Status CudaModel::CheckFits(const VersionedWeights& weights,
                                  const CudaBatch& batch,
                                  absl::Span<float> gradient) const {
  const DeviceTaskView& task = batch.task->view();
  FGNN_RETURN_IF_ERROR(CheckShape(options_, num_parameters_,
                                  {.seq = task.seq,
                                   .weights = weights.values.size(),
                                   .gradients = gradient.size(),
                                   .hops = task.num_hops,
                                   .seeds = task.num_seeds,
                                   .pairs = task.num_pairs}));
  if (task.columns != options_.input_columns ||
      task.x_type != RowTypeOf(options_) ||
      (options_.divides_by_degrees() &&
       task.hops[0].degree_scales == nullptr)) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch ", task.seq.value(), " has rows of ", task.columns,
                     " columns, or of a type or without degrees, that do not "
                     "fit the model of ",
                     options_.input_columns, " columns"));
  }
  if (LacksRows(batch)) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch ", task.seq.value(),
                     " is a part, and has no exchange with the other parts"));
  }
  return CheckAnswers(options_, task.seq, task.num_seeds, batch.answers);
}

absl::StatusOr<BatchResult> CudaModel::Gradient(const VersionedWeights& weights,
                                                const CudaBatch& batch,
                                                absl::Span<float> gradient,
                                                float* on_device) {
  FGNN_RETURN_IF_ERROR(CheckFits(weights, batch, gradient));
  if (batch.task->view().batch_examples == 0) return LearnNothing(gradient);
  memory_.Start();
  if (const absl::Status queued = Queue(weights, batch, on_device);
      !queued.ok()) {
    // What is queued reads the batch. An error of the device is known already.
    cudaStreamSynchronize(stream_.get());
    // A part that is given back has done nothing to the weights.
    if (!absl::IsCancelled(queued)) parameters_.Forget();
    return Annotate(
        queued,
        absl::StrCat("batch ", batch.task->view().seq.value(), " of ",
                     batch.task->view().num_input_nodes, " input nodes"));
  }
  FGNN_RETURN_IF_ERROR(done_.WaitForWork([] {}));
  return loss_.ResultOf(parameters_.TakeFetched(gradient), batch.task->view());
}

absl::Status CudaModel::Queue(const VersionedWeights& weights,
                              const CudaBatch& batch, float* on_device) {
  FGNN_RETURN_IF_ERROR(parameters_.Upload(weights, stream_.get()));
  FGNN_RETURN_IF_ERROR(batch.task->HoldBack(stream_));
  const BatchRun run(products_, &memory_, &parameters_, weights.values,
                     options_.precision, stream_.get());
  FGNN_RETURN_IF_ERROR(QueueForward(run, batch));
  FGNN_ASSIGN_OR_RETURN(void* const dh,
                        loss_.Queue(run, {.logits = logits_,
                                          .task = &batch.task->view(),
                                          .answers = batch.answers}));
  FGNN_RETURN_IF_ERROR(QueueBackward(run, batch, dh));
  FGNN_RETURN_IF_ERROR(parameters_.QueueFetch(stream_.get()));
  if (on_device != nullptr) {
    FGNN_RETURN_IF_ERROR(parameters_.QueueCopy(on_device, stream_.get()));
  }
  return done_.Record(stream_);
}

// The rows stay as they are, for another gradient of the same task.
absl::StatusOr<const void*> CudaModel::DropFeatures(const BatchRun& run,
                                                    const CudaBatch& batch) {
  const DeviceTaskView& task = batch.task->view();
  const Dropout dropout = DropoutInto(options_, 0, batch.place);
  if (!dropout.active()) return task.x;
  const uint64_t count = task.num_input_nodes * task.columns;
  FGNN_ASSIGN_OR_RETURN(void* const dropped, run.MakeNumbers(count));
  FGNN_RETURN_IF_ERROR(
      CudaStatus(LaunchDropout({.key = dropout.key,
                                .threshold = dropout.threshold,
                                .scale = dropout.scale,
                                .count = count,
                                .from = static_cast<const float*>(task.x),
                                .to_type = run.type(),
                                .to = dropped},
                               run.stream()),
                 "cannot drop features"));
  return dropped;
}

absl::Status CudaModel::QueueForward(const BatchRun& run,
                                     const CudaBatch& batch) {
  CudaLayerInput input;
  if (batch.shares_inputs && batch.shuffle != nullptr) {
    FGNN_RETURN_IF_ERROR(
        exchange_.FillRemote(run, InputsOf(0, batch), batch.task->view().x));
  }
  FGNN_ASSIGN_OR_RETURN(input.rows, DropFeatures(run, batch));
  input.placed = batch.task->view().placed;
  for (uint32_t layer = 0; layer < options_.layers; ++layer) {
    inputs_[layer] = input.rows;
    input.key = OwnKeyOf(layer, batch.place);
    const DeviceBlock& block = BlockOf(layer, batch);
    input.degree_scales = block.degree_scales;
    input.own_scales = block.own_scales;
    const Dropout dropout = DropoutInto(options_, layer + 1, batch.place);
    FGNN_ASSIGN_OR_RETURN(const CudaLayerOutput output,
                          layers_[layer]->Forward(run, block, input, dropout));
    logits_ = output.logits;
    const void* rows = output.rows;
    if (stages_[layer] != nullptr) {
      FGNN_ASSIGN_OR_RETURN(rows, stages_[layer]->Forward(
                                      run, block.num_destinations,
                                      output.logits, inputs_[layer], dropout));
    }
    if (batch.shuffle != nullptr && layer + 1 < options_.layers) {
      FGNN_ASSIGN_OR_RETURN(
          rows, exchange_.Forward(run, InputsOf(layer + 1, batch), rows));
    }
    input.rows = rows;
    input.placed = {};
  }
  return absl::OkStatus();
}

absl::Status CudaModel::QueueBackward(const BatchRun& run,
                                      const CudaBatch& batch, void* dh) {
  for (uint32_t layer = options_.layers; layer-- > 0;) {
    const float input_scale = DropoutInto(options_, layer, batch.place).scale;
    CudaHiddenStage* const stage = stages_[layer].get();
    const void* dz = dh;
    if (stage != nullptr) {
      FGNN_ASSIGN_OR_RETURN(dz, stage->Backward(run, dh));
    }
    FGNN_ASSIGN_OR_RETURN(
        void* const dx,
        layers_[layer]->Backward(run, BlockOf(layer, batch), dz, input_scale));
    if (stage != nullptr) {
      FGNN_RETURN_IF_ERROR(
          stage->AddGradientOfInputs(run, dh, inputs_[layer], input_scale, dx));
    }
    if (batch.shuffle != nullptr && layer > 0) {
      FGNN_RETURN_IF_ERROR(exchange_.Backward(run, InputsOf(layer, batch), dx));
    }
    dh = dx;
  }
  return absl::OkStatus();
}

}  // namespace fgnn
