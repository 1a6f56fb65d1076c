// Products on processors without AVX2.
#include "trainer_service/nn/cpu/kernels/product_kernels_body.h"

namespace fgnn {
namespace {

// Registers are vectors of the compiler, which every processor of 64 bits has.
// Where a fused multiply-add is not part of the base instruction set, as on
// x86-64, a product is rounded before it is added.
struct PortableFloats {
  using Number = float;
  using Word = float;
  static constexpr int64_t kWidth = 4;
  using Register __attribute__((vector_size(4 * sizeof(float)))) = float;
  using Packed = Register;
  static constexpr int kRows = 6;
  static constexpr int kMostSums = 12;  // Most sums, of 16 registers.
  static constexpr double kMostToMultiply = 0.55;
  static Register Zero() { return Register{}; }
  static Register Load(const float* from) { return LoadFirst(from, kWidth); }
  static void Store(float* to, Register a) { StoreFirst(to, kWidth, a); }
  static int64_t FirstLanes(int64_t count) { return count; }
  static Register LoadFirst(const float* from, int64_t count) {
    Register sums = {};
    std::memcpy(&sums, from, static_cast<size_t>(count) * sizeof(float));
    return sums;
  }
  static void StoreFirst(float* to, int64_t count, Register a) {
    std::memcpy(to, &a, static_cast<size_t>(count) * sizeof(float));
  }
  static Packed LoadPacked(const float* from) { return Load(from); }
  static Register MulAdd(float x, Register b, Register sum) {
    return x * b + sum;
  }
  static bool IsZero(float x) { return x == 0; }
  static uint32_t NotZero(const float* words) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < kWidth; ++i) {
      bits |= (IsZero(words[i]) ? 0u : 1u) << i;
    }
    return bits;
  }
};

struct PortablePairs {
  using Number = Bfloat16;
  using Word = uint32_t;
  static constexpr int64_t kWidth = 4;
  static constexpr int kRows = 2;
  static constexpr int kMostSums = 6;
  static constexpr double kMostToMultiply = 0.3;
  struct Register {
    float lanes[kWidth];
  };
  struct Packed {
    float first[kWidth];
    float second[kWidth];
  };
  static Register Zero() { return {}; }
  static Register Load(const float* from) {
    Register sums;
    std::copy_n(from, kWidth, sums.lanes);
    return sums;
  }
  static int64_t FirstLanes(int64_t count) { return count; }
  static Register LoadFirst(const float* from, int64_t count) {
    Register sums = {};
    std::copy_n(from, count, sums.lanes);
    return sums;
  }
  static void StoreFirst(float* to, int64_t count, const Register& a) {
    std::copy_n(a.lanes, count, to);
  }
  static bool IsZero(uint32_t pair) { return (pair & 0x7fff7fffu) == 0; }
  static uint32_t NotZero(const Bfloat16* pairs) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < kWidth; ++i) {
      uint32_t pair = 0;
      std::memcpy(&pair, pairs + 2 * i, sizeof(pair));
      bits |= (IsZero(pair) ? 0u : 1u) << i;
    }
    return bits;
  }
  static Packed LoadPacked(const uint32_t* from) {
    Packed pairs;
    for (int64_t i = 0; i < kWidth; ++i) {
      pairs.first[i] = First(from[i]);
      pairs.second[i] = Second(from[i]);
    }
    return pairs;
  }
  static void Store(float* to, const Register& a) {
    std::copy_n(a.lanes, kWidth, to);
  }
  static Register MulAdd(uint32_t x, const Packed& b, Register sum) {
    for (int64_t i = 0; i < kWidth; ++i) {
      sum.lanes[i] += First(x) * b.first[i];
      sum.lanes[i] += Second(x) * b.second[i];
    }
    return sum;
  }

 private:
  static float First(uint32_t pair) { return std::bit_cast<float>(pair << 16); }
  static float Second(uint32_t pair) {
    return std::bit_cast<float>(pair & 0xffff0000u);
  }
};

}  // namespace

constexpr ProductKernels kProductsPortable =
    ProductsOf<PortableFloats>("portable");
constexpr ProductKernelsOf<Bfloat16> kBfloat16ProductsPortable =
    ProductsOf<PortablePairs>("portable");

}  // namespace fgnn
