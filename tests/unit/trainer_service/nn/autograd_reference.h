// A model's loss and gradient by PyTorch's autograd on plain dense operations
// in f64.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_AUTOGRAD_REFERENCE_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_AUTOGRAD_REFERENCE_H_

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "tests/unit/trainer_service/nn/random_batch.h"
#include "trainer_service/nn/model.h"
#include "trainer_service/nn/product_order.h"

namespace fgnn {

struct Reference {
  double loss = 0;
  int64_t num_correct = 0;
  torch::Tensor gradient;  // [P]

  // Returns the distance of another gradient, in lengths of this one.
  double DistanceOf(std::vector<float>& other) const;
};

// Which numbers a model rounds to bf16 in its forward pass.
enum class Rounding : uint8_t {
  kNone,
  kOnGpu,  // The rows that it stores, and matrices of weights.
  kOnCpu,  // The same. But sums over features read them as they are.
};

// Returns loss and gradient for weights [P], with the model's dropout for that
// batch. Numbers are rounded as told, in the forward pass alone.
Reference ByAutograd(const Model& model, const std::vector<float>& weights,
                     RandomBatch& random, Rounding rounding = Rounding::kNone,
                     ProductOrder order = ProductOrder::kCheapest);

// Returns the same without any rounding. But a ReLU, a LeakyReLU and a largest
// message count the numbers that they do in a model that rounds.
Reference OnSidesOf(Rounding rounding, const Model& model,
                    const std::vector<float>& weights, RandomBatch& random,
                    ProductOrder order = ProductOrder::kCheapest);

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_AUTOGRAD_REFERENCE_H_
