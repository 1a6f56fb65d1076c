#include "trainer_service/nn/cuda/cublas_lt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fakes/cuda/fake_cublas_lt.h"
#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/nn/cuda/kernels/random_lists.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/compute/numbers.h"

namespace fgnn {
namespace {

using testing::Each;

class CublasLtTest : public testing::Test {
 protected:
  CublasLtTest() { simt::SetFakeCublasLt({}); }
  ~CublasLtTest() override {
    products_ = nullptr;
    EXPECT_EQ(simt::NumCublasLtObjects(), 0) << "objects were not destroyed";
  }

  absl::StatusOr<std::unique_ptr<DenseProducts>> Open() {
    return NewCublasLt(simt::FakeCublasLtApi());
  }
  absl::Status Multiply(const ProductArgs& args) {
    if (products_ == nullptr) {
      auto products = Open();
      FGNN_RETURN_IF_ERROR(products.status());
      products_ = std::move(*products);
    }
    return products_->Multiply(args, gpu_.stream());
  }

  // All of f32, with arrays of their own.
  ProductArgs Args(uint64_t m, uint64_t n, uint64_t k) {
    ProductArgs args;
    args.m = m;
    args.n = n;
    args.k = k;
    args.a = gpu_.Put(RandomFloats(m * k, 1));
    args.b = gpu_.Put(RandomFloats(k * n, 2));
    args.c = gpu_.Put(RandomFloats(m * n, 3));
    return args;
  }

  void ExpectProduct(ProductArgs args);

  TestGpu gpu_;
  std::unique_ptr<DenseProducts> products_;
};

// Returns the product of row-major factors in f64, plus c if it is added.
std::vector<double> Expected(const ProductArgs& args,
                             const std::vector<float>& a,
                             const std::vector<float>& b,
                             const std::vector<float>& c) {
  std::vector<double> out;
  for (uint64_t i = 0; i < args.m; ++i) {
    for (uint64_t j = 0; j < args.n; ++j) {
      double sum = args.adds ? double{c[i * args.n + j]} : 0;
      for (uint64_t l = 0; l < args.k; ++l) {
        sum += double{a[args.transposes_a ? l * args.m + i : i * args.k + l]} *
               double{b[args.transposes_b ? j * args.k + l : l * args.n + j]};
      }
      out.push_back(sum);
    }
  }
  return out;
}

void ExpectNear(const std::vector<float>& got,
                const std::vector<double>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(double{got[i]}, expected[i],
                tolerance * (1 + std::abs(expected[i])))
        << i;
  }
}

// Fills in the arrays.
void CublasLtTest::ExpectProduct(ProductArgs args) {
  SCOPED_TRACE(absl::StrCat(
      args.m, " x ", args.n, " x ", args.k, ", transposes ", args.transposes_a,
      args.transposes_b, ", adds ", args.adds, ", types ",
      static_cast<int>(args.type), static_cast<int>(args.c_type)));
  std::vector<float> a = RandomFloats(args.m * args.k, 1);
  std::vector<float> b = RandomFloats(args.k * args.n, 2);
  std::vector<float> c = RandomFloats(args.m * args.n, 3);
  args.a = gpu_.Put(a);
  args.b = gpu_.Put(b);
  if (args.type == FeatureType::kBfloat16) {
    args.a = gpu_.Put(Rounded(a));
    args.b = gpu_.Put(Rounded(b));
    a = Widened(Rounded(a));
    b = Widened(Rounded(b));
  }
  std::vector<float> got;
  double tolerance = 1e-5;
  if (args.c_type == FeatureType::kBfloat16) {
    Bfloat16* const out = gpu_.Put(Rounded(c));
    args.c = out;
    EXPECT_THAT(Multiply(args), IsOk());
    got = Widened(gpu_.Get(out, c.size()));
    c = Widened(Rounded(c));
    tolerance = 0x1p-8;
  } else {
    float* const out = gpu_.Put(c);
    args.c = out;
    EXPECT_THAT(Multiply(args), IsOk());
    got = gpu_.Get(out, c.size());
  }
  ExpectNear(got, Expected(args, a, b, c), tolerance);
}

TEST_F(CublasLtTest, MultipliesAnyTransposesAndTypes) {
  using Type = FeatureType;
  for (int bits = 0; bits < 8; ++bits) {
    ProductArgs args;
    args.m = 5;
    args.n = 33;
    args.k = 7;
    args.transposes_a = (bits & 1) != 0;
    args.transposes_b = (bits & 2) != 0;
    args.adds = (bits & 4) != 0;
    ExpectProduct(args);
    args.type = Type::kBfloat16;
    ExpectProduct(args);
    args.c_type = Type::kBfloat16;
    ExpectProduct(args);
  }
}

TEST_F(CublasLtTest, RoundsToTf32OnlyWhereTheCallerAllowsIt) {
  ProductArgs args = Args(1, 1, 1);
  args.a = gpu_.Put(std::vector<float>{1 + 0x1p-11F});
  args.b = gpu_.Put(std::vector<float>{1});
  const auto product = [&] {
    EXPECT_THAT(Multiply(args), IsOk());
    return gpu_.Get(static_cast<const float*>(args.c), 1)[0];
  };
  EXPECT_EQ(product(), 1 + 0x1p-11F);
  args.rounds_to_tf32 = true;
  EXPECT_EQ(product(), 1 + 0x1p-10F);
  EXPECT_EQ(simt::NumHeuristics(), 2U) << "each has an algorithm of its own";
  args.rounds_to_tf32 = false;
  EXPECT_EQ(product(), 1 + 0x1p-11F);
  // Factors in bf16 have fewer bits than TF32.
  args.rounds_to_tf32 = true;
  args.type = FeatureType::kBfloat16;
  args.a = args.b = gpu_.Put(Rounded({1 + 0x1p-7F}));
  EXPECT_EQ(product(), (1 + 0x1p-7F) * (1 + 0x1p-7F));
}

TEST_F(CublasLtTest, MultipliesAnySizes) {
  for (const uint64_t m : {0, 1, 31, 32, 33}) {
    for (const uint64_t n : {0, 1, 31, 33}) {
      for (const uint64_t k : {0, 1, 32, 33}) {
        ProductArgs args;
        args.m = m;
        args.n = n;
        args.k = k;
        args.transposes_b = (m + n + k) % 2 == 0;
        args.adds = m % 2 == 0;
        args.type = k == 32 ? FeatureType::kBfloat16 : FeatureType::kFloat32;
        args.c_type = n == 33 ? args.type : FeatureType::kFloat32;
        ExpectProduct(args);
      }
    }
  }
}

TEST_F(CublasLtTest, MultipliesWithoutArraysOfSize0) {
  ProductArgs args = Args(3, 4, 0);
  args.a = args.b = nullptr;
  EXPECT_THAT(Multiply(args), IsOk());
  EXPECT_THAT(gpu_.Get(static_cast<const float*>(args.c), 12), Each(0.0F));
  EXPECT_EQ(simt::NumHeuristics(), 0U);
  args.type = args.c_type = FeatureType::kBfloat16;
  Bfloat16* const c = gpu_.Put(Rounded(RandomFloats(12, 4)));
  args.c = c;
  EXPECT_THAT(Multiply(args), IsOk());
  EXPECT_THAT(Widened(gpu_.Get(c, 12)), Each(0.0F));
}

TEST_F(CublasLtTest, ChoosesAnAlgorithmOncePerShape) {
  const ProductArgs args = Args(5, 6, 7);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Multiply(args), IsOk());
  EXPECT_EQ(simt::NumHeuristics(), 1U);
  ProductArgs adding = args;
  adding.adds = true;
  EXPECT_THAT(Multiply(adding), IsOk());
  EXPECT_EQ(simt::NumHeuristics(), 1U);
  EXPECT_THAT(Multiply(Args(6, 6, 7)), IsOk());
  EXPECT_EQ(simt::NumHeuristics(), 2U);
}

// Batches have ever new numbers of rows.
TEST_F(CublasLtTest, ForgetsTheOldestShapes) {
  ProductArgs args = Args(300, 1, 1);
  int64_t objects = 0;
  for (uint64_t m = 1; m <= 256; ++m) {
    args.m = m;
    EXPECT_THAT(Multiply(args), IsOk());
  }
  objects = simt::NumCublasLtObjects();
  for (uint64_t m = 257; m <= 300; ++m) {
    args.m = m;
    EXPECT_THAT(Multiply(args), IsOk());
  }
  EXPECT_EQ(simt::NumCublasLtObjects(), objects);
  args.m = 300;
  EXPECT_THAT(Multiply(args), IsOk());
  EXPECT_EQ(simt::NumHeuristics(), 300U);
  args.m = 1;
  EXPECT_THAT(Multiply(args), IsOk());
  EXPECT_EQ(simt::NumHeuristics(), 301U);
  gpu_.Get(static_cast<const float*>(args.c), 1);
}

TEST_F(CublasLtTest, HoldsItsWorkspaceInDeviceMemory) {
  const size_t before = simt::GetFakeCounts().allocated_bytes;
  const auto products = Open();
  FGNN_ASSERT_OK(products);
  EXPECT_EQ((*products)->workspace_bytes(),
            simt::GetFakeCounts().allocated_bytes - before);
  EXPECT_GT((*products)->workspace_bytes(), 0U);
}

TEST_F(CublasLtTest, DoesNotWait) {
  const ProductArgs args = Args(5, 6, 7);
  EXPECT_THAT(Multiply(args), IsOk());
  const uint64_t waits = simt::GetFakeCounts().waits;
  const uint64_t launches = simt::GetFakeCounts().launches;
  EXPECT_THAT(Multiply(args), IsOk());
  EXPECT_EQ(simt::GetFakeCounts().waits, waits);
  EXPECT_EQ(simt::GetFakeCounts().launches, launches + 1);
}

TEST_F(CublasLtTest, SaysWhatIsMissingWithoutADriver) {
  simt::SetFakeCublasLt({.create = cublas_lt::kNotInitialized});
  EXPECT_THAT(Open(),
              FailedPrecondition("cuBLASLt 130100 cannot use the device: "
                                 "CUBLAS_STATUS_NOT_INITIALIZED",
                                 "no driver for CUDA 13, or no memory"));
}

TEST_F(CublasLtTest, ReportsThatTheDeviceHasNoMemoryLeft) {
  simt::FailAfter(0, cudaErrorMemoryAllocation, false);
  EXPECT_THAT(Open(), ResourceExhausted("33554432 bytes"));
}

// Nothing is left behind, wherever the host's memory ends.
TEST_F(CublasLtTest, ReportsThatTheHostHasNoMemoryLeft) {
  const ProductArgs args = Args(5, 6, 7);
  uint64_t failures = 0;
  for (;; ++failures) {
    products_ = nullptr;
    simt::SetFakeCublasLt({.calls_before_no_memory = failures});
    const absl::Status status = Multiply(args);
    if (status.ok()) break;
    EXPECT_THAT(status, ResourceExhausted("CUBLAS_STATUS_ALLOC_FAILED"));
  }
  // The library itself, 7 for preferences, 3 for the description, 3 layouts.
  EXPECT_EQ(failures, 14U);
}

TEST_F(CublasLtTest, NamesTheProductThatTheLibraryCannotDo) {
  const auto refused = Unimplemented(
      "cannot multiply [5, 7] and [7, 6] on this device: "
      "CUBLAS_STATUS_NOT_SUPPORTED");
  const ProductArgs args = Args(5, 6, 7);
  simt::SetFakeCublasLt({.finds_nothing = true});
  EXPECT_THAT(Multiply(args), refused);
  simt::SetFakeCublasLt({.heuristic = cublas_lt::kNotSupported});
  EXPECT_THAT(Multiply(args), refused);
  simt::SetFakeCublasLt({.of_result = cublas_lt::kNotSupported});
  EXPECT_THAT(Multiply(args), refused);
  simt::SetFakeCublasLt({});
  EXPECT_THAT(Multiply(args), IsOk());
}

TEST_F(CublasLtTest, ReportsAProductThatFails) {
  const ProductArgs args = Args(5, 6, 7);
  simt::SetFakeCublasLt({.matmul = cublas_lt::kExecutionFailed});
  EXPECT_THAT(Multiply(args), Internal("CUBLAS_STATUS_EXECUTION_FAILED"));
}

TEST_F(CublasLtTest, RefusesArgumentsThatBreakTheRules) {
  ProductArgs args = Args(5, 6, 7);
  args.a = nullptr;
  EXPECT_THAT(Multiply(args), InvalidArgument());
}

TEST(CublasLtLibraryTest, SaysHowToFetchALibraryThatIsNotThere) {
  EXPECT_THAT(LoadCublasLt("/a/folder", {"/nowhere/two.so", "libm.so.6"}),
              FailedPrecondition(
                  "pip install --no-deps --target "
                  "/a/folder nvidia-cublas==13",
                  "; /a/folder/nvidia/cu13/lib/libcublasLt.so.13: cannot open",
                  "; /nowhere/two.so: cannot open",
                  "libm.so.6 has no cublasLtGetVersion"));
}

}  // namespace
}  // namespace fgnn
