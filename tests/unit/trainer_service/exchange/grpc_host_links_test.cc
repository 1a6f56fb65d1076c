// Hosts that reach each other by gRPC, over Unix sockets.
#include "trainer_service/rpc/grpc_host_links.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/unit/trainer_service/exchange/exchanges_of_a_job.h"
#include "trainer_service/rpc/exchange_service.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

class GrpcHostLinksTest : public testing::Test {
 protected:
  // A name without a file: a server that ends would delete the file of the one
  // that follows it.
  std::string Address(size_t host) {
    return absl::StrCat("unix-abstract:fgnn-", ::getpid(), "-host", host);
  }
  std::map<uint32_t, std::shared_ptr<grpc::Channel>> Channels(size_t hosts) {
    std::map<uint32_t, std::shared_ptr<grpc::Channel>> channels;
    for (uint32_t host = 0; host < hosts; ++host) {
      channels[host] = grpc::CreateChannel(Address(host),
                                           grpc::InsecureChannelCredentials());
    }
    return channels;
  }
  Hosts& MakeHosts(const SegmentOptions& options,
                   const std::vector<uint64_t>& shares) {
    return hosts_.emplace(options, shares, EntryFault(), [&](uint32_t self) {
      return std::make_unique<GrpcHostLinks>(kJob, /*attempt=*/0, self,
                                             Channels(shares.size()));
    });
  }
  // Starts the server of a host, in the place of one that may be there.
  void Serve(size_t host, const std::string& job_id = kJob) {
    Server& server = servers_[host];
    Stop(server);
    server.seat.Put({.job_id = job_id,
                     .segment = hosts_->segment(host),
                     .versions = hosts_->versions(host)});
    server.service = MakeExchangeService(&server.seat);
    server.server =
        grpc::ServerBuilder()
            .AddListeningPort(Address(host), grpc::InsecureServerCredentials())
            .RegisterService(server.service.get())
            .BuildAndStart();
    ASSERT_NE(server.server, nullptr);
  }
  void TearDown() override {
    for (auto& [host, server] : servers_) Stop(server);
  }

 private:
  struct Server {
    BoardSeat seat;
    std::unique_ptr<grpc::Service> service;
    std::unique_ptr<grpc::Server> server;
  };
  static void Stop(Server& server) {
    if (server.server == nullptr) return;
    server.server->Shutdown(std::chrono::system_clock::now());
    server.server.reset();
  }

  std::optional<Hosts> hosts_;  // The servers borrow from it.
  std::map<size_t, Server> servers_;
};

// Its gradients need three messages each.
TEST_F(GrpcHostLinksTest, LargeGradientsCrossInParts) {
  SegmentOptions options = StepsOfFour();
  options.num_parameters = 300'000;
  options.epochs = 1;
  Hosts& hosts = MakeHosts(options, {3, 1});
  Serve(0);
  Serve(1);
  RunInThreads(hosts);
  ExpectResultsOfOne(hosts);
}

TEST_F(GrpcHostLinksTest, AnExchangeThatStartsAgainLosesNothing) {
  SegmentOptions options = StepsOfFour();
  options.epochs = 20;
  Hosts& hosts = MakeHosts(options, {2, 1, 1});
  for (size_t host = 0; host < hosts.size(); ++host) Serve(host);
  const Thread killer = Thread::Start("killer", [this, &hosts] {
                          GradientBoard board(hosts.segment(0), kNoOwner);
                          for (const uint64_t version : {5, 20, 40}) {
                            FGNN_ASSERT_OK_AND_ASSIGN(
                                const bool is_there,
                                board.WaitForVersion(version, FarDeadline()));
                            ASSERT_TRUE(is_there);
                            Serve(version % hosts.size());
                          }
                        }).value();
  RunInThreads(hosts);
  ExpectResultsOfOne(hosts);
}

TEST_F(GrpcHostLinksTest, ErrorsThatStayAreToldAndOthersAskedAgain) {
  MakeHosts(StepsOfFour(), {2, 2});
  const auto channels = Channels(2);
  GrpcHostLinks links(kJob, /*attempt=*/0, /*self=*/1, channels);
  const auto answer = [&links](uint32_t host,
                               const std::vector<BatchPart>& tasks) {
    return links.Ask(host, /*version=*/0, tasks)
        .value()
        ->Next(FarDeadline())
        .status();
  };
  EXPECT_THAT(answer(0, {}), StatusIs(absl::StatusCode::kUnavailable));
  Serve(0);
  Serve(1, "another-job");
  for (const auto& [host, channel] : channels) {
    ASSERT_TRUE(channel->WaitForConnected(std::chrono::system_clock::now() +
                                          std::chrono::minutes(1)));
  }
  EXPECT_THAT(answer(1, {}), StatusIs(absl::StatusCode::kUnavailable,
                                      HasSubstr("is not on this host")));
  EXPECT_THAT(answer(0, {}), IsOk());
  EXPECT_THAT(answer(0, {{BatchSeq(2)}}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(links.Ask(7, 0, {}).status(),
              StatusIs(absl::StatusCode::kNotFound));
  // A call that is given up ends: nothing waits for the entry.
  EXPECT_EQ(links.Ask(0, 0, {{BatchSeq(0)}}).value()->Next(NoWait()).value(),
            std::nullopt);
}

}  // namespace
}  // namespace fgnn
