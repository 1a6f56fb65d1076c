#include "trainer_service/features/hosts/partitioned_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "shared/base/clock.h"
#include "shared/base/threads/thread.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/trainer_service/features/partitioned_rows.h"

namespace fgnn {
namespace {

constexpr uint64_t kAllRows = PartitionedRows::kRows;
constexpr uint64_t kRowNumbers = PartitionedRows::kColumns;

// A host's folder: an owner's, or the whole dataset.
using Owners = std::vector<std::optional<uint32_t>>;

class PartitionedStoreTest : public testing::Test {
 protected:
  // Makes the store of host `self`, which has the owner's rows of `owners`.
  // Host h serves those of of_hosts[h].
  void Make(uint32_t self, uint32_t owners, const Owners& of_hosts) {
    std::vector<std::shared_ptr<ServedRows>> served;
    for (const auto& owner : of_hosts) {
      served.push_back(rows_->Served(owner, owners));
    }
    MakeWith(self, owners, *of_hosts[self], std::move(served));
  }
  void MakeWith(uint32_t self, uint32_t owners, uint32_t owner,
                std::vector<std::shared_ptr<ServedRows>> served) {
    OwnPart part = rows_->PartOf(owner, owners);
    own_ = rows_->PartOf(owner, owners).index;
    std::unique_ptr<FeatureStore> own = rows_->OwnStore(part);
    store_ = PartitionedStore::Make(std::move(own), std::move(part), patience_)
                 .value();
    const size_t num_hosts = served.size();
    auto links = std::make_unique<FakeRowLinks>(std::move(served));
    links_ = links.get();
    store_->Link({.links = std::move(links),
                  .hosts = NamedHosts(num_hosts, self),
                  .totals = &totals_});
  }
  // One host for each owner.
  void MakeOwners(uint32_t self, uint32_t owners) {
    Owners of_hosts;
    for (uint32_t owner = 0; owner < owners; ++owner) {
      of_hosts.emplace_back(owner);
    }
    Make(self, owners, of_hosts);
  }

  std::vector<GlobalId> All() const {
    std::vector<GlobalId> nodes(kAllRows);
    std::iota(nodes.begin(), nodes.end(), 0);
    return nodes;
  }
  // All vertices whose rows are here, or all others.
  std::vector<GlobalId> Nodes(bool are_own) const {
    std::vector<GlobalId> nodes;
    for (GlobalId v = 0; v < kAllRows; ++v) {
      if (own_->Has(v) == are_own) nodes.push_back(v);
    }
    return nodes;
  }

  // Expects that all reads of the nodes' rows get those of the whole store.
  void ExpectRows(const std::vector<GlobalId>& nodes) {
    const std::unique_ptr<FeatureStore> whole = rows_->Whole();
    ASSERT_EQ(store_->row_bytes(), whole->row_bytes());
    std::vector<float> expected(nodes.size() * kRowNumbers);
    std::vector<std::byte> expected_bytes(nodes.size() * whole->row_bytes());
    FGNN_ASSERT_OK(whole->CopyRows(nodes, expected.data()));
    FGNN_ASSERT_OK(whole->CopyStoredRows(nodes, expected_bytes.data()));
    std::vector<float> rows(expected.size());
    FGNN_ASSERT_OK(store_->CopyRows(nodes, rows.data()));
    EXPECT_EQ(rows, expected);
    std::vector<std::byte> bytes(expected_bytes.size());
    FGNN_ASSERT_OK(store_->CopyStoredRows(nodes, bytes.data()));
    EXPECT_EQ(bytes, expected_bytes);
    for (const int threads : {1, 3}) {
      ThreadTeam team(threads);
      rows.assign(rows.size(), -1);
      FGNN_ASSERT_OK(store_->Extract(nodes, rows.data(), team));
      EXPECT_EQ(rows, expected);
      bytes.assign(bytes.size(), std::byte{1});
      FGNN_ASSERT_OK(store_->LoadStoredRows(nodes, bytes.data(), team));
      EXPECT_EQ(bytes, expected_bytes);
    }
  }

  std::unique_ptr<PartitionedRows> rows_ = std::make_unique<PartitionedRows>();
  RemoteTotals totals_;
  std::optional<OwnRows> own_;
  std::unique_ptr<PartitionedStore> store_;
  FakeRowLinks* links_ = nullptr;
  std::chrono::milliseconds patience_ = std::chrono::hours(1);
};

TEST_F(PartitionedStoreTest, RowsAreThoseOfTheWholeStoreForAnyOwners) {
  for (const uint32_t owners : {2, 3, 64}) {
    for (const uint32_t self : {0U, owners - 1}) {
      MakeOwners(self, owners);
      EXPECT_EQ(store_->num_rows(), kAllRows);
      EXPECT_EQ(store_->data(), nullptr);
      ExpectRows(All());
      ExpectRows(Nodes(/*are_own=*/true));
      ExpectRows(Nodes(/*are_own=*/false));
    }
  }
  ExpectRows({});
  // The same vertex twice, own and not.
  const GlobalId own = Nodes(true).front();
  const GlobalId other = Nodes(false).front();
  ExpectRows({own, other, own, other, other});
}

TEST_F(PartitionedStoreTest, OnlyMissesAreReadAndTheCallerHandlesTheRest) {
  MakeOwners(0, 4);
  const std::vector<GlobalId> nodes = All();
  std::vector<uint32_t> ranks(nodes.size());
  for (size_t i = 0; i < ranks.size(); ++i) {
    ranks[i] = static_cast<uint32_t>(i % 5);
  }
  std::vector<float> rows(nodes.size() * kRowNumbers, -1);
  std::vector<std::atomic<int>> handled(nodes.size());
  ThreadTeam team(2);
  FGNN_ASSERT_OK(store_->ExtractMisses({nodes, ranks, 2}, rows.data(), team,
                                       [&](size_t first, size_t last) {
                                         for (size_t i = first; i < last; ++i)
                                           ++handled[i];
                                       }));
  std::vector<float> expected(rows.size());
  FGNN_ASSERT_OK(rows_->Whole()->CopyRows(nodes, expected.data()));
  for (size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(handled[i], 1) << i;
    EXPECT_EQ(rows[i * kRowNumbers],
              ranks[i] < 2 ? -1 : expected[i * kRowNumbers])
        << i;
  }
  EXPECT_EQ(store_->CountRemote({nodes, ranks, 2}), links_->nodes());
  EXPECT_GT(links_->nodes(), 0U);
}

TEST_F(PartitionedStoreTest, ABatchAsksEachHostOnceAndRowsAreCounted) {
  MakeOwners(1, 3);
  ThreadTeam team(2);
  std::vector<float> rows(kAllRows * kRowNumbers);
  FGNN_ASSERT_OK(store_->Extract(All(), rows.data(), team));
  std::vector<std::byte> bytes(kAllRows * store_->row_bytes());
  FGNN_ASSERT_OK(store_->LoadStoredRows(All(), bytes.data(), team));
  for (const uint32_t host : {0, 2}) EXPECT_EQ(links_->calls(host), 2U);
  EXPECT_EQ(links_->calls(1), 0U);
  const uint64_t remote = 2 * Nodes(/*are_own=*/false).size();
  EXPECT_EQ(links_->nodes(), remote);
  EXPECT_EQ(rows_->sent().rows, remote);
  EXPECT_EQ(rows_->sent().bytes, remote * store_->row_bytes());
  uint64_t counted = 0;
  for (const auto& [host, totals] : totals_.OfHosts()) {
    EXPECT_THAT(host, testing::AnyOf("host0", "host2"));
    EXPECT_EQ(totals.bytes, totals.rows * store_->row_bytes());
    EXPECT_GT(totals.seconds, 0);
    counted += totals.rows;
  }
  EXPECT_EQ(counted, remote);
}

TEST_F(PartitionedStoreTest, AfterABreakOnlyWhatLacksIsAskedForAgain) {
  MakeOwners(0, 2);
  const size_t remote = Nodes(/*are_own=*/false).size();
  links_->BreakAfter(remote / 2);
  const uint64_t before = store_->progress();
  std::vector<float> rows(kAllRows * kRowNumbers);
  ThreadTeam team(1);
  FGNN_ASSERT_OK(store_->Extract(All(), rows.data(), team));
  std::vector<float> expected(rows.size());
  FGNN_ASSERT_OK(rows_->Whole()->CopyRows(All(), expected.data()));
  EXPECT_EQ(rows, expected);
  EXPECT_GT(links_->breaks(), 0U);
  EXPECT_GT(store_->progress(), before);
  // No row came twice.
  EXPECT_EQ(rows_->sent().rows, remote);
  EXPECT_EQ(totals_.OfHosts().at("host1").rows, remote);
}

TEST_F(PartitionedStoreTest, AStopEndsAWaitForAHostAndTheWaitIsProgress) {
  // A host that is away before it has told what it has, and one after that.
  for (const bool has_told : {false, true}) {
    MakeWith(0, 2, 0,
             {rows_->Served(0, 2), has_told ? rows_->Served(1, 2) : nullptr});
    if (has_told) links_->BreakAfter(0);
    absl::Status ended;
    Thread reader("reader", [&] {
      std::vector<float> rows(kAllRows * kRowNumbers);
      ended = store_->CopyRows(All(), rows.data());
    });
    const uint64_t before = store_->progress();
    const Deadline end = DeadlineIn(std::chrono::seconds(60));
    while (store_->progress() < before + 3 || links_->breaks() < 2) {
      ASSERT_LT(MonotonicClock::now(), end);
      std::this_thread::yield();
    }
    store_->Stop();
    reader.Join();
    EXPECT_THAT(ended, Cancelled());
  }
}

TEST_F(PartitionedStoreTest, ATrainersReadWaitsNoLongerThanItsPatience) {
  patience_ = std::chrono::milliseconds(0);
  std::vector<float> rows(kAllRows * kRowNumbers);
  std::vector<std::byte> bytes(kAllRows * 4 * kRowNumbers);
  ThreadTeam team(2);
  const auto expect_unavailable = [&] {
    EXPECT_THAT(store_->Extract(All(), rows.data(), team),
                Unavailable("features of host1", "the link is broken"));
    EXPECT_THAT(store_->LoadStoredRows(All(), bytes.data(), team),
                Unavailable("features of host1"));
  };
  MakeWith(0, 2, 0, {rows_->Served(0, 2), nullptr});
  expect_unavailable();
  MakeOwners(0, 2);
  links_->BreakAfter(0);
  expect_unavailable();
  links_->BreakAfter(kAllRows);
  ExpectRows(All());
  // Rows that come end a break. Each call brings some of them.
  patience_ = std::chrono::minutes(1);
  MakeOwners(0, 2);
  links_->BreakAfter(200);
  EXPECT_THAT(store_->Extract(All(), rows.data(), team), IsOk());
}

TEST_F(PartitionedStoreTest, RowsComeFromTheFirstHostThatHasThem) {
  // Owner 1 is on two hosts; owner 2 on none, but two hosts have all rows.
  Make(1, 4, {std::nullopt, 0, 1, std::nullopt, 1, 3});
  ExpectRows(All());
  for (const uint32_t host : {0, 2, 5}) EXPECT_GT(links_->calls(host), 0U);
  for (const uint32_t host : {1, 3, 4}) EXPECT_EQ(links_->calls(host), 0U);
}

TEST_F(PartitionedStoreTest, HostsThatDoNotFitAreNamed) {
  std::vector<float> row(kRowNumbers);
  const auto read = [&] { return store_->CopyRows({0}, row.data()); };
  Make(0, 4, {0, 1, 3});
  EXPECT_THAT(read(), FailedPrecondition(
                          "no host of the job has the rows of owner 2 of 4"));
  MakeWith(0, 2, 0, {nullptr, rows_->Served(1, 3)});
  EXPECT_THAT(read(), FailedPrecondition("host1 has", "owner 1 of 3",
                                         "this host", "owner 0 of 2"));
  PartitionedRows rounded("f16");
  MakeWith(0, 2, 0, {nullptr, rounded.Served(1, 2)});
  EXPECT_THAT(read(), FailedPrecondition("host1 sends 7 features of type f16"));
}

TEST_F(PartitionedStoreTest, AnErrorOfAnotherHostNamesIt) {
  // Host 1 tells that it is owner 1, and has the rows of none but owner 1
  // of 64.
  class Liar final : public RowLinks {
   public:
    explicit Liar(std::shared_ptr<ServedRows> told) : told_(std::move(told)) {}
    absl::StatusOr<RowsOfHost> Describe(uint32_t,
                                        const std::function<bool()>&) override {
      return told_->Describe();
    }
    absl::Status CopyRows(uint32_t, absl::Span<const GlobalId> nodes,
                          TakeRows take,
                          const std::function<bool()>&) override {
      // One row too many.
      const std::vector<std::byte> rows((nodes.size() + 1) *
                                        told_->row_bytes());
      return take(rows);
    }

   private:
    const std::shared_ptr<ServedRows> told_;
  };
  MakeOwners(0, 2);
  const std::vector<GlobalId> others = Nodes(/*are_own=*/false);
  OwnPart part = rows_->PartOf(0, 2);
  std::unique_ptr<FeatureStore> own = rows_->OwnStore(part);
  store_ = PartitionedStore::Make(std::move(own), std::move(part)).value();
  store_->Link({.links = std::make_unique<Liar>(rows_->Served(1, 2)),
                .hosts = NamedHosts(2, 0)});
  std::vector<float> rows(kAllRows * kRowNumbers);
  EXPECT_THAT(store_->CopyRows(others, rows.data()),
              DataLoss("features of host1: it sent other rows"));
  // What a host says of a row that it does not have.
  std::vector<std::byte> bytes(rows_->Whole()->row_bytes());
  EXPECT_THAT(rows_->Served(0, 2)->CopyRows({others.front()}, bytes.data()),
              InvalidArgument("owner 0 of 2", "not that of global id"));
  EXPECT_THAT(rows_->Served(0, 2)->CopyRows({kAllRows}, bytes.data()),
              InvalidArgument("not that of global id 3000"));
  EXPECT_THAT(
      rows_->Served(std::nullopt, 2)->CopyRows({kAllRows}, bytes.data()),
      InvalidArgument("global id 3000"));
}

TEST_F(PartitionedStoreTest, RoundedRowsAreThoseOfTheWholeStoreToo) {
  for (const std::string wire : {"f16", "bf16"}) {
    rows_ = std::make_unique<PartitionedRows>(wire);
    MakeOwners(1, 2);
    EXPECT_EQ(NameOf(store_->type()), wire);
    EXPECT_EQ(store_->row_bytes(), 2 * kRowNumbers);
    ExpectRows(All());
  }
}

TEST_F(PartitionedStoreTest, WithoutLinksRowsOfOthersAreZeros) {
  MakeOwners(0, 2);
  OwnPart part = rows_->PartOf(0, 2);
  std::unique_ptr<FeatureStore> own = rows_->OwnStore(part);
  store_ = PartitionedStore::Make(std::move(own), std::move(part)).value();
  ExpectRows(Nodes(/*are_own=*/true));
  const std::vector<GlobalId> others = Nodes(/*are_own=*/false);
  std::vector<float> rows(others.size() * kRowNumbers, 1);
  FGNN_ASSERT_OK(store_->CopyRows(others, rows.data()));
  EXPECT_THAT(rows, testing::Each(0));
}

}  // namespace
}  // namespace fgnn
