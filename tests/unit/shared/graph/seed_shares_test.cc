#include "shared/graph/book/seed_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "shared/minibatch/batches_per_epoch.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/shared/graph/dataset_folder.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

constexpr uint64_t kBook = 0xc0ffee;

// Returns the host of each fine part.
std::vector<uint32_t> HostsOfParts(const std::vector<HostOfShare>& hosts) {
  const SeedShares shares = MakeSeedShares(kBook, hosts);
  return {shares.share_of_part.begin(), shares.share_of_part.end()};
}

TEST(SeedSharesTest, WholeFoldersShareAllParts) {
  for (uint32_t num_hosts = 1; num_hosts <= 8; ++num_hosts) {
    const std::vector<uint32_t> hosts =
        HostsOfParts(std::vector<HostOfShare>(num_hosts, {.num_places = 1}));
    for (uint32_t part = 0; part < kFineParts; ++part) {
      EXPECT_EQ(hosts[part], OwnerOfPart(part, num_hosts)) << part;
    }
  }
}

TEST(SeedSharesTest, AHostWithoutPlacesHasNoParts) {
  const std::vector<uint32_t> hosts =
      HostsOfParts({{.num_places = 1}, {.num_places = 0}, {.num_places = 3}});
  EXPECT_EQ(hosts[31], 0U);
  EXPECT_EQ(hosts[32], 2U);
  EXPECT_THAT(hosts, testing::Each(testing::Ne(1U)));
}

HostOfShare OwnerOf4(uint32_t owner, uint64_t num_places = 1) {
  return {.num_places = num_places,
          .rows = HostRows{.book = kBook, .owners = 4, .owner = owner}};
}

TEST(SeedSharesTest, AHostFolderHasItsOwnersParts) {
  const std::vector<uint32_t> hosts =
      HostsOfParts({OwnerOf4(2), OwnerOf4(0), OwnerOf4(3), OwnerOf4(1)});
  const std::vector<uint32_t> host_of_owner = {1, 3, 0, 2};
  for (uint32_t part = 0; part < kFineParts; ++part) {
    EXPECT_EQ(hosts[part], host_of_owner[OwnerOfPart(part, 4)]) << part;
  }
}

TEST(SeedSharesTest, PartsWithoutAnOwnerGoToWholeFolders) {
  const std::vector<uint32_t> hosts = HostsOfParts(
      {OwnerOf4(3), {.num_places = 1}, OwnerOf4(0, 0), {.num_places = 1}});
  for (uint32_t part = 0; part < kFineParts; ++part) {
    EXPECT_EQ(hosts[part], part >= 48 ? 0U : part < 24 ? 1U : 3U) << part;
  }
}

TEST(SeedSharesTest, PartsWithoutAnOwnerGoToAllWhereNoFolderIsWhole) {
  const std::vector<uint32_t> hosts = HostsOfParts({OwnerOf4(3), OwnerOf4(0)});
  for (uint32_t part = 0; part < kFineParts; ++part) {
    EXPECT_EQ(hosts[part], part < 16   ? 1U
                           : part < 32 ? 0U
                           : part < 48 ? 1U
                                       : 0U)
        << part;
  }
}

SeedShares SharesOf(std::vector<uint64_t> places) {
  std::vector<HostOfShare> hosts;
  for (const uint64_t count : places) hosts.push_back({.num_places = count});
  return MakeSeedShares(kBook, hosts);
}

TEST(SeedSharesTest, OneShareHasTheEpochOfAllTrainVertices) {
  for (const uint64_t places : {1, 2, 5}) {
    for (uint64_t train = 1; train < 40; ++train) {
      EXPECT_EQ(OwnBatchesPerEpoch(SharesOf({places}), {train}, 4),
                BatchesPerEpoch(train, 4));
    }
  }
}

// The batches of an epoch, dealt out one by one.
TEST(SeedSharesTest, AnEpochEndsOnceTheLastShareHasHadAll) {
  struct Case {
    std::vector<uint64_t> places;
    std::vector<uint64_t> train;
  };
  for (const Case& c : {Case{{1, 1}, {10, 30}}, Case{{1, 1}, {30, 10}},
                        Case{{3, 1}, {30, 30}}, Case{{1, 0, 2}, {9, 0, 41}},
                        Case{{2, 1}, {0, 7}}, Case{{1, 2, 1}, {1, 1, 1}}}) {
    const SeedShares shares = SharesOf(c.places);
    const uint64_t batches = OwnBatchesPerEpoch(shares, c.train, 4);
    std::vector<uint64_t> dealt(c.places.size());
    uint64_t needed = 0;  // Batches until the last share has had all.
    for (uint64_t batch = 0; batch < batches; ++batch) {
      const ShareBatch own = ShareBatchOf(shares, batch);
      ASSERT_LT(own.share, dealt.size());
      EXPECT_EQ(own.number, dealt[own.share]++);
      if (dealt[own.share] == BatchesPerEpoch(c.train[own.share], 4)) {
        needed = batch + 1;
      }
    }
    EXPECT_EQ(batches, needed) << testing::PrintToString(c.places);
    for (size_t share = 0; share < dealt.size(); ++share) {
      EXPECT_GE(dealt[share], BatchesPerEpoch(c.train[share], 4));
    }
  }
}

TEST(SeedSharesTest, PlacesInARowAreOfAShare) {
  const SeedShares shares = SharesOf({2, 0, 1});
  std::vector<uint32_t> of_batches;
  for (uint64_t batch = 0; batch < 6; ++batch) {
    of_batches.push_back(ShareBatchOf(shares, batch).share);
  }
  EXPECT_THAT(of_batches, testing::ElementsAre(0, 0, 2, 0, 0, 2));
}

TEST(SeedSharesTest, ReadsItsOwnText) {
  const SeedShares shares = SharesOf({2, 0, 1});
  EXPECT_EQ(SeedSharesFromText(ToText(shares)), shares);
  const std::string text = ToText(shares);
  for (const std::string& wrong :
       {std::string(), std::string("x 1 0"), text + ",0", text + " ",
        "x" + text, text.substr(0, text.size() - 1) + "3"}) {
    EXPECT_EQ(SeedSharesFromText(wrong), std::nullopt) << wrong;
  }
}

TEST(SeedSharesTest, RefusesSharesOfAnotherStep) {
  EXPECT_THAT(CheckSeedShares(SharesOf({2, 0, 1}), 3), IsOk());
  EXPECT_THAT(CheckSeedShares(SharesOf({2, 0, 1}), 4),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("training.batches_per_step is 4")));
  SeedShares beyond = SharesOf({2, 0, 1});
  beyond.places = {UINT64_MAX, 0, 4};
  EXPECT_THAT(CheckSeedShares(beyond, 3), InvalidArgument());
  SeedShares shares = SharesOf({2, 0, 1});
  for (const uint8_t without_places : {1, 3, 255}) {
    shares.share_of_part[5] = without_places;
    EXPECT_THAT(CheckSeedShares(shares, 3), InvalidArgument());
  }
}

TEST(SeedSharesTest, NamesBothBooks) {
  EXPECT_THAT(CheckSameBook(SharesOf({1}), kBook, "d"), IsOk());
  const absl::Status other = CheckSameBook(SharesOf({1}), 0xbad, "d");
  EXPECT_THAT(other, StatusIs(absl::StatusCode::kFailedPrecondition,
                              testing::AllOf(HasSubstr("0000000000c0ffee"),
                                             HasSubstr("0000000000000bad"))));
}

using PartsOfTrainTest = DatasetTest;

TEST_F(PartsOfTrainTest, AreThoseOfTheBook) {
  Write();  // Vertices 3 and 0 are trained.
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(folder(), Validation::kShapes));
  FGNN_ASSERT_OK(
      PartitionBook::Save(dataset, std::vector<uint8_t>{5, 1, 2, 40}));
  FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook book,
                            PartitionBook::Open(dataset));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::vector<uint8_t> parts,
                            PartsOfTrain(book, dataset));
  EXPECT_THAT(parts, testing::ElementsAre(40, 5));
}

TEST_F(PartsOfTrainTest, NamesAVertexThatIsNone) {
  content_.train = {3, 4};
  Write();
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset,
                            Dataset::Open(folder(), Validation::kShapes));
  FGNN_ASSERT_OK(PartitionBook::Save(dataset, std::vector<uint8_t>(4)));
  FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook book,
                            PartitionBook::Open(dataset));
  EXPECT_THAT(
      PartsOfTrain(book, dataset),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("train.npy")));
}

TEST(SeedSharesTest, CountsTheTrainVerticesOfAShare) {
  std::vector<uint64_t> train_of_parts(kFineParts);
  std::iota(train_of_parts.begin(), train_of_parts.end(), uint64_t{0});
  EXPECT_THAT(TrainOfShares(SharesOf({1, 0, 1}), train_of_parts),
              testing::ElementsAre(31 * 16, 0, 95 * 16));
}

}  // namespace
}  // namespace fgnn
