// A model's loss and gradient by PyTorch's autograd on plain dense operations
// in f64.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_AUTOGRAD_REFERENCE_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_AUTOGRAD_REFERENCE_H_

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "tests/unit/trainer_service/nn/random_batch.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

struct Reference {
  double loss = 0;
  int64_t num_correct = 0;
  torch::Tensor gradient;  // [P]
};

// Returns loss and gradient for weights [P], with the model's dropout for that
// batch.
Reference ByAutograd(const Model& model, const std::vector<float>& weights,
                     RandomBatch& random);

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_AUTOGRAD_REFERENCE_H_
