// The exchanges of a job's hosts in one process, which reach each other by TLS
// over the loopback.
#include "trainer_service/rpc/exchange_server.h"

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <cmath>
#include <deque>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "fgnn/v1/exchange.grpc.pb.h"
#include "shared/base/files/file.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/status.h"
#include "tests/fakes/certificates.h"
#include "tests/unit/trainer_service/exchange/exchanges_of_a_job.h"
#include "tests/unit/trainer_service/exchange/trading_host.h"
#include "tests/unit/trainer_service/features/partitioned_rows.h"
#include "trainer_service/exchange/chunk_trade.h"
#include "trainer_service/rpc/grpc_chunk_links.h"
#include "trainer_service/rpc/host_channels.h"

namespace fgnn {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

class ExchangeServerTest : public testing::Test {
 protected:
  // Starts the exchanges of the hosts.
  Hosts& Start(const SegmentOptions& options,
               const std::vector<uint64_t>& shares) {
    hosts_.emplace(options, shares);
    list_ = HostsWith(shares);
    for (size_t host = 0; host < shares.size(); ++host) {
      exchanges_.emplace_back();
      exchanges_[host].folder = made_->Host(absl::StrCat("host", host));
      Serve(host, {.host = "127.0.0.1", .port = 0});
      list_.all[host].exchange = exchanges_[host].server->address().Text();
    }
    for (size_t host = 0; host < shares.size(); ++host) StartJob(host);
    return *hosts_;
  }
  void Serve(size_t host, const HostPort& address) {
    Exchange& exchange = exchanges_[host];
    const Deadline end = FarDeadline();
    absl::StatusOr<std::unique_ptr<ExchangeServer>> started;
    do {
      started = ServerOf(exchange, address);
      // The kernel may have the socket of the server before a moment longer.
    } while (absl::IsAlreadyExists(started.status()) &&
             MonotonicClock::now() < end);
    ASSERT_THAT(started, IsOk());
    exchange.server = *std::move(started);
  }
  // Ends the server of a host, and starts another one in its place.
  void ServeAgain(size_t host) {
    const HostPort address = exchanges_[host].server->address();
    exchanges_[host].server.reset();
    Serve(host, address);
  }
  void StartJob(size_t host) {
    Exchange& exchange = exchanges_[host];
    exchange.job =
        ExchangeJob::Start(
            {.job_id = kJob,
             .owner = kExchange,
             .hosts = HostsOf(host),
             .rows = rows_.Served(static_cast<uint32_t>(host),
                                  static_cast<uint32_t>(list_.all.size())),
             .on_failure =
                 [](const absl::Status& why) { ADD_FAILURE() << why; }},
            LinksOf(host), AttachTo(hosts_->segment(host)), &exchange.seat)
            .value();
  }
  JobHosts HostsOf(size_t host) const {
    JobHosts hosts = list_;
    hosts.self = static_cast<uint32_t>(host);
    return hosts;
  }
  std::unique_ptr<HostLinks> LinksOf(size_t host) const {
    return LinkHosts(kJob, HostsOf(host),
                     ReadHostCertificate(exchanges_[host].folder).value())
        .value();
  }
  using Credentials = std::shared_ptr<grpc::ChannelCredentials>;
  // Calls host 0 as one with these credentials. Returns how the call ended, and
  // the messages that came.
  template <typename Stub, typename Request, typename Part>
  std::pair<absl::Status, std::vector<Part>> Call(
      const Credentials& credentials,
      std::unique_ptr<grpc::ClientReader<Part>> (Stub::*method)(
          grpc::ClientContext*, const Request&),
      const Request& request) const {
    Stub stub(grpc::CreateChannel(list_.all[0].exchange, credentials));
    grpc::ClientContext context;
    SetDeadline(context, std::chrono::seconds(60));
    const auto reader = (stub.*method)(&context, request);
    std::vector<Part> parts;
    for (Part part; reader->Read(&part);) parts.push_back(part);
    return {FromGrpc(reader->Finish()), std::move(parts)};
  }
  // Asks for no entries, as one that says that it is `host`.
  absl::Status Ask(const Credentials& credentials, uint32_t host = 1) const {
    v1::AskEntriesRequest request;
    request.set_job_id(kJob);
    request.set_host(host);
    const auto [ended, parts] =
        Call(credentials, &v1::ExchangeService::Stub::AskEntries, request);
    EXPECT_TRUE(parts.empty());
    return ended;
  }
  // Asks for the clock and so many parts.
  absl::Status AskProbe(const Credentials& credentials,
                        uint32_t num_parts) const {
    v1::AskProbeRequest request;
    request.set_num_parts(num_parts);
    const auto [ended, parts] =
        Call(credentials, &v1::ExchangeService::Stub::AskProbe, request);
    EXPECT_EQ(parts.size(), ended.ok() ? num_parts + 1 : 0);
    return ended;
  }
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
  // What somebody shows who has these files, and knows the host.
  Credentials Shown(const std::filesystem::path& certificate,
                    const std::filesystem::path& key) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs =
        ReadSmallFile(exchanges_[0].folder / "ca.pem").value();
    if (!certificate.empty()) {
      options.pem_cert_chain = ReadSmallFile(certificate).value();
      options.pem_private_key = ReadSmallFile(key).value();
    }
    return grpc::SslCredentials(options);
  }

  struct Exchange {
    std::filesystem::path folder;
    BoardSeat seat = {};
    ChunkSeat chunks = {};
    std::unique_ptr<ExchangeServer> server = nullptr;
    std::unique_ptr<ExchangeJob> job = nullptr;
  };
  static absl::StatusOr<std::unique_ptr<ExchangeServer>> ServerOf(
      Exchange& exchange, const HostPort& address) {
    return ExchangeServer::Start(
        address, ReadHostCertificate(exchange.folder).value(),
        exchange.folder / "ca.pem", {&exchange.seat, &exchange.chunks});
  }

  const std::unique_ptr<Certificates> made_ = std::make_unique<Certificates>();
  std::optional<Hosts> hosts_;
  JobHosts list_;
  PartitionedRows rows_;
  std::deque<Exchange> exchanges_;
};

TEST_F(ExchangeServerTest, HostsEndInTheWeightsOfOne) {
  Hosts& hosts = Start(StepsOfFour(), {2, 1, 1});
  RunInThreads(hosts, kSamplerAndTrainer);
  ExpectResultsOfOne(hosts);
  for (const Exchange& exchange : exchanges_) {
    EXPECT_GT(exchange.job->batches(), 0U);
    WaitForProgress(*exchange.job);
  }
}

TEST_F(ExchangeServerTest, OneThatStartsAgainLosesNothing) {
  SegmentOptions options = StepsOfFour();
  options.epochs = 20;
  Hosts& hosts = Start(options, {2, 2});
  const Thread killer = Thread::Start("killer", [&] {
                          GradientBoard board(hosts.segment(0), kNoOwner);
                          for (const uint64_t version : {5, 20, 40}) {
                            FGNN_ASSERT_OK_AND_ASSIGN(
                                const bool is_there,
                                board.WaitForVersion(version, FarDeadline()));
                            ASSERT_TRUE(is_there);
                            ServeAgain(version % hosts.size());
                          }
                        }).value();
  RunInThreads(hosts, kSamplerAndTrainer);
  ExpectResultsOfOne(hosts);
}

TEST_F(ExchangeServerTest, StrangersAreRefusedAndTheJobIsUnharmed) {
  Hosts& hosts = Start(StepsOfFour(), {2, 2});
  const auto folder = exchanges_[1].folder;
  const auto mine = Shown(folder / "host.pem", folder / "host.key");
  EXPECT_THAT(Ask(mine), IsOk());
  // One without a certificate, and one of another authority.
  EXPECT_THAT(Ask(Shown("", "")), StatusIs(StatusCode::kUnavailable));
  const Certificates others;
  const auto foreign = others.Host("host1");
  EXPECT_THAT(Ask(Shown(foreign / "host.pem", foreign / "host.key")),
              StatusIs(StatusCode::kUnavailable));
  EXPECT_THAT(Ask(grpc::InsecureChannelCredentials()),
              StatusIs(StatusCode::kUnavailable));
  for (const std::string role : {"submit", "operate"}) {
    const auto user = made_->User(absl::StrCat("ann-", role), role);
    EXPECT_THAT(Ask(Shown(user / "user.pem", user / "user.key")),
                StatusIs(StatusCode::kPermissionDenied,
                         HasSubstr(absl::StrCat("has the role ", role))));
    EXPECT_THAT(AskProbe(Shown(user / "user.pem", user / "user.key"), 0),
                StatusIs(StatusCode::kPermissionDenied));
  }
  // The host itself, and one that the job has not.
  for (const uint32_t host : {0, 2}) {
    EXPECT_THAT(Ask(mine, host), StatusIs(StatusCode::kNotFound));
  }
  RunInThreads(hosts, kSamplerAndTrainer);
  ExpectResultsOfOne(hosts);
}

TEST_F(ExchangeServerTest, ChunksOfAnEvaluationComeFromTheOtherHosts) {
  Start(StepsOfFour(), {2, 2});
  TradingHost zero(2, 0);
  TradingHost one(2, 1);
  const auto links = ChunkLinksOf(1);
  ChunkTotals totals;
  std::atomic<bool> is_over = false;
  // It asks before the other host has the evaluation, and its link breaks.
  const Thread follower =
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
}

TEST_F(ExchangeServerTest, StrangersGetNoChunks) {
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

TEST_F(ExchangeServerTest, RowsOfFeaturesComeFromTheirHosts) {
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

TEST_F(ExchangeServerTest, AStopEndsAWaitForRows) {
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

TEST_F(ExchangeServerTest, StrangersGetNoRows) {
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

TEST_F(ExchangeServerTest, HostsMeasureTheirLinks) {
  Start(StepsOfFour(), {2, 1, 1});
  const Deadline end = FarDeadline();
  for (size_t host = 0; host < exchanges_.size(); ++host) {
    std::vector<HostReach> reaches;
    while (reaches.size() < 2) {
      ASSERT_LT(MonotonicClock::now(), end);
      std::this_thread::yield();
      reaches = exchanges_[host].job->reaches();
    }
    for (const HostReach& reach : reaches) {
      EXPECT_NE(reach.host, host);
      EXPECT_EQ(reach.error, "");
      EXPECT_GT(reach.link.round_trip_seconds, 0);
      EXPECT_GT(reach.link.bytes_per_second, 0);
      // All have the same clock.
      EXPECT_LE(std::abs(reach.link.clock_offset_seconds),
                reach.link.round_trip_seconds / 2 + 1e-5);
    }
  }
}

TEST_F(ExchangeServerTest, AProbeHasABound) {
  Start(StepsOfFour(), {2, 2});
  const auto folder = exchanges_[1].folder;
  const auto mine = Shown(folder / "host.pem", folder / "host.key");
  EXPECT_THAT(AskProbe(mine, 16), IsOk());
  EXPECT_THAT(AskProbe(mine, 17), StatusIs(StatusCode::kInvalidArgument,
                                           HasSubstr("num_parts is 17")));
}

TEST_F(ExchangeServerTest, AHostThatIsNotThereIsCalledUntilItIs) {
  Start(StepsOfFour(), {2, 2});
  const HostPort address = exchanges_[1].server->address();
  exchanges_[1].server.reset();
  exchanges_[0].job.reset();
  StartJob(0);
  const Deadline end = FarDeadline();
  const auto reach = [&] {
    std::vector<HostReach> reaches;
    while (reaches.empty() && MonotonicClock::now() < end) {
      std::this_thread::yield();
      reaches = exchanges_[0].job->reaches();
    }
    return reaches.empty() ? HostReach{.host = 7} : reaches.front();
  };
  EXPECT_EQ(reach().host, 1U);
  EXPECT_THAT(reach().error, HasSubstr("onnect"));
  Serve(1, address);
  while (!reach().error.empty()) {
    ASSERT_LT(MonotonicClock::now(), end);
    std::this_thread::yield();
  }
  WaitForProgress(*exchanges_[0].job);
}

TEST_F(ExchangeServerTest, AProbeThatIsStoppedEnds) {
  Start(StepsOfFour(), {2, 2});
  // It accepts connections, and never answers.
  FGNN_ASSERT_OK_AND_ASSIGN(const UniqueFd silent,
                            ListenOn({.host = "127.0.0.1", .port = 0}));
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  ASSERT_EQ(
      ::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&address), &size),
      0);
  list_.all[1].exchange = absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  EXPECT_THAT(LinksOf(0)->Probe(1, [] { return true; }).status(),
              StatusIs(StatusCode::kCancelled));
}

TEST_F(ExchangeServerTest, ADetachEndsCallsThatAreOpen) {
  Hosts& hosts = Start(StepsOfFour(), {2, 2});
  // First weights, and batch 0. Nobody trains batch 1.
  for (const size_t actor : {1, 0, 1}) {
    FGNN_ASSERT_OK(hosts.Act(0, actor).status());
  }
  const std::unique_ptr<HostLinks> links = LinksOf(1);
  FGNN_ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<EntryStream> stream,
      links->Ask(0, /*version=*/0, {{BatchSeq(0)}, {BatchSeq(1)}}));
  FGNN_ASSERT_OK_AND_ASSIGN(const std::optional<EntryPart> part,
                            stream->Next(FarDeadline()));
  ASSERT_TRUE(part.has_value() && part->end.has_value());
  EXPECT_EQ(part->task.seq, BatchSeq(0));
  exchanges_[0].job.reset();
  EXPECT_THAT(stream->Next(FarDeadline()).status(),
              StatusIs(StatusCode::kUnavailable));
  EXPECT_THAT(
      links->Ask(0, 0, {}).value()->Next(FarDeadline()).status(),
      StatusIs(StatusCode::kUnavailable, HasSubstr("is not on this host")));
  // It may come back.
  StartJob(0);
  RunInThreads(hosts, kSamplerAndTrainer);
  ExpectResultsOfOne(hosts);
}

TEST_F(ExchangeServerTest, APortThatIsTakenIsNamed) {
  Start(StepsOfFour(), {4});
  const HostPort address = exchanges_[0].server->address();
  EXPECT_THAT(ServerOf(exchanges_[0], address).status(),
              StatusIs(StatusCode::kAlreadyExists,
                       HasSubstr(absl::StrCat(address.Text(),
                                              ": another process listens"))));
  EXPECT_THAT(
      ServerOf(exchanges_[0], {.host = "no-such-host.invalid", .port = 1})
          .status(),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("has no address")));
}

TEST_F(ExchangeServerTest, AnAddressThatIsNoneNamesItsHost) {
  JobHosts hosts = HostsWith({2, 2});
  hosts.all[1].exchange = "nowhere";
  EXPECT_THAT(
      LinkHosts(kJob, hosts, ReadHostCertificate(made_->Host("host0")).value())
          .status(),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr("the exchange of host1: 'nowhere'")));
}

}  // namespace
}  // namespace fgnn
