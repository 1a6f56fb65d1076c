#include "tests/fakes/cuda/plain_products.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/compute/numbers.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PlainProductsTest : public testing::Test {
 protected:
  // [2, 3] and [3, 2], or their transposes.
  ProductArgs Args(bool transposes_a, bool transposes_b) {
    ProductArgs args;
    args.m = args.n = 2;
    args.k = 3;
    args.transposes_a = transposes_a;
    args.transposes_b = transposes_b;
    args.a = transposes_a ? Put({1, 4, 2, 5, 3, 6}) : Put({1, 2, 3, 4, 5, 6});
    args.b = transposes_b ? Put({1, 0, 2, 0, 1, 2}) : Put({1, 0, 0, 1, 2, 2});
    args.c = Put({100, 200, 300, 400});
    return args;
  }
  float* Put(const std::vector<float>& numbers) { return gpu_.Put(numbers); }

  std::vector<float> Product(const ProductArgs& args) {
    EXPECT_THAT(products_->Multiply(args, gpu_.stream()), IsOk());
    return gpu_.Get(static_cast<const float*>(args.c), args.m * args.n);
  }

  TestGpu gpu_;
  std::unique_ptr<DenseProducts> products_ = simt::NewPlainProducts();
};

TEST_F(PlainProductsTest, MultipliesAnyTransposes) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      EXPECT_THAT(Product(Args(a, b)), ElementsAre(7, 8, 16, 17));
    }
  }
}

TEST_F(PlainProductsTest, AddsToWhatIsThere) {
  ProductArgs args = Args(false, false);
  args.adds = true;
  EXPECT_THAT(Product(args), ElementsAre(107, 208, 316, 417));
}

TEST_F(PlainProductsTest, SetsZerosWithoutAnInnerSize) {
  ProductArgs args = Args(false, false);
  args.k = 0;
  args.a = args.b = nullptr;
  args.adds = true;
  EXPECT_THAT(Product(args), ElementsAre(100, 200, 300, 400));
  args.adds = false;
  EXPECT_THAT(Product(args), ElementsAre(0, 0, 0, 0));
}

TEST_F(PlainProductsTest, RoundsToBfloat16) {
  ProductArgs args = Args(false, false);
  args.type = args.c_type = FeatureType::kBfloat16;
  std::vector<Bfloat16> a;
  for (const float number : {1.0F, 0x1p-9F, 0.0F, 2.0F, 3.0F, 4.0F}) {
    a.push_back(RoundToBfloat16(number));
  }
  std::vector<Bfloat16> b(6, RoundToBfloat16(1));
  args.a = gpu_.Put(a);
  args.b = gpu_.Put(b);
  EXPECT_THAT(products_->Multiply(args, gpu_.stream()), IsOk());
  const std::vector<Bfloat16> c =
      gpu_.Get(static_cast<const Bfloat16*>(args.c), 4);
  EXPECT_EQ(Widen(c[0]), 1);  // 1 + 2^-9 is between two numbers.
  EXPECT_EQ(Widen(c[3]), 9);
}

TEST_F(PlainProductsTest, RoundsFactorsToTf32WhereTheCallerAllowsIt) {
  ProductArgs args = Args(false, false);
  args.a = gpu_.Put(std::vector<float>{1 + 0x1p-11F, 0, 0, 0, 0, 1 - 0x1p-13F});
  args.b = gpu_.Put(std::vector<float>{1, -1 - 0x1p-12F, 1, 1, 1, 1});
  EXPECT_THAT(Product(args),
              ElementsAre(1 + 0x1p-11F, -1 - 0x1p-11F - 0x1p-12F - 0x1p-23F,
                          1 - 0x1p-13F, 1 - 0x1p-13F));
  args.rounds_to_tf32 = true;
  EXPECT_THAT(Product(args), ElementsAre(1 + 0x1p-10F, -1 - 0x1p-10F, 1, 1));
}

TEST_F(PlainProductsTest, ReportsAnErrorOfTheRuntime) {
  const ProductArgs args = Args(false, false);
  simt::FailAfter(0, cudaErrorLaunchFailure, false);
  EXPECT_THAT(products_->Multiply(args, gpu_.stream()),
              StatusIs(absl::StatusCode::kInternal));
}

TEST_F(PlainProductsTest, RefusesArgumentsThatBreakTheRules) {
  const auto expect = [&](const ProductArgs& args, const char* reason) {
    EXPECT_THAT(CheckProduct(args),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(reason)))
        << reason;
  };
  const ProductArgs good = Args(false, false);
  EXPECT_THAT(CheckProduct(good), IsOk());
  ProductArgs args = good;
  args.m = uint64_t{1} << 31;
  expect(args, "product of [2147483648, 3] and [3, 2]: a size is 2^31");
  args = good;
  args.type = FeatureType::kFloat16;
  expect(args, "a is of f16");
  args = good;
  args.c_type = FeatureType::kBfloat16;
  expect(args, "c is neither");
  args = good;
  args.b = nullptr;
  expect(args, "b is null");
  args = good;
  args.a = static_cast<const float*>(args.a) + 1;
  expect(args, "a is not at a multiple of 16 bytes");
  args = good;
  args.c = static_cast<float*>(args.c) + 2;
  expect(args, "c is not at a multiple of 16 bytes");
}

}  // namespace
}  // namespace fgnn
