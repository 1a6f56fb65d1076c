#include "tests/fakes/cuda/plain_products.h"
#include "tests/unit/trainer_service/nn/cuda/test_products.h"

namespace fgnn {

std::unique_ptr<DenseProducts> NewTestProducts() {
  return simt::NewPlainProducts();
}

}  // namespace fgnn
