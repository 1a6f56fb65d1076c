#include "trainer_service/nn/cpu/products.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>
#include <torch/version.h>

namespace fgnn {
namespace {

at::Tensor View(const Factor& factor) {
  // ATen has no view of const memory; it is only read.
  at::Tensor tensor = at::from_blob(const_cast<float*>(factor.data),
                                    {factor.rows, factor.columns}, at::kFloat);
  return factor.transposed ? tensor.t() : tensor;
}

}  // namespace

void Product(const Factor& a, const Factor& b, Into into, float* out) {
  // Threads are the team's business. The library's own would spin, and its
  // sums would depend on their number.
  thread_local const bool single_threaded = (at::set_num_threads(1), true);
  static_cast<void>(single_threaded);
  const at::NoGradGuard no_grad;
  const int64_t rows = a.transposed ? a.columns : a.rows;
  const int64_t columns = b.transposed ? b.rows : b.columns;
  at::Tensor result = at::from_blob(out, {rows, columns}, at::kFloat);
  if (into == Into::kOverwrite) {
    at::mm_out(result, View(a), View(b));
  } else {
    at::addmm_out(result, result, View(a), View(b));
  }
}

std::string ProductsLibrary() {
  return std::string("libtorch ") + TORCH_VERSION;
}

}  // namespace fgnn
