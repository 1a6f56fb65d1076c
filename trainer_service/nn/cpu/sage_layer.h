// One GraphSAGE layer (mean), forwards and backwards:
//   z_v = W_self x_v + W_neigh mean_{u in N(v)} x_u + b
// S sources and D destinations of a block, `in` and `out` columns.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_SAGE_LAYER_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_SAGE_LAYER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/minibatch/task.h"
#include "trainer_service/compute/aligned_buffer.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/dropout.h"
#include "trainer_service/nn/cpu/gnn_layer.h"
#include "trainer_service/nn/cpu/message_passing.h"
#include "trainer_service/nn/cpu/products.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// What is fixed for a layer's life.
struct SageLayerOptions {
  int64_t in = 0;
  int64_t out = 0;
  // Places of the parameters among the P floats: W_neigh [out, in],
  // W_self [out, in], b [out].
  uint64_t neighbor_offset = 0;
  uint64_t self_offset = 0;
  uint64_t bias_offset = 0;
  bool first = false;  // Its input is features, whose gradient nobody needs.
  bool last = false;   // No ReLU and dropout after it.
};

// Borrows the team.
class SageLayer final : public GnnLayer {
 public:
  SageLayer(const SageLayerOptions& options, ProductOrder order,
            ThreadTeam* team)
      : options_(options),
        order_(order),
        team_(team),
        blocks_(static_cast<size_t>(team->size())) {}

  // Whether it can read its input where a store has it: the first layer, where
  // it aggregates first.
  bool TakesStoredRows(const BlockView& block) const override {
    return options_.first && !TransformsFirst(block);
  }

  absl::StatusOr<float*> Forward(absl::Span<const float> weights,
                                 const BlockView& block, const LayerInput& x,
                                 const Dropout& dropout) override;
  absl::StatusOr<float*> Backward(const BlockView& block, const float* dz,
                                  float input_scale,
                                  absl::Span<float> gradient) override;
  bool SendsProducts() const override { return options_.out <= options_.in; }
  std::unique_ptr<const LayerInference> Inference(
      absl::Span<const float> weights) const override;

 private:
  bool TransformsFirst(const BlockView& block) const;
  void PackWeights(absl::Span<const float> weights);
  void ForwardRows(const BlockView& block, const LayerInput& x, int64_t first,
                   int64_t last);
  absl::Status GradientOfMessages(const BlockView& block, const float* dz);
  absl::Status GradientOfWeights(const BlockView& block, const float* dz,
                                 absl::Span<float> gradient);
  absl::Status GradientOfInput(const BlockView& block, const float* dz,
                               float input_scale);
  Factor NeighborWeight(absl::Span<const float> weights) const {
    return {weights.data() + options_.neighbor_offset, options_.out,
            options_.in};
  }
  Factor SelfWeight(absl::Span<const float> weights) const {
    return {weights.data() + options_.self_offset, options_.out, options_.in};
  }

  const SageLayerOptions options_;
  const ProductOrder order_;
  ThreadTeam* const team_;

  bool transforms_first_ = false;  // Of the last Forward().
  // The dense input of the last Forward(); where that was stored, copies of the
  // first D rows, which is all that the gradients need of it.
  const float* x_ = nullptr;
  float* own_rows_ = nullptr;  // [D, in]
  // Of the last Forward().
  PackedFactor neighbor_forward_;
  PackedFactor self_forward_;
  PackedFactor neighbor_backward_;
  PackedFactor self_backward_;
  absl::Span<const float> bias_;
  std::vector<PackedFactor> blocks_;  // Of each worker: ProductOverRows().
  // Aggregate first: means of x [D, in], and the gradient of them.
  // Transform first: products of x [S, out], and the gradient of them.
  float* messages_ = nullptr;
  float* messages_gradient_ = nullptr;
  float* output_ = nullptr;          // [D, out]
  float* input_gradient_ = nullptr;  // [S, in]

  AlignedBuffer own_rows_buffer_;
  AlignedBuffer messages_buffer_;
  AlignedBuffer messages_gradient_buffer_;
  AlignedBuffer output_buffer_;
  AlignedBuffer input_gradient_buffer_;
  AlignedBuffer partials_buffer_;
  TransposedBlock transposed_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_SAGE_LAYER_H_
