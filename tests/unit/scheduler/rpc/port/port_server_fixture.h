// A port with real certificates, made by tools/fgnn-certificates.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_RPC_PORT_PORT_SERVER_FIXTURE_H_
#define FGNN_TESTS_UNIT_SCHEDULER_RPC_PORT_PORT_SERVER_FIXTURE_H_

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "fgnn/v1/job_service.grpc.pb.h"
#include "scheduler/figures/refusal_counts.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/rpc/callers/user_calls.h"
#include "scheduler/rpc/job_watchers.h"
#include "scheduler/rpc/port/port_server.h"
#include "scheduler/rpc/watch_service.h"
#include "scheduler/store/job_store.h"
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
class FakeJobService final
    : public v1::JobService::WithStreamedUnaryMethod_GetJob<
          v1::JobService::WithStreamedUnaryMethod_Shutdown<
              v1::JobService::WithGenericMethod_WatchJob<
                  v1::JobService::Service>>> {
 public:
  explicit FakeJobService(const std::shared_ptr<Callers>& callers)
      : callers_(callers), calls_(callers, /*audit=*/nullptr) {}

  grpc::Status StreamedGetJob(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::GetJobRequest, v1::Job>* stream) override {
    const auto call =
        callers_->Admit(*context, MethodOf(*v1::GetJobRequest::descriptor()),
                        CallHolds::kThread);
    if (!call.ok()) return ToGrpc(call.status());
    v1::GetJobRequest request;
    if (!stream->Read(&request)) return ToGrpc(NoRequest());
    v1::Job response;
    response.set_user(Describe(call->caller, *context));
    response.set_name(call->caller.is_operator ? "operator" : "");
    stream->WriteLast(response, {});
    return grpc::Status::OK;
  }
  grpc::Status StreamedShutdown(
      grpc::ServerContext* context,
      grpc::ServerUnaryStreamer<v1::ShutdownRequest, v1::ShutdownResponse>*
          stream) override {
    return calls_.Change(context, stream,
                         [](const auto&) { return absl::OkStatus(); });
  }

 private:
  const std::shared_ptr<Callers> callers_;
  const UserCalls calls_;
};

// A call whose client sends its headers alone.
class HalfCall final
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  HalfCall(const std::shared_ptr<grpc::Channel>& channel,
           const std::string& method)
      : stub_(channel) {
    stub_.PrepareBidiStreamingCall(&context_, method, {}, this);
    StartRead(&response_);
    StartCall();
  }
  void OnDone(const grpc::Status& status) override {
    end_.set_value(FromGrpc(status));
  }
  void Cancel() { context_.TryCancel(); }
  // Returns how the call ended.
  absl::Status End() { return ended_.get(); }
  bool HasEnded() const {
    return ended_.wait_for(std::chrono::seconds(0)) ==
           std::future_status::ready;
  }

 private:
  LongContext context_;
  grpc::GenericStub stub_;
  grpc::ByteBuffer response_;
  std::promise<absl::Status> end_;
  std::shared_future<absl::Status> ended_ = end_.get_future().share();
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
        [this](const std::shared_ptr<Callers>& callers) {
          Services made;
          made.services.push_back(std::make_unique<FakeJobService>(callers));
          made.others =
              std::make_unique<WatchService>(callers, watchers_.get());
          return made;
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

  std::shared_ptr<grpc::Channel> Channel(
      const std::filesystem::path& tls_dir) const {
    return MakeRemoteChannel(Service(tls_dir)).value();
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

  // Returns a channel of a client that shows nothing.
  std::shared_ptr<grpc::Channel> ChannelOfNobody() const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs =
        ReadSmallFile(temp_ / "tls" / "ca.pem", 1 << 20).value();
    return grpc::CreateChannel(server_->address().Text(),
                               grpc::SslCredentials(options));
  }
  absl::Status AskAsNobody() const {
    return Ask(*v1::JobService::NewStub(ChannelOfNobody())).status();
  }

  const TempFolder temp_;
  const std::string user_ = UserName(::geteuid());
  std::unique_ptr<JobTable> table_ =
      JobTable::Open(JobStore::Open(temp_ / "jobs.sqlite").value(),
                     temp_.path())
          .value();
  std::unique_ptr<JobWatchers> watchers_ =
      std::make_unique<JobWatchers>(table_.get());
  RefusalCounts refusals_;
  std::unique_ptr<PortServer> server_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_RPC_PORT_PORT_SERVER_FIXTURE_H_
