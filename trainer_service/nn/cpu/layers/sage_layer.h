// One GraphSAGE layer (mean), forwards and backwards:
//   z_v = W_self x_v + W_neigh mean_{u in N(v)} x_u + b
// A block has S sources and D destinations; rows have `in` and `out` columns.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_SAGE_LAYER_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_SAGE_LAYER_H_

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
#include "trainer_service/nn/cpu/kernels/dropout.h"
#include "trainer_service/nn/cpu/kernels/products.h"
#include "trainer_service/nn/cpu/layers/gnn_layer.h"
#include "trainer_service/nn/cpu/messages/message_passing.h"
#include "trainer_service/nn/cpu/messages/sage_inference.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Borrows the team. Number: see GnnLayer; the means are Numbers too.
template <typename Number>
class SageLayer final : public GnnLayer<Number> {
 public:
  SageLayer(const SageLayerOptions& options, ProductOrder order,
            ThreadTeam* team)
      : options_(options),
        order_(order),
        team_(team),
        blocks_(static_cast<size_t>(team->size())),
        scratch_(static_cast<size_t>(team->size())) {}

  // True for the first layer if it aggregates first.
  bool TakesStoredRows(const BlockView& block) const override {
    return options_.first && !TransformsFirst(block);
  }

  absl::StatusOr<LayerOutput<Number>> Forward(absl::Span<const float> weights,
                                              const BlockView& block,
                                              const LayerInput<Number>& x,
                                              const Dropout& dropout) override;
  absl::StatusOr<Number*> Backward(const BlockView& block, const Number* dz,
                                   float input_scale,
                                   absl::Span<float> gradient) override;
  bool SendsProducts() const override { return fgnn::SendsProducts(options_); }
  std::unique_ptr<const LayerInference> Inference(
      absl::Span<const float> weights) const override {
    return MakeSageInference(options_, weights);
  }

 private:
  bool TransformsFirst(const BlockView& block) const;
  // weight [out, in].
  void PackWeight(const float* weight, PackedFactorOf<Number>* forward,
                  PackedFactorOf<Number>* backward);
  // Returns the floats in which a worker computes what StoreRows() then rounds
  // to `rows`, the rows of one task. They are its scratch or, for floats,
  // `rows` themselves.
  float* InFloats(Number* rows, int worker);
  void CopyOwnRows(const StoredRows& x, int64_t first, int64_t rows,
                   int worker);
  absl::Status TransformInput(const BlockView& block,
                              const LayerInput<Number>& x);
  void MeanInput(const BlockView& block, const LayerInput<Number>& x,
                 int64_t first, int64_t last, int worker);
  void ForwardRows(const BlockView& block, int64_t first, int64_t last,
                   const Dropout& dropout, int worker);
  absl::Status GradientOfMessages(const BlockView& block, const Number* dz);
  // Sums over chunks of rows, `stride` floats apart: the weight's [out, in],
  // and the bias's behind that of the own rows' weight.
  struct Partials {
    float* self = nullptr;
    float* neighbor = nullptr;
    int64_t bias_at = 0;
    int64_t stride = 0;
  };
  absl::Status PartialGradients(int64_t self_rows, int64_t neighbor_rows,
                                const Number* dz, const Partials& partials);
  absl::Status GradientOfWeights(const BlockView& block, const Number* dz,
                                 absl::Span<float> gradient);
  absl::Status GradientOfInput(const BlockView& block, const Number* dz,
                               float input_scale);

  const SageLayerOptions options_;
  const ProductOrder order_;
  ThreadTeam* const team_;

  bool transforms_first_ = false;  // Choice of the last Forward().
  // The dense input of the last Forward(). If the input was stored: copies of
  // the rows that products and gradients need. These are all rows if it
  // transformed first, else the first D.
  const Number* x_ = nullptr;
  Number* own_rows_ = nullptr;
  // State of the last Forward().
  PackedFactorOf<Number> neighbor_forward_;
  PackedFactorOf<Number> self_forward_;
  PackedFactorOf<Number> neighbor_backward_;
  PackedFactorOf<Number> self_backward_;
  RepeatedRow bias_;
  // Memory of each worker: for ProductOverRows(), and for InFloats().
  std::vector<PackedFactorOf<Number>> blocks_;
  std::vector<AlignedBuffer> scratch_;
  // Aggregate first: means of x [D, in], and their gradient. Transform first:
  // products of x [S, out], and their gradient.
  Number* messages_ = nullptr;
  Number* messages_gradient_ = nullptr;
  Number* output_ = nullptr;          // [D, out]
  float* logits_ = nullptr;           // [D, out]
  Number* input_gradient_ = nullptr;  // [S, in]

  AlignedBuffer weight_buffer_;
  AlignedBuffer own_rows_buffer_;
  AlignedBuffer messages_buffer_;
  AlignedBuffer messages_gradient_buffer_;
  AlignedBuffer output_buffer_;
  AlignedBuffer logits_buffer_;
  AlignedBuffer input_gradient_buffer_;
  AlignedBuffer partials_buffer_;
  TransposedBlock transposed_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_LAYERS_SAGE_LAYER_H_
