#include "tests/fakes/cuda/plain_products.h"

#include <vector>

#include "shared/base/status.h"
#include "shared/device/cuda/status.h"
#include "tests/fakes/cuda/tf32.h"
#include "tests/simt/launch.h"
#include "trainer_service/compute/numbers.h"

namespace fgnn::simt {
namespace {

// Returns the matrix [rows, columns] of a factor that may be stored transposed.
template <typename Number>
std::vector<float> Widened(const void* stored, bool transposed, uint64_t rows,
                           uint64_t columns) {
  const auto* const numbers = static_cast<const Number*>(stored);
  std::vector<float> widened(rows * columns);
  for (uint64_t r = 0; r < rows; ++r) {
    for (uint64_t c = 0; c < columns; ++c) {
      widened[r * columns + c] =
          Widen(numbers[transposed ? c * rows + r : r * columns + c]);
    }
  }
  return widened;
}

std::vector<float> FactorOf(const ProductArgs& args, const void* stored,
                            bool transposed, uint64_t rows, uint64_t columns) {
  if (args.type == FeatureType::kBfloat16) {
    return Widened<Bfloat16>(stored, transposed, rows, columns);
  }
  std::vector<float> factor = Widened<float>(stored, transposed, rows, columns);
  if (args.rounds_to_tf32) {
    for (float& number : factor) number = RoundToTf32(number);
  }
  return factor;
}

void Store(float value, float* to) { *to = value; }
void Store(float value, Bfloat16* to) { *to = RoundToBfloat16(value); }

template <typename Number>
void StoreSums(const ProductArgs& args, const std::vector<float>& sums) {
  auto* const c = static_cast<Number*>(args.c);
  for (uint64_t i = 0; i < sums.size(); ++i) {
    Store(args.adds ? Widen(c[i]) + sums[i] : sums[i], c + i);
  }
}

void MultiplyNow(const ProductArgs& args) {
  const std::vector<float> a =
      FactorOf(args, args.a, args.transposes_a, args.m, args.k);
  const std::vector<float> b =
      FactorOf(args, args.b, args.transposes_b, args.k, args.n);
  std::vector<float> sums(args.m * args.n);
  for (uint64_t i = 0; i < args.m; ++i) {
    for (uint64_t l = 0; l < args.k; ++l) {
      const float factor = a[i * args.k + l];
      const float* const row = b.data() + l * args.n;
      float* const out = sums.data() + i * args.n;
      for (uint64_t j = 0; j < args.n; ++j) out[j] += factor * row[j];
    }
  }
  if (args.c_type == FeatureType::kBfloat16) {
    StoreSums<Bfloat16>(args, sums);
  } else {
    StoreSums<float>(args, sums);
  }
}

class PlainProducts : public DenseProducts {
 public:
  absl::Status Multiply(const ProductArgs& args, cudaStream_t stream) override {
    FGNN_RETURN_IF_ERROR(CheckProduct(args));
    return CudaStatus(Enqueue(stream, [args] { MultiplyNow(args); }),
                      "cannot multiply");
  }
  uint64_t workspace_bytes() const override { return 0; }
};

}  // namespace

std::unique_ptr<DenseProducts> NewPlainProducts() {
  return std::make_unique<PlainProducts>();
}

}  // namespace fgnn::simt
