// One GAT layer (Velickovic et al., "Graph Attention Networks", section 2.1),
// forwards and backwards. For each head
//   m_u = W x_u
//   e_uv = leaky_relu(a_src . m_u + a_dst . m_v), of slope 0.2
//   alpha_uv = exp(e_uv) / sum_{w in N(v) + {v}} exp(e_wv)
//   z_v = b + sum_{u in N(v) + {v}} alpha_uv m_u
// and the heads' z_v lie side by side. A neighbour that was drawn twice counts
// twice. A v that is a neighbour of its own counts beside v. Dropout of alpha,
// in training, is after the softmax.
//
// Hidden layers end in this repository's ReLU; the paper has ELU. The last
// layer has one head; the paper has the mean of several.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_GAT_LAYER_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_GAT_LAYER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/layers/gnn_layer.h"
#include "trainer_service/nn/cpu/layers/layer_rows.h"
#include "trainer_service/nn/cpu/layers/layer_weight.h"
#include "trainer_service/nn/cpu/layers/row_sums.h"
#include "trainer_service/nn/cpu/messages/edge_softmax.h"
#include "trainer_service/nn/cpu/messages/gat_inference.h"
#include "trainer_service/nn/cpu/messages/message_passing.h"
#include "trainer_service/nn/cpu/messages/self_loops.h"

namespace fgnn {

// Borrows the team. H heads of C columns, out = H * C; E entries: the edges of
// the block and one from each destination to itself. Number: see GnnLayer.
// Messages are Numbers too; scores and alpha are f32.
template <typename Number>
class GatLayer final : public GnnLayer<Number> {
 public:
  GatLayer(const GatLayerOptions& options, ThreadTeam* team)
      : options_(options),
        team_(team),
        tasks_(team),
        row_sums_(team),
        x_(options.in, *team),
        output_(options.shape.width(), options.last, *team) {}

  bool TakesStoredRows(const BlockView&) const override { return false; }
  absl::StatusOr<LayerOutput<Number>> Forward(absl::Span<const float> weights,
                                              const BlockView& block,
                                              const LayerInput<Number>& x,
                                              const Dropout& dropout) override;
  absl::StatusOr<Number*> Backward(const BlockView& block, const Number* dz,
                                   float input_scale,
                                   absl::Span<float> gradient) override;
  bool SendsProducts() const override { return true; }
  std::unique_ptr<const LayerInference> Inference(
      absl::Span<const float> weights) const override {
    return MakeGatInference(options_, weights);
  }

 private:
  // The forward pass, in this order: messages_ and their scores; alpha; z.
  absl::Status Transform(const float* weight);
  absl::Status Attend();
  absl::StatusOr<LayerOutput<Number>> SumMessages(const float* bias,
                                                  int64_t room,
                                                  const Dropout& dropout);
  // The backward pass.
  absl::Status GradientOfScores(const Number* dz);
  absl::Status GradientOfMessages(const Number* dz);
  absl::Status GradientOfParameters(const Number* dz,
                                    absl::Span<float> gradient);
  absl::Status GradientOfInput(float input_scale);

  // Calls task(first, last, worker) for the lists of each task, with at most
  // kRowsPerTask lists per call.
  using ListTask =
      absl::FunctionRef<void(int64_t first, int64_t last, int worker)>;
  absl::Status ForLists(const std::vector<int64_t>& starts, ListTask task);
  // Sets to [E, H] to `from` with attention's dropout; both may be the same
  // array.
  absl::Status DropEntries(const float* from, float* to);
  EdgeScores scores() const {
    return {options_.shape.heads, attention_.source_scores.data(),
            attention_.destination_scores.data()};
  }

  const GatLayerOptions options_;
  ThreadTeam* const team_;
  RowTasks<Number> tasks_;
  RowSums<Number> row_sums_;
  SelfLoops self_loops_;
  TransposedBlock transposed_;

  // What the forward pass of attention reads and makes.
  struct Attention {
    const float* source_vector = nullptr;       // a_src
    const float* destination_vector = nullptr;  // a_dst
    Dropout dropout;
    Scratch<float> source_scores;       // [S, H]
    Scratch<float> destination_scores;  // [D, H]
    Scratch<float> alpha;               // [E, H]
    Scratch<float> dropped;             // [E, H], alpha after dropout.

    // Returns what weighs the messages.
    const float* kept() const {
      return dropout.active() ? dropped.data() : alpha.data();
    }
  };
  struct Gradients {
    Scratch<float> scores;        // [E, H], gradient of the entries' scores.
    Scratch<float> destinations;  // [D, H]
    Scratch<float> sources;       // [S, H]
    Scratch<Number> messages;     // [S, out]
    Scratch<Number> input;        // [S, in]
  };

  // State of the last Forward().
  BlockView block_;                    // Block with self-loops.
  std::vector<int64_t> destinations_;  // First destinations of the tasks.
  InputRows<Number> x_;
  LayerWeight<Number> weight_;
  Scratch<Number> messages_;  // [S, out]
  Attention attention_;
  OutputRows<Number> output_;

  Gradients gradients_;  // State of the last Backward().
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_GAT_LAYER_H_
