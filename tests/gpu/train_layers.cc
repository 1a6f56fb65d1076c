// What stands between the sums of a layer and its products, on a real GPU:
// dropout, column sums, attention's weights and the loss. Results against loops
// on the CPU, and times against what HBM can do.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "tests/gpu/gpu_bench.h"
#include "tests/gpu/report.h"
#include "trainer_service/nn/cuda/kernels/column_sums.h"
#include "trainer_service/nn/cuda/kernels/cross_entropy.h"
#include "trainer_service/nn/cuda/kernels/dropout.h"
#include "trainer_service/nn/cuda/kernels/edge_softmax.h"

namespace fgnn {
namespace {

constexpr uint32_t kRows = 38000;
constexpr uint32_t kColumns = 256;
constexpr double kTarget = 0.7;  // Of HBM, for what moves much.
constexpr size_t kTurns = 4;     // Inputs that take turns, against L2.

std::vector<float> RandomFloats(uint64_t count, uint64_t seed) {
  std::vector<float> numbers(count);
  for (uint64_t i = 0; i < count; ++i) {
    numbers[i] =
        static_cast<float>(
            static_cast<int64_t>(Scramble(seed << 32 ^ i) >> 40) - (1 << 23)) *
        0x1p-23f;
  }
  return numbers;
}

DropoutArgs DropoutOf(uint64_t count) {
  DropoutArgs args;
  args.key = {123, 456};
  args.threshold = 1 << 15;
  args.scale = 2;
  args.relu = true;
  args.columns = kColumns;
  args.count = count;
  return args;
}

// The law of nn/cpu/kernels/dropout.h, for one element.
float Dropped(const DropoutArgs& args, uint64_t i, float value) {
  const uint64_t counter = i / 128 * 16 + i % 32 / 2;
  const PhiloxBlock block =
      Philox4x32({static_cast<uint32_t>(counter),
                  static_cast<uint32_t>(counter >> 32), 0, 0},
                 args.key);
  const uint32_t word = block.words[i % 128 / 32];
  const uint32_t half = i % 2 == 0 ? word & 0xffff : word >> 16;
  return half < args.threshold || value < 0 ? 0 : value * args.scale;
}

void CheckDropout(const GpuClock& clock, Report* report) {
  const uint64_t count = uint64_t{kRows} * kColumns;
  const std::vector<float> z = RandomFloats(count, 1);
  const std::vector<float> row = RandomFloats(kColumns, 2);
  const OnGpu<float> put_z(z);
  const OnGpu<float> put_row(row);
  const OnGpu<float> out(count);
  const OnGpu<float> gradient(z);
  out.Poison();
  Must(cudaDeviceSynchronize(), "poison");
  DropoutArgs args = DropoutOf(count);
  args.row = put_row.get();
  args.from = put_z.get();
  args.to = out.get();
  Must(LaunchDropout(args, clock.stream()), "dropout");
  DropoutGradientArgs backward;
  backward.scale = args.scale;
  backward.activations = out.get();
  backward.gradient = gradient.get();
  backward.count = count;
  Must(LaunchGradientOfDropout(backward, clock.stream()), "gradient");
  const std::vector<float> dropped = out.Copy();
  const std::vector<float> back = gradient.Copy();
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const float wanted = Dropped(args, i, z[i] + row[i % kColumns]);
    const float wanted_back = wanted > 0 ? z[i] * args.scale : 0;
    wrong += std::memcmp(&dropped[i], &wanted, 4) != 0 ? 1 : 0;
    wrong += std::memcmp(&back[i], &wanted_back, 4) != 0 ? 1 : 0;
  }
  report->Check("dropout and its gradient", wrong == 0,
                std::to_string(wrong) + " wrong numbers");
}

void CheckColumnSums(const GpuClock& clock, Report* report) {
  const std::vector<float> x = RandomFloats(uint64_t{kRows} * kColumns, 3);
  const OnGpu<float> put(x);
  const OnGpu<float> partials(uint64_t{kMostRowChunks} * kColumns);
  const OnGpu<float> out(kColumns);
  ColumnSumsArgs args;
  args.rows = kRows;
  args.columns = kColumns;
  args.x = put.get();
  args.partials = partials.get();
  args.out = out.get();
  Must(LaunchColumnSums(args, clock.stream()), "column sums");
  const std::vector<float> got = out.Copy();
  const uint32_t group_rows = RowsOfChunk(kRows) * kChunksOfGroup;
  uint64_t wrong = 0;
  for (uint32_t c = 0; c < kColumns; ++c) {
    float total = 0;
    for (uint32_t group = 0; group < kRows; group += group_rows) {
      float of_group = 0;
      const uint32_t end = std::min(kRows, group + group_rows);
      for (uint32_t chunk = group; chunk < end; chunk += RowsOfChunk(kRows)) {
        float sum = 0;
        const uint32_t last = std::min(end, chunk + RowsOfChunk(kRows));
        for (uint32_t r = chunk; r < last; ++r) {
          sum += x[uint64_t{r} * kColumns + c];
        }
        of_group += sum;
      }
      total += of_group;
    }
    wrong += std::memcmp(&got[c], &total, 4) != 0 ? 1 : 0;
  }
  report->Check("column sums", wrong == 0,
                std::to_string(wrong) + " wrong numbers");
}

// A block's attention: each destination has six entries, itself the first.
class Attention {
 public:
  static constexpr uint32_t kHeads = 4;
  static constexpr uint32_t kDegree = 6;
  static constexpr uint32_t kSources = 87000;

  Attention()
      : sources_(RandomFloats(kSources * kHeads, 4)),
        destinations_(RandomFloats(kRows * kHeads, 5)),
        of_weights_(RandomFloats(kRows * kDegree * kHeads, 6)) {
    for (uint32_t i = 0; i <= kRows; ++i) indptr_.push_back(i * kDegree);
    for (uint32_t e = 0; e < kRows * kDegree; ++e) {
      indices_.push_back(e % kDegree == 0
                             ? e / kDegree
                             : static_cast<uint32_t>(Scramble(e) % kSources));
    }
    put_indptr_ = OnGpu<uint32_t>(indptr_);
    put_indices_ = OnGpu<uint32_t>(indices_);
    put_sources_ = OnGpu<float>(sources_);
    put_destinations_ = OnGpu<float>(destinations_);
    weights_ = OnGpu<float>(of_weights_.size());
    gradient_ = OnGpu<float>(of_weights_);
    of_destinations_ = OnGpu<float>(destinations_.size());
    args_.indptr = put_indptr_.get();
    args_.indices = put_indices_.get();
    args_.num_lists = kRows;
    args_.heads = kHeads;
    args_.sources = put_sources_.get();
    args_.destinations = put_destinations_.get();
    args_.weights = weights_.get();
  }

  cudaError_t Forward(cudaStream_t stream) const {
    return LaunchEdgeSoftmax(args_, stream);
  }
  cudaError_t Backward(cudaStream_t stream) const {
    return LaunchGradientOfEdgeSoftmax(args_, gradient_.get(),
                                       of_destinations_.get(), stream);
  }

  // Returns the largest error of any number, against f64.
  double LargestError() const {
    const std::vector<float> weights = weights_.Copy();
    const std::vector<float> gradient = gradient_.Copy();
    const std::vector<float> of_destinations = of_destinations_.Copy();
    double largest = 0;
    const auto note = [&](double got, double wanted) {
      const double error = std::abs(got - wanted);
      largest = error > largest || error != error ? error : largest;
    };
    for (uint32_t i = 0; i < kRows; ++i) {
      for (uint32_t h = 0; h < kHeads; ++h) {
        double power[kDegree], slope[kDegree];
        double total = 0, mean = 0, sum = 0;
        for (uint32_t k = 0; k < kDegree; ++k) {
          const uint32_t source = indices_[i * kDegree + k];
          const float score =
              sources_[source * kHeads + h] + destinations_[i * kHeads + h];
          slope[k] = score < 0 ? 0.2 : 1;
          power[k] = std::exp(double{score} * slope[k]);
          total += power[k];
        }
        for (uint32_t k = 0; k < kDegree; ++k) {
          const size_t at = (i * kDegree + k) * kHeads + h;
          mean += power[k] / total * double{of_weights_[at]};
          note(double{weights[at]}, power[k] / total);
        }
        for (uint32_t k = 0; k < kDegree; ++k) {
          const size_t at = (i * kDegree + k) * kHeads + h;
          const double wanted =
              power[k] / total * (double{of_weights_[at]} - mean) * slope[k];
          sum += wanted;
          note(double{gradient[at]}, wanted);
        }
        note(double{of_destinations[i * kHeads + h]}, sum);
      }
    }
    return largest;
  }

 private:
  std::vector<uint32_t> indptr_, indices_;
  std::vector<float> sources_, destinations_, of_weights_;
  OnGpu<uint32_t> put_indptr_, put_indices_;
  OnGpu<float> put_sources_, put_destinations_, weights_, gradient_;
  OnGpu<float> of_destinations_;
  EdgeSoftmaxArgs args_;
};

// Logits and labels of a batch.
class Loss {
 public:
  static constexpr uint32_t kSeeds = 8000;
  static constexpr uint32_t kClasses = 47;

  Loss() : logits_(RandomFloats(kSeeds * kClasses, 7)) {
    for (uint32_t r = 0; r < kSeeds; ++r) labels_.push_back(r % kClasses);
    put_logits_ = OnGpu<float>(logits_);
    put_labels_ = OnGpu<int64_t>(labels_);
    of_rows_ = OnGpu<CrossEntropySum>(kSeeds);
    sum_ = OnGpu<CrossEntropySum>(1);
    args_.labels = put_labels_.get();
    args_.rows = kSeeds;
    args_.num_classes = kClasses;
    args_.scale = 1.0f / kSeeds;
    args_.logits = put_logits_.get();
    args_.of_rows = of_rows_.get();
    args_.sum = sum_.get();
  }

  cudaError_t Compute(cudaStream_t stream) const {
    return LaunchCrossEntropy(args_, stream);
  }

  // Returns the relative error of the loss and of the gradient's norm.
  double LargestError() const {
    const std::vector<float> gradient = put_logits_.Copy();
    double loss = 0, square = 0, norm = 0;
    for (uint32_t r = 0; r < kSeeds; ++r) {
      double total = 0;
      for (uint32_t c = 0; c < kClasses; ++c) {
        total += std::exp(double{logits_[r * kClasses + c]});
      }
      for (uint32_t c = 0; c < kClasses; ++c) {
        const double power =
            std::exp(double{logits_[r * kClasses + c]}) / total;
        const double wanted = (power - (c == labels_[r] ? 1 : 0)) / kSeeds;
        const double error = double{gradient[r * kClasses + c]} - wanted;
        if (c == labels_[r]) loss -= std::log(power);
        square += error * error;
        norm += wanted * wanted;
      }
    }
    return std::max(std::abs(sum_.Copy()[0].loss / loss - 1),
                    std::sqrt(square / norm));
  }

 private:
  std::vector<float> logits_;
  std::vector<int64_t> labels_;
  OnGpu<float> put_logits_;
  OnGpu<int64_t> put_labels_;
  OnGpu<CrossEntropySum> of_rows_, sum_;
  CrossEntropyArgs args_;
};

void CheckAll(const GpuClock& clock, Report* report) {
  CheckDropout(clock, report);
  CheckColumnSums(clock, report);
  const Attention attention;
  Must(attention.Forward(clock.stream()), "softmax");
  Must(attention.Backward(clock.stream()), "gradient of softmax");
  const double of_attention = attention.LargestError();
  report->Check(
      "attention against f64", of_attention < 1e-5,
      "largest error " + Report::Number(of_attention) + ", below 1e-5");
  const Loss loss;
  Must(loss.Compute(clock.stream()), "loss");
  const double of_loss = loss.LargestError();
  report->Check("loss against f64", of_loss < 1e-5,
                "relative error " + Report::Number(of_loss) + ", below 1e-5");
}

void Print(const std::string& name, double bytes, double seconds,
           double memory_rate, Report* report) {
  const double floor = bytes / memory_rate;
  char found[128];
  std::snprintf(
      found, sizeof(found),
      "%.1f us, %.0f GB/s; HBM's floor %.1f us: %.2f of the limit, at "
      "least %.1f",
      seconds * 1e6, bytes / seconds / 1e9, floor * 1e6, floor / seconds,
      kTarget);
  report->Check(name, floor / seconds >= kTarget, found);
}

// 8 batches of 38,000 rows at once: what one moves is over sooner than a
// launch.
void TimeRows(const GpuClock& clock, double memory_rate, uint32_t rows,
              Report* report) {
  const uint64_t count = uint64_t{rows} * kColumns;
  const std::string of = ", " + std::to_string(rows) + " x 256";
  const std::vector<float> numbers = RandomFloats(count, 1);
  std::vector<OnGpu<float>> z, to;
  for (size_t turn = 0; turn < kTurns; ++turn) {
    z.emplace_back(numbers);
    to.emplace_back(numbers);
  }
  const OnGpu<float> row(RandomFloats(kColumns, 2));
  const OnGpu<float> partials(uint64_t{kMostRowChunks} * kColumns);
  const double dropout = clock.Seconds(8, [&](int i) {
    DropoutArgs args = DropoutOf(count);
    args.row = row.get();
    args.from = z[static_cast<size_t>(i) % kTurns].get();
    args.to = to[static_cast<size_t>(i) % kTurns].get();
    return LaunchDropout(args, clock.stream());
  });
  Print("dropout" + of, 8.0 * static_cast<double>(count), dropout, memory_rate,
        report);
  const double gradient = clock.Seconds(8, [&](int i) {
    DropoutGradientArgs args;
    args.activations = to[static_cast<size_t>(i) % kTurns].get();
    args.gradient = z[static_cast<size_t>(i) % kTurns].get();
    args.count = count;
    return LaunchGradientOfDropout(args, clock.stream());
  });
  Print("gradient of dropout" + of, 12.0 * static_cast<double>(count), gradient,
        memory_rate, report);
  const double sums = clock.Seconds(8, [&](int i) {
    ColumnSumsArgs args;
    args.rows = rows;
    args.columns = kColumns;
    args.x = z[static_cast<size_t>(i) % kTurns].get();
    args.partials = partials.get();
    args.out = partials.get() + (kMostRowChunks - 1) * uint64_t{kColumns};
    return LaunchColumnSums(args, clock.stream());
  });
  Print("column sums" + of, 4.0 * static_cast<double>(count), sums, memory_rate,
        report);
}

void TimeAll(const GpuClock& clock, Report* report) {
  const double memory_rate = PrintMemoryRate(clock, report);
  TimeRows(clock, memory_rate, kRows, report);
  TimeRows(clock, memory_rate, 8 * kRows, report);
  const Attention attention;
  const double forward =
      clock.Seconds(8, [&](int) { return attention.Forward(clock.stream()); });
  const double backward =
      clock.Seconds(8, [&](int) { return attention.Backward(clock.stream()); });
  report->Figure("edge softmax, 38k x 6, 4 heads", forward * 1e6, "us",
                 "11 MB through L2; a launch takes about 3 us");
  report->Figure("gradient of edge softmax", backward * 1e6, "us",
                 "15 MB through L2; a launch takes about 3 us");
  const Loss loss;
  const double of_loss =
      clock.Seconds(8, [&](int) { return loss.Compute(clock.stream()); });
  report->Figure("cross-entropy, 8000 x 47", of_loss * 1e6, "us",
                 "3 MB through L2; two launches take about 6 us");
}

void Run(Parts parts, const GpuClock& clock, Report* report) {
  if (parts.checks) CheckAll(clock, report);
  if (parts.times) TimeAll(clock, report);
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  return fgnn::RunParts(argc, argv, fgnn::Run);
}
