#include "trainer_service/nn/torch/torch_model.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mse_loss.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "trainer_service/nn/block_inference.h"
#include "trainer_service/nn/check_batch.h"
#include "trainer_service/nn/torch/torch_call.h"
#include "trainer_service/nn/torch/torch_inference.h"
#include "trainer_service/nn/torch/user_layers.h"
#include "trainer_service/nn/try_out.h"

namespace fgnn {
namespace {

LayerShape ShapeOf(const ModelOptions& options, uint32_t layer) {
  return {.in = static_cast<int64_t>(options.input_width(layer)),
          .out = static_cast<int64_t>(options.output_width(layer)),
          .name = absl::StrCat("layer ", layer, " of ", NameOf(options))};
}

// Layers, and the tensors of all their parameters in the order of `infos`.
struct TrainedLayers {
  std::vector<std::unique_ptr<UserLayer>> layers;
  std::vector<at::Tensor> tensors;
  std::vector<ParameterInfo> infos;
  std::vector<float> first_weights;  // [P]
};

absl::Status AddParameters(const ModelOptions& options, uint32_t layer,
                           TrainedLayers* trained) {
  const std::string name = ShapeOf(options, layer).name;
  const UserLayer& of = *trained->layers[layer];
  if (const auto buffers = of.BufferNames(); !buffers.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " has the buffer ", buffers.front(),
        ", which no trainer would share; make it a parameter (without a "
        "gradient, if it is a constant), or normalise without statistics"));
  }
  const at::NoGradGuard no_grad;
  for (const auto& [its_name, tensor] : of.Parameters()) {
    if (tensor.scalar_type() != at::kFloat || !tensor.device().is_cpu()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " has the parameter ", its_name, " of type ",
                       c10::toString(tensor.scalar_type()), " on ",
                       tensor.device().str(), "; make it Float on cpu"));
    }
    ParameterInfo info;
    info.name = absl::StrCat("layers.", layer, ".", its_name);
    info.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
    info.offset = trained->first_weights.size();
    info.decay = tensor.dim() >= 2 && tensor.requires_grad();
    trained->infos.push_back(std::move(info));
    const at::Tensor values = tensor.contiguous();
    const float* const data = values.const_data_ptr<float>();
    trained->first_weights.insert(trained->first_weights.end(), data,
                                  data + values.numel());
    trained->tensors.push_back(tensor);
  }
  return absl::OkStatus();
}

absl::StatusOr<TrainedLayers> MakeLayers(const ModelOptions& options,
                                         const UserLayers& source,
                                         uint64_t seed) {
  TrainedLayers trained;
  const SeededGenerator generator(seed);
  for (uint32_t layer = 0; layer < options.layers; ++layer) {
    FGNN_RETURN_IF_ERROR(CallTorch(
        absl::StrCat("the constructor of ", ShapeOf(options, layer).name), [&] {
          trained.layers.push_back(source.MakeLayer(layer));
          trained.layers.back()->Train(true);
        }));
    FGNN_RETURN_IF_ERROR(AddParameters(options, layer, &trained));
  }
  if (!trained.first_weights.empty()) return trained;
  return absl::InvalidArgumentError(
      absl::StrCat(NameOf(options), " has no parameters to train"));
}

// Returns the labels [seeds] or the targets [seeds, C] of a batch. Borrows
// them.
at::Tensor AnswersOf(const ModelOptions& options, const TrainingBatch& batch) {
  const int64_t seeds = batch.task->num_seeds;
  if (options.has_targets()) {
    return at::from_blob(const_cast<float*>(batch.targets.data()),
                         {seeds, int64_t{options.num_classes}}, at::kFloat);
  }
  return at::from_blob(const_cast<int64_t*>(batch.labels.data()), {seeds},
                       at::kLong);
}

at::Tensor LossOf(const ModelOptions& options, const at::Tensor& logits,
                  const at::Tensor& answers) {
  switch (options.objective) {
    case Objective::kValues:
      return at::mse_loss(logits, answers);
    case Objective::kLabelSets:
      return at::binary_cross_entropy_with_logits(logits, answers);
    default:
      return at::cross_entropy_loss(
          logits, answers, /*weight=*/{}, at::Reduction::Mean,
          /*ignore_index=*/-100, options.label_smoothing);
  }
}

class TorchModel final : public BlockModel {
 public:
  TorchModel(const ModelOptions& options, std::unique_ptr<UserLayers> source,
             TrainedLayers trained, ThreadTeam* team)
      : BlockModel(options, std::move(trained.infos)),
        team_(team),
        source_(std::move(source)),
        layers_(std::move(trained.layers)),
        tensors_(std::move(trained.tensors)),
        first_weights_(std::move(trained.first_weights)) {}

  void Initialize(uint64_t /*seed*/, absl::Span<float> weights) const override {
    std::copy(first_weights_.begin(), first_weights_.end(), weights.begin());
  }

  absl::StatusOr<BatchResult> Gradient(absl::Span<const float> weights,
                                       const TrainingBatch& batch,
                                       absl::Span<float> gradient) override {
    FGNN_RETURN_IF_ERROR(CheckBatch(*this, weights, batch, gradient));
    if (batch.task->num_seeds == 0) return LearnNothing(gradient);
    const SeededGenerator generator(SeedOf(batch));
    const TorchMemory memory([this] { team_->CountTask(); });
    absl::StatusOr<BatchResult> result;
    FGNN_RETURN_IF_ERROR(CallTorch(NameOf(options()), [&] {
      CopyToParameters(weights, tensors_);
      result = ForwardAndBackward(batch, gradient);
    }));
    most_bytes_ = std::max(most_bytes_, memory.most_bytes());
    return result;
  }

  std::unique_ptr<const LayerInference> Inference(
      uint32_t layer, absl::Span<const float> weights) const override {
    return MakeTorchInference(CopyOf(layer, weights),
                              ShapeOf(options(), layer));
  }

  uint64_t gradient_working_bytes() const override { return most_bytes_; }
  uint64_t inference_working_bytes(uint64_t largest_degree) const override {
    uint64_t most = 0;
    for (uint32_t layer = 0; layer < options().layers; ++layer) {
      most = std::max(most, MeasureInferenceBytes(CopyOf(layer, first_weights_),
                                                  ShapeOf(options(), layer),
                                                  largest_degree));
    }
    return most;
  }

 private:
  // Returns a copy of a layer, so that several threads may call it.
  // std::runtime_error.
  std::unique_ptr<UserLayer> CopyOf(uint32_t layer,
                                    absl::Span<const float> weights) const {
    const SeededGenerator generator(0);
    std::unique_ptr<UserLayer> copy;
    const absl::Status made = CallTorch(ShapeOf(options(), layer).name, [&] {
      copy = source_->MakeLayer(layer);
      size_t before = 0;
      for (uint32_t l = 0; l < layer; ++l) {
        before += layers_[l]->Parameters().size();
      }
      std::vector<at::Tensor> tensors;
      for (const auto& [name, tensor] : copy->Parameters()) {
        tensors.push_back(tensor);
      }
      if (tensors.empty()) return;
      CopyToParameters(weights.subspan(parameters()[before].offset), tensors);
    });
    if (!made.ok()) throw std::runtime_error(std::string(made.message()));
    return copy;
  }

  absl::StatusOr<BatchResult> ForwardAndBackward(const TrainingBatch& batch,
                                                 absl::Span<float> gradient) {
    const TaskView& task = *batch.task;
    at::Tensor x =
        at::from_blob(batch.features.data(),
                      {static_cast<int64_t>(task.input_nodes.size()),
                       static_cast<int64_t>(options().input_columns)},
                      at::kFloat);
    for (uint32_t layer = 0; layer < options().layers; ++layer) {
      // Layer l takes hop L - 1 - l: the last hop's sources have features.
      const BlockView& block = task.hops[options().layers - 1 - layer];
      const LayerShape shape = ShapeOf(options(), layer);
      FGNN_RETURN_IF_ERROR(CallTorch(shape.name, [&] {
        x = layers_[layer]->Forward(x, IndexTensor(block.indptr),
                                    IndexTensor(block.indices));
      }));
      FGNN_RETURN_IF_ERROR(CheckOutput(x, block.num_destinations, shape));
    }
    return Backward(x, batch, gradient);
  }

  // Computes the backward pass from the logits.
  absl::StatusOr<BatchResult> Backward(const at::Tensor& logits,
                                       const TrainingBatch& batch,
                                       absl::Span<float> gradient) {
    const at::Tensor answers = AnswersOf(options(), batch);
    const at::Tensor loss = LossOf(options(), logits, answers);
    if (!loss.requires_grad()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the logits of ", NameOf(options()),
                       " depend on no parameter that asks for a gradient"));
    }
    std::vector<at::Tensor> asked;
    for (const at::Tensor& tensor : tensors_) {
      if (tensor.requires_grad()) asked.push_back(tensor);
    }
    const std::vector<at::Tensor> gradients = torch::autograd::grad(
        {loss}, asked, /*grad_outputs=*/{}, /*retain_graph=*/std::nullopt,
        /*create_graph=*/false, /*allow_unused=*/true);
    CopyGradients(gradients, gradient);
    BatchResult result;
    result.loss = loss.item<float>();
    if (!options().has_targets()) {
      result.num_correct = static_cast<uint32_t>(
          logits.argmax(1).eq(answers).sum().item<int64_t>());
    }
    return result;
  }

  // Writes 0 for parameters that need no gradient or that the loss does not
  // depend on.
  void CopyGradients(const std::vector<at::Tensor>& gradients,
                     absl::Span<float> gradient) const {
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    auto next = gradients.begin();
    for (size_t p = 0; p < tensors_.size(); ++p) {
      if (!tensors_[p].requires_grad()) continue;
      const at::Tensor& its = *next++;
      if (!its.defined()) continue;
      at::from_blob(gradient.data() + parameters()[p].offset,
                    tensors_[p].sizes(), at::kFloat)
          .copy_(its);
    }
  }

  ThreadTeam* const team_;
  // Outlives the layers that it made.
  const std::unique_ptr<UserLayers> source_;
  const std::vector<std::unique_ptr<UserLayer>> layers_;
  const std::vector<at::Tensor> tensors_;
  const std::vector<float> first_weights_;
  uint64_t most_bytes_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> MakeTorchModel(
    const ModelOptions& options, const std::filesystem::path& plugins,
    uint64_t seed, ThreadTeam* team) {
  FGNN_RETURN_IF_ERROR(ValidateOptions(options));
  absl::StatusOr<std::unique_ptr<UserLayers>> source =
      options.kind == "plugin" ? OpenModelPlugin(options, plugins)
                               : OpenTorchScript(options);
  if (!source.ok()) return source.status();
  FGNN_ASSIGN_OR_RETURN(TrainedLayers trained,
                        MakeLayers(options, **source, seed));
  auto model = std::make_unique<TorchModel>(options, *std::move(source),
                                            std::move(trained), team);
  FGNN_RETURN_IF_ERROR(TryOut(*model, /*infers=*/true));
  return model;
}

}  // namespace fgnn
