#include "trainer_service/nn/cpu/kernels/products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "trainer_service/nn/cpu/kernels/product_kernels.h"

namespace fgnn {
namespace {

std::vector<float> RandomFloats(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values;
  // Somewhere even if there are none: kernels step from where they begin.
  values.reserve(static_cast<size_t>(count) + 1);
  values.resize(static_cast<size_t>(count));
  for (float& value : values) value = uniform(generator);
  return values;
}

template <typename Number>
float At(const FactorOf<Number>& factor, int64_t row, int64_t column) {
  return Widen(factor.transposed ? factor.data[column * factor.columns + row]
                                 : factor.data[row * factor.columns + column]);
}

// Of the kernels with fused multiply-adds, in their order.
template <typename Number>
std::vector<float> Expected(const FactorOf<Number>& a,
                            const FactorOf<Number>& b,
                            const std::vector<float>& before) {
  const int64_t rows = a.transposed ? a.columns : a.rows;
  const int64_t inner = a.transposed ? a.rows : a.columns;
  const int64_t columns = b.transposed ? b.rows : b.columns;
  std::vector<float> out = before;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      float& sum = out[static_cast<size_t>(i * columns + j)];
      for (int64_t k = 0; k < inner; ++k) {
        sum = std::fma(At(a, i, k), At(b, k, j), sum);
      }
    }
  }
  return out;
}

bool IsFused(const ProductKernels& kernels) {
  return std::strcmp(kernels.name, "portable") != 0;
}

void ExpectProduct(const ProductKernels& kernels,
                   const std::vector<float>& found,
                   const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (IsFused(kernels)) {
      ASSERT_EQ(found[i], expected[i]) << kernels.name << " " << i;
    } else {
      ASSERT_NEAR(found[i], expected[i], 1e-4) << kernels.name << " " << i;
    }
  }
}

// Sizes around every boundary of tiles and panels of all kernels.
TEST(ProductsTest, MultipliesMatricesOfAnySize) {
  constexpr int64_t kGuard = 64;
  for (const ProductKernels* const each : SupportedProductKernels()) {
    const ProductKernels& kernels = *each;
    PackedFactor packed(kernels);
    for (const int64_t rows : {1, 3, 8, 15, 16, 33}) {
      for (const int64_t inner : {0, 1, 7, 100}) {
        for (const int64_t columns : {1, 15, 16, 24, 33, 47, 48, 64, 65, 100}) {
          for (int transposed = 0; transposed < 4; ++transposed) {
            const auto a_values = RandomFloats(rows * inner, 1);
            const auto b_values = RandomFloats(inner * columns, 2);
            const Factor a = transposed % 2 == 0
                                 ? Factor{a_values.data(), rows, inner}
                                 : Factor{a_values.data(), inner, rows};
            const Factor b = transposed / 2 == 0
                                 ? Factor{b_values.data(), inner, columns}
                                 : Factor{b_values.data(), columns, inner}.T();
            SCOPED_TRACE(testing::Message()
                         << kernels.name << " [" << rows << ", " << inner
                         << "] x [" << inner << ", " << columns << "] "
                         << transposed);
            packed.Pack(b);
            EXPECT_EQ(packed.columns(), columns);
            const auto before = RandomFloats(rows * columns, 3);
            const std::vector<float> zeros(before.size());
            for (const Into into : {Into::kOverwrite, Into::kAdd}) {
              std::vector<float> out = before;
              out.resize(before.size() + kGuard, 7);
              if (transposed % 2 == 0) {
                packed.Multiply(a, into, out.data());
              } else {
                packed.Multiply(packed.Transposed(a), into, out.data());
              }
              // Nothing is written behind the last row.
              EXPECT_THAT(std::vector<float>(out.end() - kGuard, out.end()),
                          testing::Each(7));
              out.resize(before.size());
              ExpectProduct(kernels, out,
                            Expected(transposed % 2 == 0 ? a : a.T(), b,
                                     into == Into::kAdd ? before : zeros));
            }
          }
        }
      }
    }
  }
}

TEST(ProductsTest, SumsOverRowsInTheirOrder) {
  for (const ProductKernels* const each : SupportedProductKernels()) {
    const ProductKernels& kernels = *each;
    PackedFactor block(kernels);
    for (const int64_t rows : {0, 1, 255, 256, 257, 700}) {
      for (const auto& [left, right] :
           {std::pair<int64_t, int64_t>{47, 100}, {8, 16}, {1, 1}}) {
        const auto a_values = RandomFloats(rows * left, 4);
        const auto b_values = RandomFloats(rows * right, 5);
        const Factor a = {a_values.data(), rows, left};
        const Factor b = {b_values.data(), rows, right};
        const std::vector<float> zeros(static_cast<size_t>(left * right));
        std::vector<float> out(zeros.size(), 3);
        ProductsOverRows<float>(a, {{b.data, right, out.data()}}, &block);
        ExpectProduct(kernels, out, Expected(a.T(), b, zeros));
      }
    }
  }
}

// Keeps one in five, in clusters: a row of a tile may have none or many.
template <typename Number>
void Thin(std::vector<Number>* values) {
  std::mt19937 generator(8);
  for (size_t i = 0; i < values->size(); i += 3) {
    if (generator() % 5 == 0) continue;
    for (size_t j = i; j < std::min(i + 3, values->size()); ++j) {
      (*values)[j] = Number{};
    }
  }
}

struct Sizes {
  int64_t rows;
  int64_t inner;
  int64_t columns;
};

// Rows past a block of them, words of one block, of several and of a part, and
// every kind of group of panels.
TEST(ProductsTest, PassesOverZerosWithTheSameBits) {
  constexpr size_t kGuard = 64;
  for (const ProductKernels* const kernels : SupportedProductKernels()) {
    PackedFactor packed(*kernels);
    for (const Sizes& of : {Sizes{1, 64, 100},
                            {9, 150, 70},
                            {9, 150, 128},
                            {9, 150, 137},
                            {9, 150, 160},
                            {258, 33, 100}}) {
      SCOPED_TRACE(testing::Message()
                   << kernels->name << " [" << of.rows << ", " << of.inner
                   << "], " << of.columns);
      auto a_values = RandomFloats(of.rows * of.inner, 1);
      Thin(&a_values);
      const auto b_values = RandomFloats(of.inner * of.columns, 2);
      const Factor a = {a_values.data(), of.rows, of.inner};
      const Factor b = {b_values.data(), of.inner, of.columns};
      packed.Pack(b);
      const auto before = RandomFloats(of.rows * of.columns, 3);
      for (const Into into : {Into::kOverwrite, Into::kAdd}) {
        std::vector<float> out = before;
        out.resize(before.size() + kGuard, 7);
        packed.Multiply(a, into, out.data());
        EXPECT_THAT(std::vector<float>(out.end() - kGuard, out.end()),
                    testing::Each(7));
        out.resize(before.size());
        const std::vector<float> zeros(before.size());
        ExpectProduct(*kernels, out,
                      Expected(a, b, into == Into::kAdd ? before : zeros));
      }
    }
  }
}

// What a destination gets does not depend on the rows beside it.
TEST(ProductsTest, ARowIsTheSameInAnyTile) {
  const auto a_values = RandomFloats(40 * 64, 6);
  const auto b_values = RandomFloats(64 * 47, 7);
  for (const ProductKernels* const each : SupportedProductKernels()) {
    const ProductKernels& kernels = *each;
    PackedFactor packed(kernels);
    packed.Pack({b_values.data(), 64, 47});
    std::vector<float> all(40 * 47);
    packed.Multiply({a_values.data(), 40, 64}, Into::kOverwrite, all.data());
    for (int64_t row = 0; row < 40; ++row) {
      std::vector<float> one(47);
      packed.Multiply({a_values.data() + row * 64, 1, 64}, Into::kOverwrite,
                      one.data());
      EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + row * 47));
    }
  }
}

// Sums of them are exact in any order.
std::vector<Bfloat16> RandomIntegers(int64_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> uniform(-9, 9);
  std::vector<Bfloat16> values;
  values.reserve(static_cast<size_t>(count) + 1);
  values.resize(static_cast<size_t>(count));
  for (Bfloat16& value : values) {
    value = RoundToBfloat16(static_cast<float>(uniform(generator)));
  }
  return values;
}

TEST(Bfloat16ProductsTest, MultipliesMatricesOfAnySize) {
  constexpr size_t kGuard = 64;
  // Behind the factors lies what must not be read into a sum.
  const Bfloat16 nan = RoundToBfloat16(NAN);
  for (const auto* const kernels : SupportedProductKernels<Bfloat16>()) {
    PackedFactorOf<Bfloat16> packed(*kernels);
    for (const int64_t rows : {1, 3, 8, 15, 16, 33}) {
      for (const int64_t inner : {0, 1, 2, 7, 100}) {
        for (const int64_t columns : {1, 15, 16, 24, 33, 47, 48, 65, 100}) {
          for (int transposed = 0; transposed < 4; ++transposed) {
            auto a_values = RandomIntegers(rows * inner, 1);
            auto b_values = RandomIntegers(inner * columns, 2);
            a_values.push_back(nan);
            b_values.push_back(nan);
            const FactorOf<Bfloat16> a = {a_values.data(), rows, inner};
            const FactorOf<Bfloat16> a_stored_transposed = {a_values.data(),
                                                            inner, rows};
            const FactorOf<Bfloat16> b =
                transposed / 2 == 0
                    ? FactorOf<Bfloat16>{b_values.data(), inner, columns}
                    : FactorOf<Bfloat16>{b_values.data(), columns, inner}.T();
            SCOPED_TRACE(testing::Message()
                         << kernels->name << " [" << rows << ", " << inner
                         << "] x [" << inner << ", " << columns << "] "
                         << transposed);
            packed.Pack(b);
            std::vector<float> before(static_cast<size_t>(rows * columns), 3);
            const std::vector<float> zeros(before.size());
            for (const Into into : {Into::kOverwrite, Into::kAdd}) {
              std::vector<float> out = before;
              out.resize(before.size() + kGuard, 7);
              if (transposed % 2 == 0) {
                packed.Multiply(a, into, out.data());
              } else {
                packed.Multiply(packed.Transposed(a_stored_transposed), into,
                                out.data());
              }
              EXPECT_THAT(std::vector<float>(out.end() - kGuard, out.end()),
                          testing::Each(7));
              out.resize(before.size());
              ASSERT_EQ(
                  out,
                  Expected(transposed % 2 == 0 ? a : a_stored_transposed.T(), b,
                           into == Into::kAdd ? before : zeros));
            }
          }
        }
      }
    }
  }
}

// Kernels that widen rows do so with some hundred numbers at a time.
TEST(Bfloat16ProductsTest, SumsRowsOfAnyLength) {
  for (const auto* const kernels : SupportedProductKernels<Bfloat16>()) {
    PackedFactorOf<Bfloat16> packed(*kernels);
    for (const int64_t inner : {512, 513, 1100}) {
      const auto a_values = RandomIntegers(9 * inner, 1);
      const auto b_values = RandomIntegers(inner * 40, 2);
      const FactorOf<Bfloat16> a = {a_values.data(), 9, inner};
      const FactorOf<Bfloat16> b = {b_values.data(), inner, 40};
      packed.Pack(b);
      for (const float before : {0.0F, 3.0F}) {
        std::vector<float> out(9 * 40, before);
        packed.Multiply(a, before == 0 ? Into::kOverwrite : Into::kAdd,
                        out.data());
        ASSERT_EQ(out, Expected(a, b, std::vector<float>(9 * 40, before)))
            << kernels->name << ", " << inner;
      }
    }
  }
}

TEST(Bfloat16ProductsTest, PassesOverZeros) {
  for (const auto* const kernels : SupportedProductKernels<Bfloat16>()) {
    PackedFactorOf<Bfloat16> packed(*kernels);
    for (const Sizes& of : {Sizes{1, 128, 100},
                            {9, 300, 70},
                            {9, 300, 137},
                            {9, 300, 160},
                            {258, 66, 100},
                            {3, 129, 100}}) {
      auto a_values = RandomIntegers(of.rows * of.inner, 1);
      Thin(&a_values);
      const auto b_values = RandomIntegers(of.inner * of.columns, 2);
      const FactorOf<Bfloat16> a = {a_values.data(), of.rows, of.inner};
      const FactorOf<Bfloat16> b = {b_values.data(), of.inner, of.columns};
      packed.Pack(b);
      const std::vector<float> before(static_cast<size_t>(of.rows * of.columns),
                                      3);
      std::vector<float> out = before;
      packed.Multiply(a, Into::kAdd, out.data());
      ASSERT_EQ(out, Expected(a, b, before))
          << kernels->name << " [" << of.rows << ", " << of.inner << "], "
          << of.columns;
    }
  }
}

TEST(Bfloat16ProductsTest, SumsOverRowsOfAnyNumber) {
  for (const auto* const kernels : SupportedProductKernels<Bfloat16>()) {
    PackedFactorOf<Bfloat16> block(*kernels);
    for (const int64_t rows : {0, 1, 255, 256, 257, 700}) {
      const auto a_values = RandomIntegers(rows * 47, 4);
      const auto b_values = RandomIntegers(rows * 100, 5);
      const FactorOf<Bfloat16> a = {a_values.data(), rows, 47};
      const FactorOf<Bfloat16> b = {b_values.data(), rows, 100};
      std::vector<float> out(47 * 100, 3);
      ProductsOverRows<Bfloat16>(a, {{b.data, 100, out.data()}}, &block);
      ASSERT_EQ(out, Expected(a.T(), b, std::vector<float>(47 * 100)))
          << kernels->name << ", " << rows << " rows";
    }
  }
}

// Sums are in f32: an error of bfloat16's own rounding would be 2^-9.
TEST(Bfloat16ProductsTest, RoundsOnlyItsOperandsAndARowIsTheSameInAnyTile) {
  std::vector<Bfloat16> a_values;
  std::vector<Bfloat16> b_values;
  for (const float value : RandomFloats(40 * 63, 6)) {
    a_values.push_back(RoundToBfloat16(value));
  }
  for (const float value : RandomFloats(63 * 47, 7)) {
    b_values.push_back(RoundToBfloat16(value));
  }
  const FactorOf<Bfloat16> a = {a_values.data(), 40, 63};
  const FactorOf<Bfloat16> b = {b_values.data(), 63, 47};
  const std::vector<float> expected =
      Expected(a, b, std::vector<float>(40 * 47));
  for (const auto* const kernels : SupportedProductKernels<Bfloat16>()) {
    PackedFactorOf<Bfloat16> packed(*kernels);
    packed.Pack(b);
    std::vector<float> all(40 * 47);
    packed.Multiply(a, Into::kOverwrite, all.data());
    EXPECT_THAT(all, testing::Pointwise(testing::FloatNear(1e-5F), expected))
        << kernels->name;
    for (int64_t row = 0; row < 40; ++row) {
      std::vector<float> one(47);
      packed.Multiply({a_values.data() + row * 63, 1, 63}, Into::kOverwrite,
                      one.data());
      EXPECT_TRUE(std::equal(one.begin(), one.end(), all.begin() + row * 47))
          << kernels->name << ", row " << row;
    }
  }
}

}  // namespace
}  // namespace fgnn
