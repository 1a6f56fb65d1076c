// A model's layers as plain operations of PyTorch in f64.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_AUTOGRAD_LAYERS_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_AUTOGRAD_LAYERS_H_

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "shared/base/philox.h"
#include "tests/unit/trainer_service/nn/autograd_reference.h"
#include "tests/unit/trainer_service/nn/random_batch.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/nn/product_order.h"

namespace fgnn {

// What a forward pass does beside arithmetic. It rounds what a model stores. A
// gradient goes back as if it were not rounded. At each bend, as that of ReLU,
// it is on one side. Another pass may follow: it rounds nothing, and is on the
// same sides.
class Pass {
 public:
  explicit Pass(Rounding rounding) : rounding_(rounding) {}
  // Follows `leader`, which it borrows.
  explicit Pass(const Pass* leader) : leader_(leader) {}

  Rounding rounding() const { return rounding_; }

  torch::Tensor Stored(const torch::Tensor& x) const {
    if (rounding_ == Rounding::kNone) return x;
    const torch::Tensor given = x.detach();
    const torch::Tensor stored =
        given.to(torch::kFloat32).to(torch::kBFloat16).to(torch::kFloat64);
    return x + (stored - given);
  }

  // Returns the side that is taken: the pass's own, or the leader's.
  torch::Tensor SideOf(const torch::Tensor& own) {
    sides_.push_back(leader_ == nullptr ? own
                                        : leader_->sides_.at(sides_.size()));
    return sides_.back();
  }

  // x, or slope * x below 0.
  torch::Tensor Bend(const torch::Tensor& x, double slope) {
    return x * torch::where(SideOf(x > 0), 1.0, slope);
  }

 private:
  const Rounding rounding_ = Rounding::kNone;
  const Pass* const leader_ = nullptr;
  std::vector<torch::Tensor> sides_;  // In the order of the calls.
};

// A layer's input [S, in].
struct LayerRows {
  torch::Tensor stored;
  torch::Tensor summed;  // What sums over neighbours read.
};

// z [D, out] of layer `layer` of a model with these products, of the
// parameters of the layer's own in their order.
torch::Tensor LayerByTorch(const ModelOptions& options, ProductOrder order,
                           uint32_t layer, RandomBatch& random,
                           const LayerRows& x,
                           const std::vector<torch::Tensor>& parameters,
                           Pass* pass);

// What dropout makes of a flat array of ones.
torch::Tensor DropoutMask(double rate, PhiloxKey key, at::IntArrayRef shape);

PhiloxKey DropoutKey(const TrainingBatch& batch, uint32_t hop);

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_AUTOGRAD_LAYERS_H_
