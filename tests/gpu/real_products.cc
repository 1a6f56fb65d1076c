#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "tests/unit/trainer_service/nn/cuda/test_products.h"
#include "trainer_service/nn/cuda/cublas_lt.h"

namespace fgnn {

std::unique_ptr<DenseProducts> NewTestProducts() {
  absl::StatusOr<std::unique_ptr<DenseProducts>> products = OpenCublasLt();
  if (products.ok()) return *std::move(products);
  std::printf("%s\n0 passed, 1 failed\n",
              std::string(products.status().message()).c_str());
  std::exit(1);
}

}  // namespace fgnn
