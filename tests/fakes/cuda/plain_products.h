// Products as plain loops on the fake runtime's streams.
#ifndef FGNN_TESTS_FAKES_CUDA_PLAIN_PRODUCTS_H_
#define FGNN_TESTS_FAKES_CUDA_PLAIN_PRODUCTS_H_

#include <memory>

#include "trainer_service/nn/cuda/products.h"

namespace fgnn::simt {

// Sums in f32, k rising, and adds the sum to c at the end. A product counts as
// a launch.
std::unique_ptr<DenseProducts> NewPlainProducts();

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_FAKES_CUDA_PLAIN_PRODUCTS_H_
