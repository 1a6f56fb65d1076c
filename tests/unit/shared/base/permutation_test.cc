#include "shared/base/permutation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace fgnn {
namespace {

PhiloxKey Key(uint64_t epoch) {
  return MakePhiloxKey(/*seed=*/1, epoch, /*batch=*/0, /*hop=*/0,
                       Purpose::kSeedPermutation);
}

TEST(KeyedPermutationTest, IsABijectionForEverySmallSize) {
  for (uint64_t n = 1; n <= 300; ++n) {
    SCOPED_TRACE(n);
    const KeyedPermutation permutation(n, Key(n));
    std::vector<bool> seen(n);
    for (uint64_t place = 0; place < n; ++place) {
      const uint64_t value = permutation(place);
      ASSERT_LT(value, n);
      ASSERT_FALSE(seen[value]) << value << " comes twice";
      seen[value] = true;
    }
  }
}

TEST(KeyedPermutationTest, IsABijectionAroundPowersOfTwo) {
  for (const uint64_t n : {65'535, 65'536, 65'537, 262'145}) {
    SCOPED_TRACE(n);
    const KeyedPermutation permutation(n, Key(3));
    std::vector<bool> seen(n);
    uint64_t distinct = 0;
    for (uint64_t place = 0; place < n; ++place) {
      const uint64_t value = permutation(place);
      ASSERT_LT(value, n);
      distinct += seen[value] ? 0 : 1;
      seen[value] = true;
    }
    EXPECT_EQ(distinct, n);
  }
}

TEST(KeyedPermutationTest, StaysInRangeForTheLargestSize) {
  constexpr uint64_t kLargest = uint64_t{1} << 62;
  const KeyedPermutation permutation(kLargest, Key(0));
  for (uint64_t place = 0; place < 1'000; ++place) {
    EXPECT_LT(permutation(place), kLargest);
    EXPECT_LT(permutation(kLargest - 1 - place), kLargest);
  }
}

TEST(KeyedPermutationTest, DependsOnSizeAndKeyAlone) {
  const KeyedPermutation a(1'000, Key(5));
  const KeyedPermutation b(1'000, Key(5));
  for (uint64_t place = 0; place < 1'000; ++place) {
    ASSERT_EQ(a(place), b(place));
  }
}

// Over many keys each value comes to each place equally often: chi-square with
// (n - 1)^2 degrees of freedom, accepted within six standard deviations.
TEST(KeyedPermutationTest, PutsEveryValueAtEveryPlaceEquallyOften) {
  constexpr uint64_t kSize = 12;
  constexpr uint64_t kKeys = 12'000;
  std::vector<double> counts(kSize * kSize);
  for (uint64_t epoch = 0; epoch < kKeys; ++epoch) {
    const KeyedPermutation permutation(kSize, Key(epoch));
    for (uint64_t place = 0; place < kSize; ++place) {
      ++counts[place * kSize + permutation(place)];
    }
  }
  const double expected = static_cast<double>(kKeys) / kSize;
  double chi_square = 0;
  for (const double count : counts) {
    chi_square += (count - expected) * (count - expected) / expected;
  }
  const double freedom = (kSize - 1) * (kSize - 1);
  EXPECT_NEAR(chi_square, freedom, 6 * std::sqrt(2 * freedom));
}

// A shuffled sequence leaves no trace of its order.
TEST(KeyedPermutationTest, NeighbouringPlacesAreNotCorrelated) {
  constexpr uint64_t kSize = 100'000;
  const KeyedPermutation permutation(kSize, Key(9));
  const double mean = (kSize - 1) / 2.0;
  const double variance = (static_cast<double>(kSize) * kSize - 1) / 12.0;
  double with_next = 0;
  double with_place = 0;
  for (uint64_t place = 0; place + 1 < kSize; ++place) {
    const double value = static_cast<double>(permutation(place)) - mean;
    with_next += value * (static_cast<double>(permutation(place + 1)) - mean);
    with_place += value * (static_cast<double>(place) - mean);
  }
  const double six_deviations = 6 / std::sqrt(static_cast<double>(kSize));
  EXPECT_NEAR(with_next / variance / kSize, 0, six_deviations);
  EXPECT_NEAR(with_place / variance / kSize, 0, six_deviations);
}

}  // namespace
}  // namespace fgnn
