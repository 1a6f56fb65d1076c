// What exchanges serve beside their boards: results of evaluations, and rows of
// features.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/exchange/exchange_servers.h"
#include "tests/unit/trainer_service/exchange/trading_host.h"
#include "trainer_service/exchange/chunk_trade.h"
#include "trainer_service/rpc/grpc_chunk_links.h"

namespace fgnn {
namespace {

using absl::StatusCode;

class ServedStreamsTest : public ExchangeServers {
 protected:
  // Asks for the results of an evaluation.
  absl::Status AskChunks(const Credentials& credentials,
                         uint64_t evaluation = kEvaluation) const {
    v1::AskChunksRequest request;
    request.set_job_id(kJob);
    request.set_evaluation(evaluation);
    const auto [ended, parts] =
        Call(credentials, &v1::ChunkService::Stub::AskChunks, request);
    EXPECT_EQ(!parts.empty() && parts.back().has_crc(), ended.ok());
    return ended;
  }
  // Asks for rows of features, and for what host 0 has.
  std::pair<absl::Status, std::vector<v1::RowsPart>> AskRows(
      const Credentials& credentials, const std::string& nodes,
      const std::string& job = kJob) const {
    v1::AskRowsRequest request;
    request.set_job_id(job);
    request.set_nodes(nodes);
    return Call(credentials, &v1::RowService::Stub::AskRows, request);
  }
  absl::Status DescribeRows(const Credentials& credentials) const {
    v1::RowService::Stub stub(
        grpc::CreateChannel(list_.all[0].exchange, credentials));
    grpc::ClientContext context;
    SetDeadline(context, std::chrono::seconds(60));
    v1::DescribeRowsRequest request;
    request.set_job_id(kJob);
    v1::DescribeRowsResponse response;
    return FromGrpc(stub.DescribeRows(&context, request, &response));
  }
  // The store of a trainer of that host.
  std::unique_ptr<PartitionedStore> StoreOf(uint32_t host) {
    OwnPart part = rows_.PartOf(host, static_cast<uint32_t>(list_.all.size()));
    std::unique_ptr<FeatureStore> own = rows_.OwnStore(part);
    auto store =
        PartitionedStore::Make(std::move(own), std::move(part)).value();
    store->Link(
        {.links = LinkRows(kJob, HostsOf(host),
                           ReadHostCertificate(exchanges_[host].folder).value())
                      .value(),
         .hosts = HostsOf(host)});
    return store;
  }
  std::unique_ptr<ChunkLinks> ChunkLinksOf(size_t host) const {
    return LinkChunks(kJob, HostsOf(host),
                      ReadHostCertificate(exchanges_[host].folder).value())
        .value();
  }
};

TEST_F(ServedStreamsTest, ChunksOfAnEvaluationComeFromTheOtherHosts) {
  Start(StepsOfFour(), {2, 2});
  TradingHost zero(2, 0);
  TradingHost one(2, 1);
  const auto links = ChunkLinksOf(1);
  ChunkTotals totals;
  std::atomic<bool> is_over = false;
  // It asks before the other host has the evaluation, and its link breaks.
  Thread follower =
      Thread::Start("follower", [&] {
        EXPECT_THAT(FollowChunks(&one.board(), links.get(), 0, &totals,
                                 [&] { return is_over.load(); }),
                    IsOk());
      }).value();
  const absl::Cleanup end = [&] { is_over = true; };
  one.ComputeAll();
  exchanges_[0].chunks.Put(zero.served());
  zero.Compute(0);
  FGNN_ASSERT_OK(one.board().WaitForAll(0, UntilFarDeadline()));
  ServeAgain(0);
  zero.Compute(1);
  FGNN_ASSERT_OK(one.board().WaitForAll(1, UntilFarDeadline()));
  EXPECT_EQ(one.NumRight(), kAllChunks);
  follower.Join();  // It ends by itself, once it has seen that all are there.
}

TEST_F(ServedStreamsTest, StrangersGetNoChunks) {
  Start(StepsOfFour(), {2, 2});
  TradingHost zero(2, 0);
  zero.ComputeAll();
  exchanges_[0].chunks.Put(zero.served());
  const auto folder = exchanges_[1].folder;
  const auto mine = Shown(folder / "host.pem", folder / "host.key");
  EXPECT_THAT(AskChunks(mine), IsOk());
  EXPECT_THAT(AskChunks(mine, kEvaluation + 1),
              StatusIs(StatusCode::kNotFound));
  const auto user = made_->User("ann", "submit");
  EXPECT_THAT(AskChunks(Shown(user / "user.pem", user / "user.key")),
              StatusIs(StatusCode::kPermissionDenied));
}

TEST_F(ServedStreamsTest, RowsOfFeaturesComeFromTheirHosts) {
  Start(StepsOfFour(), {2, 1, 1});
  const auto store = StoreOf(1);
  // More ids than a message has room for.
  std::vector<GlobalId> nodes(1'000'000);
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i] = static_cast<GlobalId>(i % PartitionedRows::kRows);
  }
  std::vector<float> expected(nodes.size() * PartitionedRows::kColumns);
  FGNN_ASSERT_OK(rows_.Whole()->CopyRows(nodes, expected.data()));
  // Host 0 is away at first, and is another process the second time.
  const HostPort address = exchanges_[0].server->address();
  exchanges_[0].server.reset();
  ThreadTeam team(2);
  for (int time = 0; time < 2; ++time) {
    std::vector<float> rows(expected.size());
    Thread reader("reader", [&] {
      EXPECT_THAT(store->Extract(nodes, rows.data(), team), IsOk());
    });
    const uint64_t progress = store->progress();
    const Deadline end = FarDeadline();
    while (store->progress() < progress + 3) {
      ASSERT_LT(MonotonicClock::now(), end);
      std::this_thread::yield();
    }
    if (time == 0) {
      Serve(0, address);
    } else {
      ServeAgain(0);
    }
    reader.Join();
    EXPECT_EQ(rows, expected);
  }
}

TEST_F(ServedStreamsTest, AStopEndsAWaitForRows) {
  Start(StepsOfFour(), {2, 2});
  const auto store = StoreOf(1);
  exchanges_[0].server.reset();
  Thread reader("reader", [&] {
    std::vector<float> rows(PartitionedRows::kRows * PartitionedRows::kColumns);
    std::vector<GlobalId> nodes(PartitionedRows::kRows);
    std::iota(nodes.begin(), nodes.end(), 0);
    EXPECT_THAT(store->CopyRows(nodes, rows.data()), Cancelled());
  });
  const Deadline end = FarDeadline();
  while (store->progress() < 3) {
    ASSERT_LT(MonotonicClock::now(), end);
    std::this_thread::yield();
  }
  store->Stop();
}

TEST_F(ServedStreamsTest, StrangersGetNoRows) {
  Start(StepsOfFour(), {2, 2});
  const auto folder = exchanges_[1].folder;
  const auto mine = Shown(folder / "host.pem", folder / "host.key");
  const OwnPart part = rows_.PartOf(0, 2);
  std::string here;   // The id of a vertex whose row host 0 has.
  std::string other;  // That of one whose row it does not have.
  for (GlobalId v = 0; v < PartitionedRows::kRows; ++v) {
    (part.index.Has(v) ? here : other)
        .assign(reinterpret_cast<const char*>(&v), sizeof(v));
  }
  const auto [ended, parts] = AskRows(mine, here);
  EXPECT_THAT(ended, IsOk());
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_EQ(parts[0].rows().size(), rows_.Whole()->row_bytes());
  EXPECT_THAT(DescribeRows(mine), IsOk());
  EXPECT_THAT(AskRows(mine, here, "another").first,
              StatusIs(StatusCode::kNotFound));
  for (const std::string& wrong : {other, here + "x"}) {
    EXPECT_THAT(AskRows(mine, wrong).first,
                StatusIs(StatusCode::kInvalidArgument));
  }
  for (const std::string role : {"submit", "operate"}) {
    const auto user = made_->User(absl::StrCat("ann-", role), role);
    const auto shown = Shown(user / "user.pem", user / "user.key");
    EXPECT_THAT(AskRows(shown, here).first,
                StatusIs(StatusCode::kPermissionDenied));
    EXPECT_THAT(DescribeRows(shown), StatusIs(StatusCode::kPermissionDenied));
  }
}

}  // namespace
}  // namespace fgnn
