#include "trainer_service/features/feature_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"

namespace fgnn {
namespace {

// The value of 16 bits by IEEE 754's definition.
double Float16(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

FeatureView ViewOf(const void* data, FeatureType type, uint64_t rows,
                   uint64_t columns) {
  return {static_cast<const std::byte*>(data), type, rows, columns};
}

bool SameNumber(float a, double b) {
  if (std::isnan(b)) return std::isnan(a);
  return static_cast<double>(a) == b && std::signbit(a) == std::signbit(b);
}

TEST(FeatureStoreTest, WidensEveryFloat16) {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  const auto store = MakeMappedFeatureStore(
      ViewOf(bits.data(), FeatureType::kFloat16, 256, 256));
  std::vector<GlobalId> nodes(256);
  for (GlobalId v = 0; v < 256; ++v) nodes[v] = v;
  std::vector<float> rows(65536);
  FGNN_ASSERT_OK(store->CopyRows(nodes, rows.data()));
  for (size_t i = 0; i < rows.size(); ++i) {
    ASSERT_TRUE(SameNumber(rows[i], Float16(bits[i]))) << "bits " << i;
  }
}

TEST(FeatureStoreTest, WidensBfloat16) {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  const auto store = MakeMappedFeatureStore(
      ViewOf(bits.data(), FeatureType::kBfloat16, 1, 65536));
  std::vector<float> row(65536);
  const GlobalId node = 0;
  FGNN_ASSERT_OK(store->CopyRows({&node, 1}, row.data()));
  for (size_t i = 0; i < row.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(row[i]), bits[i] << 16);
  }
}

TEST(FeatureStoreTest, ExtractsRowsInTheOrderOfTheirNodes) {
  constexpr uint64_t kRows = 1000;
  ThreadTeam team(3);
  for (const uint64_t columns : {1, 3, 16, 37, 700}) {
    std::vector<float> features(kRows * columns);
    for (size_t i = 0; i < features.size(); ++i) {
      features[i] = static_cast<float>(i);
    }
    const auto store = MakeMappedFeatureStore(
        ViewOf(features.data(), FeatureType::kFloat32, kRows, columns));
    for (const size_t count : {0, 1, 511, 512, 513, 4000}) {
      SCOPED_TRACE(testing::Message() << columns << " columns, " << count);
      std::vector<GlobalId> nodes(count);
      for (size_t i = 0; i < count; ++i) {
        nodes[i] = static_cast<GlobalId>((i * 7919 + 999) % kRows);
      }
      // One float more shows a write behind the end.
      std::vector<float> rows(count * columns + 1, -1);
      FGNN_ASSERT_OK(store->Extract(nodes, rows.data(), team));
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(0,
                  std::memcmp(&rows[i * columns], &features[nodes[i] * columns],
                              columns * sizeof(float)));
      }
      EXPECT_EQ(rows.back(), -1);
    }
  }
}

TEST(FeatureStoreTest, RefusesANodeThatHasNoRow) {
  const std::vector<float> features(20);
  ThreadTeam team(1);
  const auto store = MakeMappedFeatureStore(
      ViewOf(features.data(), FeatureType::kFloat32, 10, 2));
  std::vector<float> rows(6);
  const std::vector<GlobalId> nodes = {0, 10, 9};
  EXPECT_THAT(store->Extract(nodes, rows.data(), team),
              InvalidArgument("global id 10"));
}

}  // namespace
}  // namespace fgnn
