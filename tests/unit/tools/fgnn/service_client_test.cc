// Against a service of the test's own, on a real socket.
#include "tools/fgnn/service/service_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "scheduler/gate/packets/leave.h"
#include "shared/base/files/unique_fd.h"
#include "shared/config/state_dir.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/connection_peers.h"
#include "shared/rpc/server.h"
#include "shared/rpc/sockets/socket_name.h"
#include "tests/fakes/status_matchers.h"
#include "tools/fgnn/service/service_process.h"

namespace fgnn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ScriptedService : public v1::JobService::Service {
 public:
  // The next call of WatchJob sends these states, then ends with `status`.
  struct Watch {
    std::vector<v1::JobState> states;
    grpc::Status status;
    bool until_cancelled = false;
  };
  std::vector<Watch> watches;
  bool saw_deadline = false;

  grpc::Status WatchJob(grpc::ServerContext* context,
                        const v1::WatchJobRequest* request,
                        grpc::ServerWriter<v1::Job>* writer) override {
    if (watches.empty()) return {grpc::StatusCode::INTERNAL, "not scripted"};
    const Watch watch = watches.front();
    watches.erase(watches.begin());
    for (const v1::JobState state : watch.states) {
      v1::Job job;
      job.set_job_id(request->job_id());
      job.set_state(state);
      writer->Write(job);
    }
    const absl::Time give_up = absl::Now() + absl::Seconds(30);
    while (watch.until_cancelled && !context->IsCancelled() &&
           absl::Now() < give_up) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    return watch.status;
  }

  grpc::Status GetService(grpc::ServerContext*, const v1::GetServiceRequest*,
                          v1::ServiceInfo*) override {
    return grpc::Status::OK;
  }

  grpc::Status Shutdown(grpc::ServerContext*, const v1::ShutdownRequest*,
                        v1::ShutdownResponse*) override {
    return grpc::Status::OK;
  }

  grpc::Status GetJob(grpc::ServerContext* context, const v1::GetJobRequest*,
                      v1::Job*) override {
    saw_deadline = RequireDeadline(*context).ok();
    return {grpc::StatusCode::NOT_FOUND, "no job '4f'"};
  }
};

class ServiceClientTest : public testing::Test {
 protected:
  void SetUp() override {
    // Sockets have short names.
    std::string folder = "/tmp/fgnn-client-XXXXXX";
    ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    state_dir_ = folder;
    auto server =
        RpcServer::Start(SchedulerSocketPath(state_dir_), {&service_});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(state_dir_);
  }

  // The states seen; the outcome in `outcome`.
  std::vector<v1::JobState> Watch(absl::StatusOr<v1::Job>& outcome) {
    std::vector<v1::JobState> seen;
    Interrupt interrupt;
    auto client = ServiceClient::Connect({.state_dir = state_dir_});
    EXPECT_THAT(client, IsOk());
    outcome = client->Watch("4f", interrupt, [&seen](const v1::Job& job) {
      seen.push_back(job.state());
    });
    return seen;
  }

  std::filesystem::path state_dir_;
  ScriptedService service_;
  std::unique_ptr<RpcServer> server_;
};

TEST_F(ServiceClientTest, CallsHaveADeadlineAndErrorsKeepTheirCode) {
  FGNN_ASSERT_OK_AND_ASSIGN(ServiceClient client,
                            ServiceClient::Connect({.state_dir = state_dir_}));
  EXPECT_THAT(client.GetJob("4f"),
              StatusIs(absl::StatusCode::kNotFound, "no job '4f'"));
  EXPECT_TRUE(service_.saw_deadline);
}

TEST_F(ServiceClientTest, WatchReturnsTheJobAsItEnded) {
  service_.watches = {
      {{v1::JOB_STATE_RUNNING, v1::JOB_STATE_COMPLETED}, grpc::Status::OK}};
  absl::StatusOr<v1::Job> outcome;
  EXPECT_THAT(Watch(outcome),
              ElementsAre(v1::JOB_STATE_RUNNING, v1::JOB_STATE_COMPLETED));
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->state(), v1::JOB_STATE_COMPLETED);
}

TEST_F(ServiceClientTest, WatchGoesOnAfterADeadlineOrARestartOfTheService) {
  service_.watches = {
      {{v1::JOB_STATE_QUEUED}, {grpc::StatusCode::DEADLINE_EXCEEDED, ""}},
      {{v1::JOB_STATE_RUNNING}, {grpc::StatusCode::UNAVAILABLE, ""}},
      {{v1::JOB_STATE_FAILED}, grpc::Status::OK}};
  absl::StatusOr<v1::Job> outcome;
  EXPECT_THAT(Watch(outcome),
              ElementsAre(v1::JOB_STATE_QUEUED, v1::JOB_STATE_RUNNING,
                          v1::JOB_STATE_FAILED));
  EXPECT_THAT(outcome, IsOk());
}

TEST_F(ServiceClientTest, WatchReportsOtherErrorsAndAStreamThatEndsTooEarly) {
  absl::StatusOr<v1::Job> outcome;
  service_.watches = {{{}, {grpc::StatusCode::NOT_FOUND, "no job '4f'"}}};
  Watch(outcome);
  EXPECT_THAT(outcome, StatusIs(absl::StatusCode::kNotFound));
  service_.watches = {{{v1::JOB_STATE_RUNNING}, grpc::Status::OK}};
  Watch(outcome);
  EXPECT_THAT(outcome,
              StatusIs(absl::StatusCode::kInternal, HasSubstr("running")));
}

TEST_F(ServiceClientTest, CtrlCEndsAWatch) {
  service_.watches = {{{v1::JOB_STATE_RUNNING}, grpc::Status::CANCELLED, true}};
  Interrupt interrupt;
  FGNN_ASSERT_OK_AND_ASSIGN(ServiceClient client,
                            ServiceClient::Connect({.state_dir = state_dir_}));
  EXPECT_THAT(client.Watch("4f", interrupt,
                           [](const v1::Job&) { ::kill(::getpid(), SIGINT); }),
              StatusIs(absl::StatusCode::kCancelled));
}

// Returns the number of sockets that this process has open.
int NumSockets() {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    if (!gone && target.string().rfind("socket:", 0) == 0) ++count;
  }
  return count;
}

// A service that ends waits for its connected clients. Here both ends of a
// connection are this process's.
TEST_F(ServiceClientTest, KeepsNoConnectionToAServiceThatItToldToEnd) {
  FGNN_ASSERT_OK_AND_ASSIGN(ServiceClient client,
                            ServiceClient::Connect({.state_dir = state_dir_}));
  const int connected = NumSockets();
  ASSERT_THAT(client.Shutdown(), IsOk());
  const absl::Time give_up = absl::Now() + absl::Seconds(30);
  while (NumSockets() > connected - 2 && absl::Now() < give_up) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  EXPECT_LE(NumSockets(), connected - 2);
}

TEST_F(ServiceClientTest, ADeadServicesSocketIsNoService) {
  FGNN_ASSERT_OK_AND_ASSIGN(const bool before, ServiceListens(state_dir_));
  EXPECT_TRUE(before);
  server_.reset();
  FGNN_ASSERT_OK_AND_ASSIGN(const bool after, ServiceListens(state_dir_));
  EXPECT_FALSE(after);
  EXPECT_THAT(ServiceClient::Connect({.state_dir = state_dir_}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("fgnn up")));
}

// A service that takes leave of its first connections with these words.
std::unique_ptr<RpcServer> StartOneThatTurnsAway(
    const std::filesystem::path& state_dir, int first, std::string words) {
  auto server = RpcServer::StartForUsers(
      SchedulerSocketPath(state_dir),
      [](uid_t, const ConnectionPeers&) {
        RpcServer::Services services;
        services.services.push_back(std::make_unique<ScriptedService>());
        return services;
      },
      {}, /*group=*/std::nullopt,
      [first, words](UniqueFd client,
                     const std::string&) mutable -> absl::StatusOr<UniqueFd> {
        if (first-- <= 0) return client;
        const std::string leave = MakeLeave(words);
        // A client that only looks whether a service listens has gone.
        (void)::send(client.get(), leave.data(), leave.size(), MSG_NOSIGNAL);
        return absl::ResourceExhaustedError(words);
      });
  EXPECT_THAT(server, IsOk());
  return *std::move(server);
}

// A process that has just made many connections is one that the service lets
// wait for a new one.
TEST_F(ServiceClientTest, WaitsForAServiceThatTurnsItAwayForAWhile) {
  // More than the client and gRPC make before the client asks a second time.
  constexpr int kTurnedAway = 12;
  server_.reset();
  server_ = StartOneThatTurnsAway(state_dir_, kTurnedAway, "wait");
  EXPECT_THAT(ServiceClient::Connect({.state_dir = state_dir_}), IsOk());
}

TEST_F(ServiceClientTest, ExplainsInTheWordsOfAServiceThatTurnsItAway) {
  EXPECT_THAT(ExplainUnreachable(SchedulerSocketPath(state_dir_)), IsOk());
  server_.reset();
  server_ = StartOneThatTurnsAway(state_dir_, 1, "wait four seconds");
  EXPECT_THAT(
      ExplainUnreachable(SchedulerSocketPath(state_dir_)),
      StatusIs(absl::StatusCode::kResourceExhausted, "wait four seconds"));
}

// Takes connections and hangs up.
class Stranger {
 public:
  explicit Stranger(const std::filesystem::path& path)
      : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto address = MakeSocketAddress(path);
    EXPECT_THAT(address, IsOk());
    EXPECT_EQ(
        ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&*address),
               sizeof(*address)),
        0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    thread_ = std::thread([this] {
      while (true) {
        const UniqueFd caller(::accept(listener_.get(), nullptr, nullptr));
        if (!caller.valid()) return;
      }
    });
  }
  ~Stranger() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

 private:
  UniqueFd listener_;
  std::thread thread_;
};

TEST_F(ServiceClientTest, AUserWhomTheSocketIsClosedToIsToldHowToGetIn) {
  EXPECT_THAT(
      ExplainDenied(state_dir_),
      StatusIs(absl::StatusCode::kPermissionDenied,
               testing::AllOf(HasSubstr(state_dir_.string()),
                              HasSubstr("and to group "),
                              HasSubstr(absl::StrCat(
                                  "'fgnn up --state-dir ", state_dir_.string(),
                                  " --socket-group GROUP'")))));
  EXPECT_THAT(ExplainDenied(state_dir_ / "closed"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("a folder above it is closed")));
}

TEST_F(ServiceClientTest, NamesASocketThatSomethingElseListensOn) {
  server_.reset();
  const std::filesystem::path path = SchedulerSocketPath(state_dir_);
  const Stranger stranger(path);
  EXPECT_THAT(
      ServiceClient::Connect({.state_dir = state_dir_}),
      StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr(path.string())));
}

}  // namespace
}  // namespace fgnn
