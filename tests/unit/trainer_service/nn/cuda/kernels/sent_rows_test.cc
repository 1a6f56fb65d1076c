#include "trainer_service/nn/cuda/kernels/sent_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/nn/cuda/kernels/random_lists.h"
#include "tests/unit/trainer_service/test_gpu.h"
#include "trainer_service/compute/numbers.h"

namespace fgnn {
namespace {

constexpr uint32_t kRows = 300;

// Numbers of a kind, by their bits: -0 and 0 differ.
struct Floats {
  using Bits = uint32_t;
  static constexpr FeatureType kType = FeatureType::kFloat32;
  static Bits Of(float number) { return std::bit_cast<uint32_t>(number); }
  static Bits Sum(Bits a, Bits b) {
    return Of(std::bit_cast<float>(a) + std::bit_cast<float>(b));
  }
};
struct Bfloat16s {
  using Bits = uint16_t;
  static constexpr FeatureType kType = FeatureType::kBfloat16;
  static Bits Of(float number) { return RoundToBfloat16(number).bits; }
  static Bits Sum(Bits a, Bits b) {
    return Of(Widen(Bfloat16{a}) + Widen(Bfloat16{b}));
  }
};

template <typename Kind>
std::vector<typename Kind::Bits> Numbers(uint64_t count, uint64_t seed) {
  std::vector<typename Kind::Bits> numbers;
  for (const float value : RandomFloats(count, seed)) {
    numbers.push_back(Kind::Of(value));
  }
  return numbers;
}

// Ascending, as those of a receiver are.
std::vector<uint32_t> Places(uint32_t count) {
  std::vector<uint32_t> all(kRows);
  std::iota(all.begin(), all.end(), 0U);
  std::vector<uint32_t> places;
  std::sample(all.begin(), all.end(), std::back_inserter(places), count,
              std::mt19937(count));
  return places;
}

template <typename Kind>
void ExpectTakenAndAdded(uint64_t interleaving) {
  for (const uint32_t columns : {1U, 2U, 3U, 4U, 8U, 33U, 64U, 130U, 520U}) {
    for (const uint32_t count : {0U, 1U, 31U, 257U}) {
      SCOPED_TRACE(absl::StrCat(count, " rows of ", columns));
      TestGpu gpu(interleaving);
      const auto places = Places(count);
      auto x = Numbers<Kind>(uint64_t{kRows} * columns, 1);
      auto sent = Numbers<Kind>(uint64_t{count} * columns, 2);
      SentRowsArgs args;
      args.places = gpu.Put(places);
      args.count = count;
      args.columns = columns;
      args.type = Kind::kType;
      auto* const x_there = gpu.Put(x);
      auto* const sent_there = gpu.Put(sent);
      args.x = x_there;
      args.sent = sent_there;
      ASSERT_EQ(LaunchAddSentRows(args, gpu.stream()), cudaSuccess);
      for (uint64_t i = 0; i < sent.size(); ++i) {
        auto& to = x[uint64_t{places[i / columns]} * columns + i % columns];
        to = Kind::Sum(to, sent[i]);
      }
      EXPECT_EQ(gpu.Get(x_there, x.size()), x);
      EXPECT_EQ(gpu.Get(sent_there, sent.size()), sent);
      ASSERT_EQ(LaunchTakeSentRows(args, gpu.stream()), cudaSuccess);
      for (uint64_t i = 0; i < sent.size(); ++i) {
        sent[i] = x[uint64_t{places[i / columns]} * columns + i % columns];
      }
      EXPECT_EQ(gpu.Get(sent_there, sent.size()), sent);
      EXPECT_EQ(gpu.Get(x_there, x.size()), x);
    }
  }
}

class SentRowsTest : public testing::TestWithParam<uint64_t> {};

TEST_P(SentRowsTest, FloatsAreTakenAndAddedWithTheCpusBits) {
  ExpectTakenAndAdded<Floats>(GetParam());
}

TEST_P(SentRowsTest, Bfloat16sAreTakenAndAddedWithTheCpusBits) {
  ExpectTakenAndAdded<Bfloat16s>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Interleavings, SentRowsTest,
                         testing::Range(uint64_t{0}, kInterleavings));

TEST(SentRowsErrorsTest, RefusesWhatItCannotCompute) {
  TestGpu gpu;
  SentRowsArgs args;
  args.x = args.sent = gpu.Room<float>(4);
  args.type = FeatureType::kFloat16;
  EXPECT_EQ(LaunchTakeSentRows(args, gpu.stream()), cudaErrorInvalidValue);
  args.type = FeatureType::kFloat32;
  args.columns = 0;
  EXPECT_EQ(LaunchAddSentRows(args, gpu.stream()), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace fgnn
