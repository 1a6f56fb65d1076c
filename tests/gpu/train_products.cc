// Dense products by cuBLASLt on a real GPU: against f64, the same bits over
// 1,000 runs, and times against what the device can multiply and move.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/gpu/gpu_bench.h"
#include "tests/gpu/must_be_ok.h"
#include "tests/gpu/report.h"
#include "trainer_service/compute/numbers.h"
#include "trainer_service/nn/cuda/cublas_lt.h"

namespace fgnn {
namespace {

constexpr int kRuns = 1000;
constexpr double kTarget = 0.7;  // Of the limit, for the large products.
constexpr uint64_t kLargeFlops = uint64_t{10} << 30;

struct Shape {
  const char* name;
  uint64_t m;
  uint64_t n;
  uint64_t k;
  bool transposes_a;
  bool transposes_b;
};

// Of GraphSAGE with 256 hidden columns, as layers multiply: x W^T forwards, dy
// W for the rows' gradient, dy^T x for a weight's. The last are the output's.
constexpr Shape kShapes[] = {
    {"first layer", 304000, 256, 100, false, true},
    {"layer", 38000, 256, 256, false, true},
    {"large layer", 304000, 256, 256, false, true},
    {"gradient of rows", 304000, 256, 256, false, false},
    {"gradient of a weight", 256, 256, 304000, true, false},
    {"small gradient of a weight", 256, 256, 8000, true, false},
    {"output", 8000, 47, 256, false, true},
    {"gradient of the output's rows", 8000, 256, 47, false, false},
};

// What factors are multiplied as.
struct Factors {
  const char* name;
  FeatureType type;
  bool rounds_to_tf32;
  // Largest error of a sum, as a share of its absolute products. A factor that
  // is rounded to TF32 gives 3e-5 in sums of 256, and 2^-10 at most.
  double tolerance;
};
constexpr Factors kFactors[] = {
    {"f32", FeatureType::kFloat32, false, 1e-5},
    {"tf32", FeatureType::kFloat32, true, 0x1p-10},
    {"bf16", FeatureType::kBfloat16, false, 1e-5},
};

// The factors and the product of one shape and precision.
class Product {
 public:
  Product(const Shape& shape, const Factors& factors) {
    args_.m = shape.m;
    args_.n = shape.n;
    args_.k = shape.k;
    args_.transposes_a = shape.transposes_a;
    args_.transposes_b = shape.transposes_b;
    args_.type = factors.type;
    args_.rounds_to_tf32 = factors.rounds_to_tf32;
    a_ = Factor(args_.m * args_.k, 1);
    b_ = Factor(args_.k * args_.n, 2);
    args_.a = Put(a_, &put_a_, &rounded_a_);
    args_.b = Put(b_, &put_b_, &rounded_b_);
    c_ = OnGpu<float>(args_.m * args_.n);
    c_.Poison();
    args_.c = c_.get();
  }

  const ProductArgs& args() const { return args_; }
  std::vector<float> Copy() const { return c_.Copy(); }

  // Returns the largest error of some numbers, as a share of the sum of the
  // absolute products.
  double LargestError() const {
    const std::vector<float> got = Copy();
    double largest = 0;
    for (uint64_t sample = 0; sample < 500; ++sample) {
      const uint64_t i = Scramble(sample) % args_.m;
      const uint64_t j = Scramble(~sample) % args_.n;
      double sum = 0;
      double size = 0;
      for (uint64_t l = 0; l < args_.k; ++l) {
        const uint64_t at_a =
            args_.transposes_a ? l * args_.m + i : i * args_.k + l;
        const uint64_t at_b =
            args_.transposes_b ? j * args_.k + l : l * args_.n + j;
        const double product = double{a_[at_a]} * double{b_[at_b]};
        sum += product;
        size += std::abs(product);
      }
      const double error = std::abs(double{got[i * args_.n + j]} - sum) / size;
      largest = error > largest || error != error ? error : largest;
    }
    return largest;
  }

 private:
  // Numbers in [-1, 1) that both types have.
  std::vector<float> Factor(uint64_t count, uint64_t seed) const {
    std::vector<float> numbers(count);
    for (uint64_t i = 0; i < count; ++i) {
      const auto bits = static_cast<int64_t>(Scramble(seed << 40 ^ i) >> 40);
      numbers[i] = static_cast<float>(bits - (1 << 23)) * 0x1p-23F;
      if (args_.type == FeatureType::kBfloat16) {
        numbers[i] = Widen(RoundToBfloat16(numbers[i]));
      }
    }
    return numbers;
  }
  const void* Put(const std::vector<float>& numbers, OnGpu<float>* floats,
                  OnGpu<Bfloat16>* rounded) const {
    if (args_.type == FeatureType::kFloat32) {
      *floats = OnGpu<float>(numbers);
      return floats->get();
    }
    std::vector<Bfloat16> small;
    for (const float number : numbers) {
      small.push_back(RoundToBfloat16(number));
    }
    *rounded = OnGpu<Bfloat16>(small);
    return rounded->get();
  }

  ProductArgs args_;
  std::vector<float> a_, b_;
  OnGpu<float> put_a_, put_b_, c_;
  OnGpu<Bfloat16> rounded_a_, rounded_b_;
};

std::string NameOf(const Shape& shape, const Factors& factors) {
  return std::string(factors.name) + " " + shape.name + ", " +
         std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " +
         std::to_string(shape.k);
}

void CheckNumbers(const Product& product, const std::string& name,
                  double tolerance, Report* report) {
  const double error = product.LargestError();
  report->Check(name + " against f64", error < tolerance,
                "largest error " + Report::Number(error) +
                    " of the absolute products, below " +
                    Report::Number(tolerance));
}

void CheckRepeats(DenseProducts* products, const GpuClock& clock,
                  const Shape& shape, const Factors& factors, Report* report) {
  const Product product(shape, factors);
  const uint64_t count = shape.m * shape.n;
  std::vector<float> first;
  int different = 0;
  for (int run = 0; run < kRuns; ++run) {
    MustBeOk(products->Multiply(product.args(), clock.stream()));
    const std::vector<float> got = product.Copy();
    if (run == 0) first = got;
    different += std::memcmp(got.data(), first.data(), count * 4) != 0 ? 1 : 0;
  }
  CheckNumbers(product, NameOf(shape, factors), factors.tolerance, report);
  report->Check(NameOf(shape, factors) + ", bits", different == 0,
                std::to_string(different) + " of " + std::to_string(kRuns) +
                    " runs differ from the first");
}

// Operations a second at the device's highest clock, or 0 for a device that
// is not known.
double MostFlops(const Factors& factors) {
  const auto of_device = [](cudaDeviceAttr attribute) {
    int value = 0;
    Must(cudaDeviceGetAttribute(&value, attribute, 0), "device attribute");
    return value;
  };
  const int major = of_device(cudaDevAttrComputeCapabilityMajor);
  const int minor = of_device(cudaDevAttrComputeCapabilityMinor);
  // Multiplications and additions a clock of a multiprocessor.
  double each = 0;
  if (factors.type == FeatureType::kFloat32 && !factors.rounds_to_tf32) {
    each = major == 8 && minor == 0 ? 64 : 128;
  } else {
    each = major == 8    ? (minor == 0 ? 1024 : 512)
           : major == 9  ? 2048
           : major == 10 ? 4096
                         : 0;
    if (factors.rounds_to_tf32) each /= 2;
  }
  const double khz = of_device(cudaDevAttrClockRate);
  return 2 * each * of_device(cudaDevAttrMultiProcessorCount) * khz * 1e3;
}

void Time(DenseProducts* products, const GpuClock& clock, const Shape& shape,
          const Factors& factors, double memory_rate, Report* report) {
  const Product product(shape, factors);
  const double seconds = clock.Seconds(8, [&](int) {
    MustBeOk(products->Multiply(product.args(), clock.stream()));
    return cudaSuccess;
  });
  CheckNumbers(product, NameOf(shape, factors), factors.tolerance, report);
  const double flops = 2.0 * static_cast<double>(shape.m * shape.n * shape.k);
  const double most_flops = MostFlops(factors);
  const double bytes_each = factors.type == FeatureType::kFloat32 ? 4 : 2;
  const double bytes =
      bytes_each * static_cast<double>(shape.m * shape.k + shape.k * shape.n) +
      4.0 * static_cast<double>(shape.m * shape.n);
  const double floor = std::max(flops / most_flops, bytes / memory_rate);
  char found[160];
  std::snprintf(found, sizeof(found),
                "%.1f us, %.1f TFLOP/s of %.0f; floor of sums and bytes "
                "%.1f us: %.2f of the limit, at least %.1f",
                seconds * 1e6, flops / seconds / 1e12, most_flops / 1e12,
                floor * 1e6, floor / seconds, kTarget);
  if (flops < static_cast<double>(kLargeFlops)) {
    report->Fact(NameOf(shape, factors), "too small", found);
  } else {
    report->Check(NameOf(shape, factors), floor / seconds >= kTarget, found);
  }
}

// Batches have ever new numbers of rows: what choosing an algorithm costs the
// host.
void TimeChoices(DenseProducts* products, const GpuClock& clock,
                 Report* report) {
  constexpr uint64_t kChoices = 200;
  const Product product({"", 38000, 256, 256, false, true}, kFactors[0]);
  const auto seconds_of = [&](uint64_t step) {
    Must(cudaDeviceSynchronize(), "wait for the device");
    const auto begin = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < kChoices; ++i) {
      ProductArgs args = product.args();
      args.m = 1000 + i * step;
      MustBeOk(products->Multiply(args, clock.stream()));
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         begin)
               .count() /
           kChoices;
  };
  const double choice = seconds_of(1);
  report->Figure("host, a product of a new shape", choice * 1e6, "us",
                 Report::Number(seconds_of(0) * 1e6) +
                     " us for a known shape; a launch takes about 3");
}

void Run(Parts parts, const GpuClock& clock, Report* report) {
  auto products = OpenCublasLt();
  if (!products.ok()) {
    report->Fail("cuBLASLt", std::string(products.status().message()));
    return;
  }
  if (parts.checks) {
    const Shape of_weight = {
        "gradient of a weight", 256, 256, 38000, true, false};
    for (const Factors& factors : kFactors) {
      CheckRepeats(products->get(), clock, of_weight, factors, report);
      CheckRepeats(products->get(), clock, kShapes[6], factors, report);
    }
  }
  if (parts.times) {
    const double memory_rate = PrintMemoryRate(clock, report);
    for (const Factors& factors : kFactors) {
      for (const Shape& shape : kShapes) {
        Time(products->get(), clock, shape, factors, memory_rate, report);
      }
    }
    TimeChoices(products->get(), clock, report);
  }
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  return fgnn::RunParts(argc, argv, fgnn::Run);
}
