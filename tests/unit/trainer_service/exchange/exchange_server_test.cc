#include "trainer_service/rpc/exchange_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/exchange/exchange_servers.h"
#include "trainer_service/rpc/host_channels.h"

namespace fgnn {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

class ExchangeServerTest : public ExchangeServers {
 protected:
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
};

TEST_F(ExchangeServerTest, HostsEndInTheWeightsOfOne) {
  Hosts& hosts = Start(StepsOfFour(), {2, 1, 1});
  RunInThreads(hosts, kSamplerAndTrainer);
  ExpectResultsOfOne(hosts);
  for (const Exchange& exchange : exchanges_) {
    WaitForBatches(*exchange.job);
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
