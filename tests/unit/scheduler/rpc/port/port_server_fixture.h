// A port with real certificates, made by tools/fgnn-certificates.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_RPC_PORT_PORT_SERVER_FIXTURE_H_
#define FGNN_TESTS_UNIT_SCHEDULER_RPC_PORT_PORT_SERVER_FIXTURE_H_

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "fgnn/v1/job_service.grpc.pb.h"
#include "scheduler/figures/refusal_counts.h"
#include "scheduler/rpc/port/port_server.h"
#include "shared/base/files/file.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/remote_channel.h"
#include "shared/rpc/server.h"
#include "shared/rpc/sockets/host_port.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {

// A call that may take long.
class LongContext : public grpc::ClientContext {
 public:
  static constexpr std::chrono::seconds kLong{100};
  LongContext() { SetDeadline(*this, kLong); }
};

// Answers with its caller.
class FakeJobService final : public v1::JobService::Service {
 public:
  explicit FakeJobService(Caller caller) : caller_(std::move(caller)) {}

  grpc::Status GetJob(grpc::ServerContext* context,
                      const v1::GetJobRequest* /*request*/,
                      v1::Job* response) override {
    response->set_user(Describe(caller_, *context));
    response->set_name(caller_.is_operator ? "operator" : "");
    return grpc::Status::OK;
  }
  grpc::Status WatchJob(grpc::ServerContext* context,
                        const v1::WatchJobRequest* /*request*/,
                        grpc::ServerWriter<v1::Job>* stream) override {
    for (int i = 0; i < 100; ++i) {
      v1::Job job;
      job.set_job_id(std::to_string(i));
      stream->Write(job);
    }
    while (!context->IsCancelled() && waits_) std::this_thread::yield();
    return {grpc::StatusCode::DATA_LOSS, "the end"};
  }

  static inline std::atomic<bool> waits_ = false;

 private:
  const Caller caller_;
};

class PortServerTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(std::getenv("FGNN_SOURCE_DIR"), nullptr);
    // Made once, since openssl takes its time.
    static const TempFolder made;
    if (!std::filesystem::exists(made / "tls")) {
      Make("ca", made / "tls");
      Make("server 127.0.0.1", made / "tls");
      Make(absl::StrCat("user ", user_, " --role submit --out ",
                        (made / "mine").string()),
           made / "tls");
    }
    std::filesystem::copy(made.path(), temp_.path(),
                          std::filesystem::copy_options::recursive);
  }

  // Runs tools/fgnn-certificates.
  void Make(const std::string& words, const std::filesystem::path& dir) {
    const std::string command = absl::StrCat(
        std::getenv("FGNN_SOURCE_DIR"), "/tools/fgnn-certificates --dir ",
        dir.string(), " ", words, " >/dev/null");
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }
  void Make(const std::string& words) { Make(words, temp_ / "tls"); }
  std::string OutTo(const std::string& name) const {
    return " --out " + (temp_ / name).string();
  }
  std::string Mine() const { return (temp_ / "mine").string(); }

  void Start(PortLimits limits = {}) {
    PortOptions options = {.address = {.host = "127.0.0.1", .port = 0},
                           .tls_dir = temp_ / "tls",
                           .tokens = temp_ / "tls" / "tokens",
                           .limits = limits};
    auto started = PortServer::Start(
        options,
        [](const Caller& caller) {
          RemoteUsers::Services services;
          services.push_back(std::make_unique<FakeJobService>(caller));
          return services;
        },
        &refusals_, Gate());
    ASSERT_THAT(started, IsOk());
    server_ = *std::move(started);
  }

  // The program of this build.
  static std::filesystem::path Gate() {
    return std::filesystem::path(std::getenv("FGNN_BIN_DIR")) / "fgnn-gate";
  }

  // Starts without services or tokens.
  absl::Status StartBare() {
    return PortServer::Start({.address = {.host = "127.0.0.1", .port = 0},
                              .tls_dir = temp_ / "tls",
                              .tokens = {}},
                             nullptr, &refusals_, Gate())
        .status();
  }

  RemoteService Service(const std::filesystem::path& tls_dir) const {
    return {.address = server_->address(), .tls_dir = tls_dir};
  }
  std::unique_ptr<v1::JobService::Stub> Stub(
      const std::filesystem::path& tls_dir) const {
    const auto channel = MakeRemoteChannel(Service(tls_dir));
    EXPECT_THAT(channel, IsOk());
    return v1::JobService::NewStub(*channel);
  }
  static absl::StatusOr<v1::Job> Ask(v1::JobService::Stub& stub) {
    LongContext context;
    v1::Job job;
    FGNN_RETURN_IF_ERROR(
        FromGrpc(stub.GetJob(&context, v1::GetJobRequest(), &job)));
    return job;
  }
  absl::StatusOr<v1::Job> Ask(const std::filesystem::path& tls_dir) const {
    return Ask(*Stub(tls_dir));
  }

  // Returns why a call with the files of this folder is not heard.
  absl::Status WhyNot(const std::filesystem::path& tls_dir) const {
    EXPECT_THAT(Ask(tls_dir), StatusIs(absl::StatusCode::kUnavailable));
    return ExplainUnreachable(Service(tls_dir));
  }
  static void WaitFor(const std::function<bool()>& is_so) {
    const Deadline deadline = DeadlineIn(LongContext::kLong);
    while (!is_so()) {
      ASSERT_LT(MonotonicClock::now(), deadline);
      std::this_thread::yield();
    }
  }

  // Makes a call that shows nothing but the service's own authority.
  absl::Status AskAsNobody() const {
    FGNN_ASSIGN_OR_RETURN(const std::string authority,
                          ReadSmallFile(temp_ / "tls" / "ca.pem", 1 << 20));
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = authority;
    const auto stub = v1::JobService::NewStub(grpc::CreateChannel(
        server_->address().Text(), grpc::SslCredentials(options)));
    return Ask(*stub).status();
  }

  const TempFolder temp_;
  const std::string user_ = UserName(::geteuid());
  RefusalCounts refusals_;
  std::unique_ptr<PortServer> server_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_RPC_PORT_PORT_SERVER_FIXTURE_H_
