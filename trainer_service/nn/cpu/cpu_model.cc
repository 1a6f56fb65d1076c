#include "trainer_service/nn/cpu/cpu_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/nn/check_batch.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"
#include "trainer_service/nn/cpu/kernels/row_kernels.h"
#include "trainer_service/nn/cpu/layers/gnn_layer.h"
#include "trainer_service/nn/cpu/layers/hidden_stage.h"
#include "trainer_service/nn/cpu/layers/make_layer.h"
#include "trainer_service/nn/cpu/pair_loss.h"
#include "trainer_service/nn/cpu/seed_losses.h"
#include "trainer_service/nn/dropout_rule.h"
#include "trainer_service/nn/row_shuffle.h"

namespace fgnn {
namespace {

constexpr int64_t kSeedsPerTask = 128;
constexpr int64_t kFloatsPerDropoutTask = 65536;
constexpr int64_t kNodesPerDegreeTask = 4096;
// Most bytes of each column that are read for every source in place. If more
// are read, copies pay: they lie close together (fgnn bench extract
// --edges-per-row).
constexpr uint64_t kMostBytesInPlace = 6;

// Seeds [first, first + count) of a task, whose batch has `all` seeds.
struct SeedRange {
  int64_t first;
  int64_t count;
  int64_t all;
};

DropoutPlace PlaceOf(const TrainingBatch& batch) {
  return {.seed = batch.seed,
          .epoch = batch.epoch,
          .batch = batch.batch,
          .part = batch.task->part};
}

// Returns the number of terms of a seed's loss.
int64_t TermsOfSeed(const ModelOptions& options) {
  return options.has_targets() ? int64_t{options.num_classes} : 1;
}

// Returns the sum of the seeds' losses. Replaces their logits by the gradient
// of the batch's mean loss.
BatchResult LossOfSeeds(const ModelOptions& options, const TrainingBatch& batch,
                        const SeedRange& seeds, float* logits) {
  const int64_t columns = options.num_classes;
  const int64_t terms = TermsOfSeed(options);
  const float scale = 1.0F / static_cast<float>(seeds.all * terms);
  if (!options.has_targets()) {
    return CrossEntropyWithGradient(
        batch.labels.data() + seeds.first, seeds.count, columns, scale,
        static_cast<float>(options.label_smoothing), logits);
  }
  const float* const targets = batch.targets.data() + seeds.first * columns;
  const int64_t count = seeds.count * columns;
  return {.loss = options.objective == Objective::kValues
                      ? SquaredErrorWithGradient(targets, count, scale, logits)
                      : BinaryCrossEntropyWithGradient(targets, count, scale,
                                                       logits)};
}

// A model whose layers take one block each, with the loss of the last layer's
// outputs. Number: see GnnLayer.
template <typename Number>
class LayeredModel final : public Model {
 public:
  LayeredModel(const ModelOptions& options, ThreadTeam* team,
               ProductOrder order)
      : Model(options), team_(team), pair_loss_(team) {
    for (uint32_t layer = 0; layer < options.layers; ++layer) {
      layers_.push_back(MakeLayer<Number>(*this, layer, order, team));
      const auto stage = StageOf(*this, layer);
      stages_.push_back(
          stage ? std::make_unique<HiddenStage<Number>>(*stage, team)
                : nullptr);
    }
  }

  absl::StatusOr<BatchResult> Gradient(absl::Span<const float> weights,
                                       const TrainingBatch& batch,
                                       absl::Span<float> gradient) override {
    FGNN_RETURN_IF_ERROR(CheckBatch(*this, weights, batch, gradient));
    if (batch.task->batch_examples() == 0) return LearnNothing(gradient);
    if (!batch.stored_rows.rows.empty() && !CanReadStoredRows(*batch.task)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "batch ", batch.task->seq.value(),
          " has stored rows, which this model does not take for it"));
    }
    try {
      return ForwardAndBackward(weights, batch, gradient);
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError(
          absl::StrCat("out of memory for batch ", batch.task->seq.value(),
                       " of ", batch.task->input_nodes.size(),
                       " input nodes; lower sampling.batch_size or fanouts"));
    }
  }

  bool TakesStoredRows(const TaskView& task, FeatureType type) const override {
    const BlockView& block = BlockOf(0, task);
    return CanReadStoredRows(task) && block.indices.size() * BytesOf(type) <=
                                          block.num_sources * kMostBytesInPlace;
  }

  bool SendsProducts(uint32_t layer) const override {
    return layers_[layer]->SendsProducts();
  }
  std::unique_ptr<const LayerInference> Inference(
      uint32_t layer, absl::Span<const float> weights) const override {
    std::unique_ptr<const LayerInference> inference =
        layers_[layer]->Inference(weights);
    const auto stage = StageOf(*this, layer);
    return stage ? WithHiddenStage(*stage, weights, std::move(inference))
                 : std::move(inference);
  }

 private:
  struct DegreeRows {
    Scratch<float> degrees;
    Scratch<float> scales;
  };

  bool CanReadStoredRows(const TaskView& task) const {
    return !(options().input_dropout > 0) &&
           layers_[0]->TakesStoredRows(BlockOf(0, task));
  }

  absl::Status DropFeatures(const TrainingBatch& batch) {
    const Dropout dropout = DropoutInto(options(), 0, PlaceOf(batch));
    if (!dropout.active()) return absl::OkStatus();
    const int64_t count = static_cast<int64_t>(batch.features.size());
    const int64_t num_tasks = NumTasks(count, kFloatsPerDropoutTask);
    return team_->Run(num_tasks, [&](int64_t task, int) {
      const int64_t first = task * kFloatsPerDropoutTask;
      ApplyDropout(dropout, first,
                   std::min(kFloatsPerDropoutTask, count - first),
                   batch.features.data() + first);
    });
  }

  // Returns the block of layer l: hop L - 1 - l, as the last hop's sources have
  // features.
  const BlockView& BlockOf(uint32_t layer, const TaskView& task) const {
    return task.hops[HopOf(layer)];
  }

  // Returns the degrees of the sources of a layer's block. `before`: those of
  // the layer before. The first input nodes are the sources of any hop of a
  // whole batch, and the own sources of any hop of a part.
  absl::StatusOr<SourceDegrees> DegreesOf(const TrainingBatch& batch,
                                          uint32_t layer,
                                          const SourceDegrees& before) {
    if (!options().divides_by_degrees()) return SourceDegrees();
    const TaskView& task = *batch.task;
    if (layer > 0 && task.num_parts == 1) return before;
    const BlockView& block = BlockOf(layer, task);
    DegreeRows& rows = degrees_[layer];
    const SourceDegrees degrees = {
        .degrees = rows.degrees.Reserve(block.num_sources),
        .scales = rows.scales.Reserve(block.num_sources)};
    const absl::Span<const uint32_t> remote = RemoteNodes(layer, task);
    const size_t own = block.num_sources - remote.size();
    FGNN_RETURN_IF_ERROR(
        FindDegrees(batch.indptr, task.input_nodes.subspan(0, own), 0, rows));
    FGNN_RETURN_IF_ERROR(FindDegrees(batch.indptr, remote, own, rows));
    return degrees;
  }

  // Sets the degrees of the nodes from row `row` on.
  absl::Status FindDegrees(absl::Span<const EdgeOffset> indptr,
                           absl::Span<const uint32_t> nodes, size_t row,
                           DegreeRows& rows) {
    float* const degrees = rows.degrees.data() + row;
    float* const scales = rows.scales.data() + row;
    const auto num_nodes = static_cast<int64_t>(nodes.size());
    return team_->Run(
        NumTasks(num_nodes, kNodesPerDegreeTask), [&](int64_t task, int) {
          const int64_t first = task * kNodesPerDegreeTask;
          const int64_t last = std::min(first + kNodesPerDegreeTask, num_nodes);
          for (int64_t i = first; i < last; ++i) {
            const uint32_t v = nodes[static_cast<size_t>(i)];
            const EdgeOffset in = indptr[v + 1] - indptr[v];
            degrees[i] = static_cast<float>(in) + 1.0F;
            scales[i] = 1.0F / std::sqrt(degrees[i]);
          }
        });
  }

  // Returns the hop whose sources a layer's inputs are.
  uint32_t HopOf(uint32_t layer) const { return options().layers - 1 - layer; }
  absl::Span<const uint32_t> RemoteNodes(uint32_t layer,
                                         const TaskView& task) const {
    if (task.num_parts == 1) return {};
    return task.split.levels[HopOf(layer)].remote_nodes;
  }
  // Returns the inputs of a hidden layer, or their gradients.
  PartRows InputsOf(uint32_t layer, const TaskView& task, Number* rows) const {
    const size_t remote = RemoteNodes(layer, task).size();
    return {.rows = rows,
            .precision = options().precision,
            .columns = options().input_width(layer),
            .own = BlockOf(layer, task).num_sources - remote,
            .remote = remote};
  }

  // Returns the features. A layer of Bfloat16 takes dense features in f32 like
  // rows of a store: it adds them in f32 and rounds what it keeps.
  LayerInput<Number> InputOf(const TrainingBatch& batch) {
    LayerInput<Number> input;
    input.stored = &batch.stored_rows;
    if (batch.features.empty()) return input;
    if constexpr (std::is_same_v<Number, float>) {
      input.dense = batch.features.data();
    } else {
      const size_t num_rows = batch.task->input_nodes.size();
      const std::byte** const rows = rows_.Reserve(num_rows);
      for (size_t row = 0; row < num_rows; ++row) {
        rows[row] = reinterpret_cast<const std::byte*>(
            batch.features.data() + row * options().input_columns);
      }
      dense_rows_ = {absl::MakeConstSpan(rows, num_rows),
                     FeatureType::kFloat32};
      input.stored = &dense_rows_;
    }
    return input;
  }

  absl::StatusOr<BatchResult> ForwardAndBackward(
      absl::Span<const float> weights, const TrainingBatch& batch,
      absl::Span<float> gradient) {
    const uint32_t num_layers = options().layers;
    FGNN_RETURN_IF_ERROR(DropFeatures(batch));
    LayerInput<Number> input = InputOf(batch);
    // Input and output of each layer; inputs without features.
    std::array<const Number*, kMaxHops> inputs = {};
    std::array<LayerOutput<Number>, kMaxHops> outputs = {};
    for (uint32_t layer = 0; layer < num_layers; ++layer) {
      input.key = OwnKeyOf(layer, PlaceOf(batch));
      FGNN_ASSIGN_OR_RETURN(input.degrees,
                            DegreesOf(batch, layer, input.degrees));
      input.room =
          layer + 1 < num_layers
              ? static_cast<int64_t>(RemoteNodes(layer + 1, *batch.task).size())
              : 0;
      const BlockView& block = BlockOf(layer, *batch.task);
      const Dropout dropout = DropoutInto(options(), layer + 1, PlaceOf(batch));
      if (layer > 0) inputs[layer] = input.dense;
      FGNN_ASSIGN_OR_RETURN(
          outputs[layer],
          layers_[layer]->Forward(weights, block, input, dropout));
      Number* rows = outputs[layer].rows;
      if (stages_[layer] != nullptr) {
        FGNN_ASSIGN_OR_RETURN(
            rows, stages_[layer]->Forward(weights, block.num_destinations,
                                          outputs[layer].logits, inputs[layer],
                                          dropout, input.room));
      }
      input.dense = rows;
      if (batch.shuffle == nullptr || layer + 1 == num_layers) continue;
      FGNN_RETURN_IF_ERROR(batch.shuffle->Forward(
          HopOf(layer + 1), InputsOf(layer + 1, *batch.task, rows), *team_));
    }
    FGNN_ASSIGN_OR_RETURN(const BatchResult result,
                          options().predicts_links()
                              ? LossOfPairs(batch, outputs[num_layers - 1])
                              : Loss(batch, outputs[num_layers - 1]));
    Number* dh = outputs[num_layers - 1].rows;
    for (uint32_t layer = num_layers; layer-- > 0;) {
      const float input_scale =
          DropoutInto(options(), layer, PlaceOf(batch)).scale;
      const Number* dz = dh;
      HiddenStage<Number>* const stage = stages_[layer].get();
      if (stage != nullptr) {
        FGNN_ASSIGN_OR_RETURN(
            dz, stage->Backward(dh, outputs[layer].rows, gradient));
      }
      FGNN_ASSIGN_OR_RETURN(Number* const dx, layers_[layer]->Backward(
                                                  BlockOf(layer, *batch.task),
                                                  dz, input_scale, gradient));
      if (stage != nullptr) {
        FGNN_RETURN_IF_ERROR(
            stage->AddGradientOfInputs(dh, inputs[layer], input_scale, dx));
      }
      if (batch.shuffle != nullptr && layer > 0) {
        FGNN_RETURN_IF_ERROR(batch.shuffle->Backward(
            HopOf(layer), InputsOf(layer, *batch.task, dx), *team_));
      }
      dh = dx;
    }
    return result;
  }

  // Computes the loss. The last layer's logits become the gradient of the mean
  // loss, which is then in the layer's rows.
  absl::StatusOr<BatchResult> Loss(const TrainingBatch& batch,
                                   const LayerOutput<Number>& last) {
    const int64_t num_seeds = batch.task->num_seeds;
    const int64_t num_classes = options().num_classes;
    const int64_t num_tasks = NumTasks(num_seeds, kSeedsPerTask);
    std::vector<BatchResult> sums(static_cast<size_t>(num_tasks));
    FGNN_RETURN_IF_ERROR(team_->Run(num_tasks, [&](int64_t task, int) {
      const int64_t first = task * kSeedsPerTask;
      const int64_t seeds = std::min(kSeedsPerTask, num_seeds - first);
      float* const logits = last.logits + first * num_classes;
      sums[static_cast<size_t>(task)] = LossOfSeeds(
          options(), batch,
          {first, seeds, int64_t{batch.task->batch_examples()}}, logits);
      StoreRows(logits, seeds * num_classes, last.rows + first * num_classes);
    }));
    if (num_seeds == 0) return BatchResult();
    return MeanOf(sums, num_seeds * TermsOfSeed(options()));
  }

  absl::StatusOr<BatchResult> LossOfPairs(const TrainingBatch& batch,
                                          const LayerOutput<Number>& last) {
    const int64_t num_seeds = batch.task->num_seeds;
    const auto columns = static_cast<int64_t>(options().hidden);
    FGNN_ASSIGN_OR_RETURN(
        const BatchResult result,
        pair_loss_.Compute(*batch.task, last.logits, columns));
    FGNN_RETURN_IF_ERROR(
        team_->Run(NumTasks(num_seeds, kSeedsPerTask), [&](int64_t task, int) {
          const int64_t first = task * kSeedsPerTask * columns;
          const int64_t count =
              std::min(kSeedsPerTask * columns, num_seeds * columns - first);
          // Overwrites the layer's own rows, which are not read any more.
          std::copy_n(pair_loss_.gradient() + first, count,
                      last.logits + first);
          StoreRows(last.logits + first, count, last.rows + first);
        }));
    return result;
  }

  ThreadTeam* const team_;
  PairLoss pair_loss_;  // Loss of link prediction.
  Scratch<const std::byte*> rows_;
  std::array<DegreeRows, kMaxHops> degrees_;  // Degrees for each layer.
  StoredRows dense_rows_;                     // Rows for InputOf().
  std::vector<std::unique_ptr<GnnLayer<Number>>> layers_;
  // Stages behind the layers; null where there is none.
  std::vector<std::unique_ptr<HiddenStage<Number>>> stages_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> MakeCpuModel(const ModelOptions& options,
                                                    ThreadTeam* team,
                                                    ProductOrder order) {
  FGNN_RETURN_IF_ERROR(ValidateOptions(options));
  if (options.precision == Precision::kBfloat16) {
    return std::make_unique<LayeredModel<Bfloat16>>(options, team, order);
  }
  return std::make_unique<LayeredModel<float>>(options, team, order);
}

}  // namespace fgnn
