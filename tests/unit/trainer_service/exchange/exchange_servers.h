// The exchanges of a job's hosts in one process, which reach each other by TLS
// over the loopback.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_EXCHANGE_EXCHANGE_SERVERS_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_EXCHANGE_EXCHANGE_SERVERS_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fgnn/v1/exchange.grpc.pb.h"
#include "shared/base/files/file.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/status.h"
#include "tests/fakes/certificates.h"
#include "tests/unit/trainer_service/exchange/exchanges_of_a_job.h"
#include "tests/unit/trainer_service/features/partitioned_rows.h"
#include "trainer_service/rpc/exchange_server.h"
#include "trainer_service/rpc/host_channels.h"

namespace fgnn {

class ExchangeServers : public testing::Test {
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

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_EXCHANGE_EXCHANGE_SERVERS_H_
