#include "trainer_service/features/rounded_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/fakes/status_matchers.h"
#include "trainer_service/features/cpu/mapped_feature_store.h"

namespace fgnn {
namespace {

constexpr uint64_t kOfOneRow = 3;

class RoundedStoreTest : public testing::Test {
 protected:
  std::unique_ptr<FeatureStore> Stored(
      FeatureType type = FeatureType::kFloat32) const {
    return MakeMappedFeatureStore(
        {reinterpret_cast<const std::byte*>(numbers_.data()), type, 2,
         kOfOneRow});
  }

  // 1 + 2^-12 and 1 + 2^-9: f16 has 2^-10 of a 1, bf16 has 2^-7.
  std::vector<float> numbers_ = {
      1.0F + 0x1p-12F, 1.0F + 0x1p-9F, -2.0F, 0.5F, 0.0F, 70'000.0F};
  std::vector<GlobalId> first_ = {0, 0};
};

TEST_F(RoundedStoreTest, EveryReadGetsRoundedRows) {
  for (const auto& [wire, second] : std::vector<std::pair<std::string, float>>{
           {"f16", 1.0F + 0x1p-9F}, {"bf16", 1.0F}}) {
    FGNN_ASSERT_OK_AND_ASSIGN(const auto store, RoundAsWire(Stored(), wire));
    EXPECT_EQ(NameOf(store->type()), wire);
    EXPECT_EQ(store->row_bytes(), 2 * kOfOneRow);
    EXPECT_EQ(store->data(), nullptr);
    const std::vector<float> expected = {1, second, -2, 1, second, -2};
    std::vector<float> rows(expected.size());
    FGNN_ASSERT_OK(store->CopyRows(first_, rows.data()));
    EXPECT_EQ(rows, expected);
    ThreadTeam team(2);
    rows.assign(rows.size(), 0);
    FGNN_ASSERT_OK(store->Extract(first_, rows.data(), team));
    EXPECT_EQ(rows, expected);
    // Stored rows, read as those of a dataset of that type.
    std::vector<std::byte> bytes(2 * store->row_bytes());
    FGNN_ASSERT_OK(store->LoadStoredRows(first_, bytes.data(), team));
    rows.assign(rows.size(), 0);
    FGNN_ASSERT_OK(
        MakeMappedFeatureStore({bytes.data(), store->type(), 2, kOfOneRow})
            ->CopyRows({0, 1}, rows.data()));
    EXPECT_EQ(rows, expected);
  }
}

TEST_F(RoundedStoreTest, RowsThatAreNoMissesStayAsTheyAre) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto store, RoundAsWire(Stored(), "f16"));
  std::vector<float> rows(2 * kOfOneRow, 1.0F + 0x1p-12F);
  const std::vector<uint32_t> ranks = {0, 9};
  ThreadTeam team(1);
  FGNN_ASSERT_OK(store->ExtractMisses({first_, ranks, 1}, rows.data(), team,
                                      [](size_t, size_t) {}));
  EXPECT_EQ(rows[0], 1.0F + 0x1p-12F);
  EXPECT_EQ(rows[kOfOneRow], 1.0F);
}

TEST_F(RoundedStoreTest, ANumberThatIsTooLargeIsNamed) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto store, RoundAsWire(Stored(), "f16"));
  std::vector<float> rows(kOfOneRow);
  EXPECT_THAT(store->CopyRows({1}, rows.data()),
              InvalidArgument("features.wire is f16", "row 1", "70000",
                              "use stored or bf16"));
  std::vector<std::byte> bytes(store->row_bytes());
  EXPECT_THAT(store->CopyStoredRows({1}, bytes.data()), InvalidArgument());
  ThreadTeam team(1);
  EXPECT_THAT(store->Extract(std::vector<GlobalId>{1}, rows.data(), team),
              InvalidArgument());
  FGNN_ASSERT_OK_AND_ASSIGN(const auto wide, RoundAsWire(Stored(), "bf16"));
  EXPECT_THAT(wide->CopyRows({1}, rows.data()), IsOk());
}

TEST_F(RoundedStoreTest, RowsOfSixteenBitsAreNotRoundedAgain) {
  std::unique_ptr<FeatureStore> stored = Stored();
  const FeatureStore* const as_it_was = stored.get();
  EXPECT_EQ(RoundAsWire(std::move(stored), "stored").value().get(), as_it_was);
  for (const FeatureType type :
       {FeatureType::kFloat16, FeatureType::kBfloat16}) {
    const std::string own(NameOf(type));
    const std::string other = own == "f16" ? "bf16" : "f16";
    EXPECT_EQ(RoundAsWire(Stored(type), own).value()->type(), type);
    EXPECT_THAT(RoundAsWire(Stored(type), other),
                InvalidArgument("features.wire is " + other,
                                "stores " + own + "; use stored"));
  }
}

}  // namespace
}  // namespace fgnn
