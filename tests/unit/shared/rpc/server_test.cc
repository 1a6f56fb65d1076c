#include "shared/rpc/server.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "shared/base/threads/thread.h"
#include "shared/rpc/channel.h"
#include "shared/rpc/sockets/socket_name.h"
#include "tests/fakes/descriptor_limit.h"
#include "tests/fakes/fake_host_service.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/fakes/user_connection.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

constexpr milliseconds kLong{30'000};

class RpcServerTest : public testing::Test {
 protected:
  absl::Status Register(const v1::RegisterRequest& request,
                        milliseconds timeout = kLong) {
    absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = MakeChannel(path_);
    if (!channel.ok()) return channel.status();
    grpc::ClientContext context;
    if (timeout.count() > 0) SetDeadline(context, timeout);
    v1::RegisterResponse response;
    return FromGrpc(v1::HostService::NewStub(*channel)->Register(
        &context, request, &response));
  }

  TempFolder folder_;
  fs::path path_ = folder_ / "scheduler.sock";
  FakeHostService service_{/*generation=*/1};
};

TEST_F(RpcServerTest, AnswersOnASocketForItsUserAlone) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server,
                            RpcServer::Start(path_, {&service_}));
  struct stat info;
  ASSERT_EQ(::lstat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode, static_cast<mode_t>(S_IFSOCK | 0600));
  EXPECT_THAT(Register({}), IsOk());
}

TEST_F(RpcServerTest, LeavesNothingBehind) {
  {
    FGNN_ASSERT_OK_AND_ASSIGN(const auto server,
                              RpcServer::Start(path_, {&service_}));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
    server->Shutdown(milliseconds(0));
    EXPECT_TRUE(fs::is_empty(folder_.path()));
    server->Shutdown(milliseconds(0));
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_F(RpcServerTest, WhatAServerLeftThatWasKilledWhileItStartedIsRemoved) {
  // Without destructors, as by SIGKILL.
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const absl::StatusOr<SocketName> name = SocketName::Claim(path_);
    if (!name.ok()) ::_exit(1);
    const absl::StatusOr<UniqueFd> socket = name->Listen(SOCK_STREAM, 1);
    ::_exit(socket.ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_FALSE(fs::is_empty(folder_.path()));
  const fs::path other = folder_ / ".somebody's";
  fs::create_directory(other);
  std::ofstream(other / "file").put('x');
  SocketName::RemoveUnpublished(folder_.path());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
  EXPECT_TRUE(fs::exists(other / "file"));
}

TEST_F(RpcServerTest, RefusesACallWithoutADeadline) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server,
                            RpcServer::Start(path_, {&service_}));
  EXPECT_THAT(Register({}, milliseconds(0)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("needs a deadline")));
  EXPECT_THAT(Register({}, std::chrono::hours(2)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_TRUE(service_.registrations().empty());
}

TEST_F(RpcServerTest, RefusesAMessageBeyondOneMebibyteAndLives) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server,
                            RpcServer::Start(path_, {&service_}));
  // A client that does not keep to the limit itself.
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  const auto stub = v1::HostService::NewStub(grpc::CreateCustomChannel(
      "unix:" + path_.string(), grpc::InsecureChannelCredentials(), arguments));
  v1::RegisterRequest request;
  request.set_name(std::string(kMaxMessageBytes + 1, 'x'));
  grpc::ClientContext context;
  SetDeadline(context, kLong);
  v1::RegisterResponse response;
  EXPECT_THAT(FromGrpc(stub->Register(&context, request, &response)),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(Register({}), IsOk());
}

TEST_F(RpcServerTest, RefusesASocketInUseWithoutHarmingIt) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server,
                            RpcServer::Start(path_, {&service_}));
  FakeHostService second(/*generation=*/2);
  EXPECT_THAT(RpcServer::Start(path_, {&second}),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       "socket in use: " + path_.string() +
                           "; another service runs in this state folder"));
  EXPECT_THAT(Register({}), IsOk());
  EXPECT_EQ(service_.registrations().size(), 1U);
}

// A server that was killed leaves its socket's name, on which nobody listens.
TEST_F(RpcServerTest, ReplacesTheSocketOfADeadServer) {
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  FGNN_ASSERT_OK_AND_ASSIGN(const sockaddr_un address,
                            MakeSocketAddress(path_));
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address),
                   sizeof(address)),
            0);
  ::close(listener);
  ASSERT_TRUE(fs::exists(path_));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server,
                            RpcServer::Start(path_, {&service_}));
  EXPECT_THAT(Register({}), IsOk());
}

TEST_F(RpcServerTest, DoesNotRemoveAFileThatIsNoSocket) {
  std::ofstream(path_) << "mine";
  EXPECT_THAT(
      RpcServer::Start(path_, {&service_}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("in the way")));
  EXPECT_TRUE(fs::is_regular_file(path_));
}

TEST_F(RpcServerTest, DoesNotRemoveItsSuccessorsSocket) {
  FGNN_ASSERT_OK_AND_ASSIGN(auto first, RpcServer::Start(path_, {&service_}));
  fs::remove(path_);
  FakeHostService second_service(/*generation=*/2);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto second,
                            RpcServer::Start(path_, {&second_service}));
  first.reset();
  EXPECT_THAT(Register({}), IsOk());
  EXPECT_EQ(second_service.registrations().size(), 1U);
}

TEST_F(RpcServerTest, NamesAPathThatIsTooLongOrNotThere) {
  const fs::path too_long = folder_ / std::string(100, 'x');
  EXPECT_THAT(
      RpcServer::Start(too_long, {&service_}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("107; choose")));
  EXPECT_THAT(MakeChannel(too_long),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(RpcServer::Start(folder_ / "none/s.sock", {&service_}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none/s.sock")));
}

TEST_F(RpcServerTest, ServesUnderANameWithSpecialCharacters) {
  path_ = folder_ / "a b%20?#ü.sock";
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server,
                            RpcServer::Start(path_, {&service_}));
  EXPECT_THAT(Register({}), IsOk());
}

TEST_F(RpcServerTest, AClientReconnectsToARestartedServer) {
  FGNN_ASSERT_OK_AND_ASSIGN(const auto channel, MakeChannel(path_));
  const auto stub = v1::HostService::NewStub(channel);
  // The first call after a restart may still go to the old connection.
  const auto call_until_answered = [&] {
    const Deadline deadline = DeadlineIn(kLong);
    absl::Status status;
    do {
      grpc::ClientContext context;
      context.set_wait_for_ready(true);
      SetDeadline(context, kLong);
      v1::RegisterResponse response;
      status = FromGrpc(stub->Register(&context, {}, &response));
    } while (absl::IsUnavailable(status) && MonotonicClock::now() < deadline);
    return status;
  };
  for (int round = 0; round < 3; ++round) {
    FGNN_ASSERT_OK_AND_ASSIGN(const auto server,
                              RpcServer::Start(path_, {&service_}));
    EXPECT_THAT(call_until_answered(), IsOk());
  }
}

TEST_F(RpcServerTest, ACallWithoutAServerIsUnavailable) {
  EXPECT_THAT(Register({}), StatusIs(absl::StatusCode::kUnavailable));
}

TEST_F(RpcServerTest, WaitForServerSaysWhoIsAway) {
  EXPECT_THAT(
      WaitForServer(path_, DeadlineIn(milliseconds(50))),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr(path_.string())));
  std::unique_ptr<RpcServer> server;
  Thread starter("starter", [&] {
    auto started = RpcServer::Start(path_, {&service_});
    if (started.ok()) server = *std::move(started);
  });
  EXPECT_THAT(WaitForServer(path_, DeadlineIn(kLong)), IsOk());
}

// Answers with the user that its server is for, as a generation.
class PerUserServerTest : public RpcServerTest {
 protected:
  void Start(ConnectionLimits limits = {}) {
    auto started = RpcServer::StartForUsers(
        path_,
        [](uid_t user, const ConnectionPeers&) {
          RpcServer::Services services;
          services.services.push_back(std::make_unique<FakeHostService>(user));
          return services;
        },
        limits);
    FGNN_ASSERT_OK(started.status());
    server_ = *std::move(started);
  }
  static absl::StatusOr<uint64_t> Ask(v1::HostService::Stub& stub) {
    grpc::ClientContext context;
    SetDeadline(context, kLong);
    context.AddMetadata("fgnn-user", "root");
    v1::RegisterResponse response;
    const absl::Status status =
        FromGrpc(stub.Register(&context, {}, &response));
    if (!status.ok()) return status;
    return response.scheduler_generation();
  }
  std::unique_ptr<v1::HostService::Stub> Connect(uid_t user) const {
    return v1::HostService::NewStub(ChannelOf(user, path_).value());
  }

  std::unique_ptr<RpcServer> server_;
};

TEST_F(PerUserServerTest, KnowsEachUserFromTheKernel) {
  if (!MayBeOtherUsers()) GTEST_SKIP() << "needs root, to be two users";
  Start();
  struct stat info;
  ASSERT_EQ(::lstat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode, static_cast<mode_t>(S_IFSOCK | 0660));
  const auto some = Connect(kSomeUser);
  const auto other = Connect(kOtherUser);
  EXPECT_EQ(Ask(*some).value(), kSomeUser);
  EXPECT_EQ(Ask(*other).value(), kOtherUser);
  EXPECT_EQ(Ask(*some).value(), kSomeUser);
}

TEST_F(RpcServerTest, AServerOfItsUserTurnsOthersAway) {
  if (!MayBeOtherUsers()) GTEST_SKIP() << "needs root, to be two users";
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server,
                            RpcServer::Start(path_, {&service_}));
  FGNN_ASSERT_OK_AND_ASSIGN(const UniqueFd fd, ConnectAs(kSomeUser, path_));
  char byte = 0;
  EXPECT_EQ(::read(fd.get(), &byte, 1), 0) << "the connection is to be closed";
  EXPECT_THAT(Register({}), IsOk());
}

TEST_F(PerUserServerTest, OneUsersConnectionsAreNotAnothers) {
  if (!MayBeOtherUsers()) GTEST_SKIP() << "needs root, to be two users";
  Start({.per_user = 2, .in_all = 100});
  FGNN_ASSERT_OK_AND_ASSIGN(UniqueFd first, ConnectAs(0, path_));
  FGNN_ASSERT_OK_AND_ASSIGN(const UniqueFd second, ConnectAs(0, path_));
  FGNN_ASSERT_OK_AND_ASSIGN(const auto channel, MakeChannel(path_));
  const auto refused = v1::HostService::NewStub(channel);
  EXPECT_THAT(Ask(*refused), StatusIs(absl::StatusCode::kResourceExhausted,
                                      AllOf(HasSubstr("2 of a user"),
                                            HasSubstr(path_.string()))));
  EXPECT_THAT(Ask(*Connect(kOtherUser)), IsOk());
  // The server notices a moment later that a client has gone. The client that
  // was refused and goes on asking is then served.
  first.Reset();
  const Deadline deadline = DeadlineIn(kLong);
  absl::Status status = absl::ResourceExhaustedError("");
  while (absl::IsResourceExhausted(status) &&
         MonotonicClock::now() < deadline) {
    status = Ask(*refused).status();
  }
  EXPECT_THAT(status, IsOk());
}

TEST_F(PerUserServerTest, OneUsersCallsTakeNoThreadOfAnothers) {
  if (!MayBeOtherUsers()) GTEST_SKIP() << "needs root, to be two users";
  // The listener's thread makes the services.
  std::mutex mutex;
  std::vector<FakeHostService*> made;
  FGNN_ASSERT_OK_AND_ASSIGN(
      server_,
      RpcServer::StartForUsers(path_, [&](uid_t user, const ConnectionPeers&) {
        auto service = std::make_unique<FakeHostService>(user);
        service->Hang(user == kSomeUser);
        const std::lock_guard lock(mutex);
        made.push_back(service.get());
        RpcServer::Services services;
        services.services.push_back(std::move(service));
        return services;
      }));
  constexpr int kCalls = 80;  // More than a user has threads.
  const auto hanging = Connect(kSomeUser);
  struct Call {
    grpc::ClientContext context;
    v1::HeartbeatResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::HeartbeatResponse>>
        reader;
  };
  grpc::CompletionQueue queue;
  std::vector<Call> calls(kCalls);
  for (Call& call : calls) {
    SetDeadline(call.context, kLong);
    call.reader = hanging->AsyncHeartbeat(&call.context, {}, &queue);
    call.reader->Finish(&call.response, &call.status, &call);
  }
  // The first answer is of a call for which there was no thread.
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(static_cast<Call*>(tag)->status.error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Ask(*Connect(kOtherUser)).value(), kOtherUser);
  {
    const std::lock_guard lock(mutex);
    for (FakeHostService* service : made) service->Hang(false);
  }
  for (int i = 1; i < kCalls; ++i) ASSERT_TRUE(queue.Next(&tag, &ok));
}

// gRPC's own listener is deaf for good after that.
TEST_F(RpcServerTest, ServesAgainOnceThereAreDescriptors) {
  if (!kMayRunOutOfDescriptors) {
    GTEST_SKIP() << "UndefinedBehaviorSanitizer needs descriptors";
  }
  FGNN_ASSERT_OK_AND_ASSIGN(const auto server,
                            RpcServer::Start(path_, {&service_}));
  FGNN_ASSERT_OK_AND_ASSIGN(const sockaddr_un address,
                            MakeSocketAddress(path_));
  constexpr int kRefused = 20;
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 3 * kRefused; ++i) {
    clients.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  int num_refused = 0;
  {
    const DescriptorLimit none = DescriptorLimit::NoneLeft();
    for (const UniqueFd& client : clients) {
      if (num_refused == kRefused) break;
      ASSERT_EQ(
          ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address),
                    sizeof(address)),
          0);
      // gRPC's threads may still close descriptors of tests before this one. A
      // client that gets such a descriptor is greeted, and keeps it.
      char byte = 0;
      const ssize_t size = ::read(client.get(), &byte, 1);
      ASSERT_GE(size, 0);
      if (size == 0) ++num_refused;
    }
  }
  EXPECT_EQ(num_refused, kRefused);
  EXPECT_THAT(Register({}), IsOk());
}

TEST(StatusTest, PassesThroughGrpcUnchanged) {
  for (int code = 0; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code),
                              code == 0 ? "" : "why ü");
    EXPECT_EQ(FromGrpc(ToGrpc(status)), status);
  }
  EXPECT_LE(ToGrpc(absl::InternalError(std::string(100'000, 'x')))
                .error_message()
                .size(),
            8'000U);
}

// gRPC and protobuf want UTF-8, and a terminal obeys control characters.
TEST(StatusTest, AMessageIsOneLineOfUtf8) {
  EXPECT_EQ(ToGrpc(absl::InternalError("a\xff\n\x1b[31m")).error_message(),
            "a\\xff\\n\\x1b[31m");
}

}  // namespace
}  // namespace fgnn
