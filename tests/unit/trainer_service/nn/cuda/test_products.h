// Products for tests of models: plain loops in the emulator, cuBLASLt on a GPU.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_CUDA_TEST_PRODUCTS_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_CUDA_TEST_PRODUCTS_H_

#include <memory>

#include "trainer_service/nn/cuda/products.h"

namespace fgnn {

// plain_test_products.cc, tests/gpu/real_products.cc.
std::unique_ptr<DenseProducts> NewTestProducts();

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_NN_CUDA_TEST_PRODUCTS_H_
