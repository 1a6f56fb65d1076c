// Products for processors without AVX2. This is the only kernel file that
// includes torch.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/mm.h>
#include <torch/version.h>

#include "trainer_service/nn/cpu/kernels/product_kernels.h"

namespace fgnn {
namespace {

at::Tensor View(const Factor& factor) {
  // ATen has no view of const memory; the memory is only read.
  at::Tensor tensor = at::from_blob(const_cast<float*>(factor.data),
                                    {factor.rows, factor.columns}, at::kFloat);
  return factor.transposed ? tensor.t() : tensor;
}

int64_t PackedBytes(int64_t rows, int64_t columns) {
  return rows * columns * static_cast<int64_t>(sizeof(float));
}

void Pack(const Factor& b, void* packed) {
  const int64_t rows = b.transposed ? b.columns : b.rows;
  const int64_t columns = b.transposed ? b.rows : b.columns;
  at::from_blob(packed, {rows, columns}, at::kFloat).copy_(View(b));
}

void Multiply(const Factor& a, const void* packed, int64_t columns, Into into,
              float* out) {
  // The team has the threads. The library's own threads would spin, and its
  // sums would depend on their number.
  thread_local const bool single_threaded = (at::set_num_threads(1), true);
  static_cast<void>(single_threaded);
  const at::NoGradGuard no_grad;
  const at::Tensor b =
      View({static_cast<const float*>(packed), a.columns, columns});
  at::Tensor result = at::from_blob(out, {a.rows, columns}, at::kFloat);
  if (into == Into::kOverwrite) {
    at::mm_out(result, View(a), b);
  } else {
    at::addmm_out(result, result, View(a), b);
  }
}

void Transpose(const Factor& a, float* to) {
  at::from_blob(to, {a.columns, a.rows}, at::kFloat).copy_(View(a.T()));
}

}  // namespace

const ProductKernels kProductsLibtorch = {.name = "libtorch",
                                          .packed_bytes = PackedBytes,
                                          .pack = Pack,
                                          .multiply = Multiply,
                                          .transpose = Transpose,
                                          .rows_per_block = 64};

std::string ProductsLibrary() {
  return std::string("libtorch ") + TORCH_VERSION;
}

}  // namespace fgnn
