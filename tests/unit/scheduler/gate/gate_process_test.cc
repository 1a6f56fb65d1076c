// The program fgnn-gate before a gRPC server on a Unix socket.
#include "scheduler/gate/process/gate_process.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fgnn/v1/host.grpc.pb.h"
#include "scheduler/rpc/callers/caller.h"
#include "scheduler/rpc/callers/calling_user.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/server.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/fakes/user_connection.h"
#include "tests/unit/scheduler/gate/frames.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::chrono::seconds kLongTime{100};

fs::path GateProgram() {
  return fs::path(std::getenv("FGNN_BIN_DIR")) / "fgnn-gate";
}

// Notes who calls.
class WhoCalls final : public v1::HostService::Service {
 public:
  WhoCalls(uid_t user, const ConnectionPeers& peers)
      : caller_(CallerOf(user, ::geteuid(), &peers)) {}

  grpc::Status Register(grpc::ServerContext* context,
                        const v1::RegisterRequest* /*request*/,
                        v1::RegisterResponse* /*response*/) override {
    const auto user = CallingUser(caller_, *context);
    if (!user.ok()) return ToGrpc(user.status());
    const bool has_group =
        std::count(user->groups.begin(), user->groups.end(), ::getegid()) > 0;
    return {grpc::StatusCode::ABORTED,
            absl::StrCat(Describe(caller_, *context),
                         has_group ? " of my group" : "")};
  }

 private:
  const Caller caller_;
};

class GateProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    auto started = GateProcess::Start(
        {.program = GateProgram(),
         .name = "a test",
         .on_refused =
             [this](RefusalReason reason, const std::string& key,
                    const std::string&) {
               const std::lock_guard lock(mutex_);
               refused_.push_back(
                   absl::StrCat(std::string(WordOf(reason)), " ", key));
             },
         .trusted_keys = {"trusted"}});
    ASSERT_THAT(started, IsOk());
    gate_ = *std::move(started);
    auto server = RpcServer::StartForUsers(
        path_,
        [](uid_t user, const ConnectionPeers& peers) {
          RpcServer::Services services;
          services.services.push_back(std::make_unique<WhoCalls>(user, peers));
          return services;
        },
        {}, std::nullopt,
        [this](UniqueFd client, const std::string& key) {
          return gate_->Pass(std::move(client), key);
        });
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
  }

  static absl::Status Ask(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    SetDeadline(context, kLongTime);
    v1::RegisterResponse response;
    return FromGrpc(v1::HostService::NewStub(channel)->Register(
        &context, v1::RegisterRequest(), &response));
  }
  absl::Status Ask() const { return Ask(MakeChannel(path_).value()); }

  UniqueFd Connect(uid_t user) const { return ConnectAs(user, path_).value(); }
  // Sends bytes, of which a closed connection takes none, and returns what came
  // until it was closed. Returns nullopt if it is still open after a second
  // without a byte.
  static std::optional<std::string> Tell(int fd, const std::string& bytes) {
    (void)::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    std::string heard;
    while (true) {
      pollfd comes = {.fd = fd, .events = POLLIN, .revents = 0};
      if (::poll(&comes, 1, 1'000) == 0) return std::nullopt;
      char some[4096];
      const ssize_t size = ::recv(fd, some, sizeof(some), 0);
      if (size <= 0) return heard;
      heard.append(some, static_cast<size_t>(size));
    }
  }
  // Calls that are opened and taken back at once.
  static std::string Resets(int count) {
    std::string bytes = kGreeting + Frame(4, 0, 0, "");
    for (int i = 0; i < count; ++i) {
      const auto id = static_cast<uint32_t>(2 * i + 1);
      bytes += Frame(1, 5, id,
                     "\x83\x86\x84\x41\x01"
                     "b");
      bytes += Frame(3, 0, id, std::string("\0\0\0\x08", 4));
    }
    return bytes;
  }
  // Ids of the gates of this process.
  static std::vector<pid_t> Gates() {
    std::vector<pid_t> found;
    for (const auto& task : fs::directory_iterator("/proc/self/task")) {
      std::ifstream children(task.path() / "children");
      for (pid_t pid = 0; children >> pid;) {
        std::string name;
        std::ifstream(absl::StrCat("/proc/", pid, "/comm")) >> name;
        if (name == "fgnn-gate") found.push_back(pid);
      }
    }
    return found;
  }

  TempFolder folder_;
  fs::path path_ = folder_ / "scheduler.sock";
  std::mutex mutex_;
  std::vector<std::string> refused_;
  std::unique_ptr<GateProcess> gate_;
  std::unique_ptr<RpcServer> server_;
};

TEST_F(GateProcessTest, TheServiceKnowsWhoCallsThroughIt) {
  EXPECT_THAT(
      Ask(),
      StatusIs(absl::StatusCode::kAborted,
               HasSubstr(absl::StrCat("pid ", ::getpid(), ") of my group"))));
}

TEST_F(GateProcessTest, AGateThatEndsIsStartedAgain) {
  const auto channel = MakeChannel(path_).value();
  EXPECT_THAT(Ask(channel), StatusIs(absl::StatusCode::kAborted));
  const std::vector<pid_t> before = Gates();
  ASSERT_EQ(before.size(), 1U);
  ASSERT_EQ(::kill(before.front(), SIGKILL), 0);
  // The first call may still go to the old connection.
  absl::Status status;
  const Deadline deadline = DeadlineIn(kLongTime);
  do {
    status = Ask(channel);
  } while (absl::IsUnavailable(status) && MonotonicClock::now() < deadline);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted));
  const std::vector<pid_t> after = Gates();
  ASSERT_EQ(after.size(), 1U);
  EXPECT_NE(after, before);
}

TEST_F(GateProcessTest, ItEndsWithItsScheduler) {
  ASSERT_EQ(Gates().size(), 1U);
  server_.reset();
  gate_.reset();
  EXPECT_TRUE(Gates().empty());
}

TEST_F(GateProcessTest, AUserWhoTakesBackCallsIsShutOutAndNobodyElse) {
  if (!MayBeOtherUsers()) GTEST_SKIP() << "needs root, to be two users";
  const UniqueFd flooder = Connect(kSomeUser);
  const auto told = Tell(flooder.get(), Resets(300));
  ASSERT_TRUE(told.has_value()) << "the connection is to be closed";
  EXPECT_THAT(*told, HasSubstr("wait ten seconds"));
  const auto again = Tell(Connect(kSomeUser).get(), kGreeting);
  ASSERT_TRUE(again.has_value());
  EXPECT_THAT(*again, HasSubstr("wait ten seconds"));
  EXPECT_THAT(Ask(), StatusIs(absl::StatusCode::kAborted));
  const std::lock_guard lock(mutex_);
  EXPECT_THAT(refused_, testing::Not(testing::IsEmpty()));
  EXPECT_THAT(refused_, testing::Each(absl::StrCat("flood uid:", kSomeUser)));
}

TEST_F(GateProcessTest, WhoIsShutOutTakesNothingOfTheGate) {
  if (!MayBeOtherUsers()) GTEST_SKIP() << "needs root, to be two users";
  const UniqueFd flooder = Connect(kSomeUser);
  ASSERT_TRUE(Tell(flooder.get(), Resets(300)).has_value());
  const auto pass = [&] {
    return gate_->Pass(UniqueFd(::socket(AF_UNIX, SOCK_STREAM, 0)),
                       absl::StrCat("uid:", kSomeUser));
  };
  // What the gate says arrives soon.
  const Deadline deadline = DeadlineIn(kLongTime);
  while (pass().ok() && MonotonicClock::now() < deadline) {
  }
  EXPECT_THAT(pass(), StatusIs(absl::StatusCode::kResourceExhausted,
                               HasSubstr("wait ten seconds")));
}

TEST_F(GateProcessTest, OrdinaryNumbersOfResetsAreNoFlood) {
  const UniqueFd watchers = Connect(::geteuid());
  EXPECT_FALSE(Tell(watchers.get(), Resets(70)).has_value());
  EXPECT_THAT(Ask(), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(GateProcessTest, WhoConnectsTooOftenIsClosedAtOnceUnlessTrusted) {
  const auto pass_many = [&](const std::string& key) {
    absl::Status passed;
    for (int i = 0; i < 3'000 && passed.ok(); ++i) {
      passed = gate_->Pass(UniqueFd(::socket(AF_UNIX, SOCK_STREAM, 0)), key)
                   .status();
    }
    return passed;
  };
  EXPECT_THAT(pass_many("uid:1"), StatusIs(absl::StatusCode::kResourceExhausted,
                                           HasSubstr("wait four seconds")));
  EXPECT_THAT(pass_many("trusted"), IsOk());
  EXPECT_THAT(Ask(), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(GateProcessTest, ACompressedMessageIsRefused) {
  const auto stub = v1::HostService::NewStub(MakeChannel(path_).value());
  grpc::ClientContext context;
  SetDeadline(context, kLongTime);
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  v1::RegisterRequest request;
  request.set_name(std::string(100'000, 'x'));
  v1::RegisterResponse response;
  const absl::Status answer =
      FromGrpc(stub->Register(&context, request, &response));
  EXPECT_FALSE(answer.ok() || absl::IsAborted(answer)) << answer;
  EXPECT_THAT(Ask(), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(GateProcessTest, HeadersWithoutAnEndAreToldAndClosed) {
  const UniqueFd fd = Connect(::geteuid());
  std::string endless =
      kGreeting + Frame(4, 0, 0, "") +
      Frame(1, 0, 1, std::string("\0\x01x\x7f\x81\xff\xff\x7f", 8));
  for (int i = 0; i < 3; ++i) {
    endless += Frame(9, 0, 1, std::string(8'000, 'a'));
  }
  const auto told = Tell(fd.get(), endless);
  ASSERT_TRUE(told.has_value());
  EXPECT_THAT(*told, HasSubstr("16 KiB"));
  EXPECT_THAT(Ask(), StatusIs(absl::StatusCode::kAborted));
}

TEST(GateProcessStartTest, AProgramThatIsNotThereOrEndsIsNamed) {
  GateProcessOptions options = {.program = "/nowhere/fgnn-gate",
                                .on_refused = {}};
  EXPECT_THAT(GateProcess::Start(options),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nowhere")));
  options.program = "/bin/true";
  EXPECT_THAT(GateProcess::Start(options),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/bin/true")));
}

}  // namespace
}  // namespace fgnn
