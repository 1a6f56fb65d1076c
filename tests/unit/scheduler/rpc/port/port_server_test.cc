// The port with real certificates, made by tools/fgnn-certificates.
#include "scheduler/rpc/port/port_server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "fgnn/v1/job_service.grpc.pb.h"
#include "scheduler/figures/refusal_counts.h"
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
namespace {

namespace fs = std::filesystem;
using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::chrono::seconds kLong{100};
constexpr auto kOverwrite = fs::copy_options::overwrite_existing;

auto IsUnauthenticated(const std::string& words) {
  return StatusIs(StatusCode::kUnauthenticated, HasSubstr(words));
}

// A call that may take long.
class LongContext : public grpc::ClientContext {
 public:
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
    if (!fs::exists(made / "tls")) {
      Make("ca", made / "tls");
      Make("server 127.0.0.1", made / "tls");
      Make(absl::StrCat("user ", user_, " --role submit --out ",
                        (made / "mine").string()),
           made / "tls");
    }
    fs::copy(made.path(), temp_.path(), fs::copy_options::recursive);
  }

  // Runs tools/fgnn-certificates.
  void Make(const std::string& words, const fs::path& dir) {
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
        &refusals_);
    ASSERT_THAT(started, IsOk());
    server_ = *std::move(started);
  }

  // Starts without services or tokens.
  absl::Status StartBare() {
    return PortServer::Start({.address = {.host = "127.0.0.1", .port = 0},
                              .tls_dir = temp_ / "tls",
                              .tokens = {}},
                             nullptr, &refusals_)
        .status();
  }

  RemoteService Service(const fs::path& tls_dir) const {
    return {.address = server_->address(), .tls_dir = tls_dir};
  }
  std::unique_ptr<v1::JobService::Stub> Stub(const fs::path& tls_dir) const {
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
  absl::StatusOr<v1::Job> Ask(const fs::path& tls_dir) const {
    return Ask(*Stub(tls_dir));
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

TEST_F(PortServerTest, ACertificateNamesItsUser) {
  Start();
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::Job job, Ask(Mine()));
  EXPECT_EQ(job.user(),
            absl::StrCat("user ", user_, " (certificate, 127.0.0.1)"));
  // Its role decides, also where the user is the service's own or root.
  EXPECT_EQ(job.name(), "");
}

TEST_F(PortServerTest, ATokenNamesItsUserAndRole) {
  Make(absl::StrCat("token ", user_, " --role operate", OutTo("token")));
  Start();
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::Job job, Ask(temp_ / "token"));
  EXPECT_EQ(job.user(), absl::StrCat("user ", user_, " (token, 127.0.0.1)"));
  EXPECT_EQ(job.name(), "operator");
  std::ofstream(temp_ / "token" / "token") << "another";
  EXPECT_THAT(Ask(temp_ / "token"), StatusIs(StatusCode::kUnauthenticated));
}

TEST_F(PortServerTest, WithoutOrWithAWrongCertificateACallIsRefused) {
  Start();
  const fs::path mine = Mine();
  // Of another authority.
  Make("ca", temp_ / "other");
  Make(absl::StrCat("user ", user_, " --role operate", OutTo("theirs")),
       temp_ / "other");
  fs::copy_file(mine / "ca.pem", temp_ / "theirs" / "ca.pem", kOverwrite);
  EXPECT_THAT(Ask(temp_ / "theirs"),
              StatusIs(StatusCode::kUnauthenticated,
                       AllOf(HasSubstr(user_), HasSubstr("authority"))));
  // Expired.
  Make(absl::StrCat("user ", user_, " --role operate --days -1", OutTo("old")));
  EXPECT_THAT(Ask(temp_ / "old"), IsUnauthenticated("expired"));
  // Of a user whom this machine does not know.
  Make("user no-such-user --role submit" + OutTo("unknown"));
  EXPECT_THAT(Ask(temp_ / "unknown"), IsUnauthenticated("no-such-user"));
  // The service's own certificate is not for clients.
  fs::copy_file(temp_ / "tls" / "server.pem", mine / "user.pem", kOverwrite);
  fs::copy_file(temp_ / "tls" / "server.key", mine / "user.key", kOverwrite);
  EXPECT_THAT(Ask(mine), IsUnauthenticated("not for clients"));
  // None.
  fs::remove(mine / "user.pem");
  std::ofstream(mine / "token") << "abc";
  ASSERT_EQ(::chmod((mine / "token").c_str(), 0600), 0);
  EXPECT_THAT(Ask(mine), IsUnauthenticated("takes no tokens"));
  EXPECT_EQ(refusals_.of(RefusalReason::kWrongCredentials), 4U);
  EXPECT_EQ(refusals_.of(RefusalReason::kNoAccount), 1U);
  EXPECT_EQ(refusals_.of(RefusalReason::kNoCredentials), 0U);
  EXPECT_THAT(AskAsNobody(), IsUnauthenticated("neither a certificate"));
  EXPECT_EQ(refusals_.of(RefusalReason::kNoCredentials), 1U);
}

TEST_F(PortServerTest, ASmallRoleOrNoDeadlineIsRefused) {
  Start();
  const auto stub = Stub(Mine());
  LongContext context;
  v1::ShutdownResponse response;
  EXPECT_THAT(
      FromGrpc(stub->Shutdown(&context, v1::ShutdownRequest(), &response)),
      StatusIs(StatusCode::kPermissionDenied, HasSubstr("operate")));
  grpc::ClientContext endless;
  v1::Job job;
  EXPECT_THAT(FromGrpc(stub->GetJob(&endless, v1::GetJobRequest(), &job)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("deadline")));
  LongContext large;
  v1::GetJobRequest request;
  request.set_job_id(std::string(kMaxMessageBytes - 100, 'x'));
  EXPECT_THAT(FromGrpc(stub->GetJob(&large, request, &job)), IsOk());
  EXPECT_EQ(refusals_.of(RefusalReason::kRole), 1U);
  EXPECT_EQ(refusals_.of(RefusalReason::kDeadline), 1U);
}

TEST_F(PortServerTest, AStreamComesWholeWithItsEnd) {
  Start();
  const auto stub = Stub(Mine());
  LongContext context;
  const auto stream = stub->WatchJob(&context, v1::WatchJobRequest());
  v1::Job job;
  int count = 0;
  while (stream->Read(&job)) EXPECT_EQ(job.job_id(), std::to_string(count++));
  EXPECT_EQ(count, 100);
  EXPECT_THAT(FromGrpc(stream->Finish()),
              StatusIs(StatusCode::kDataLoss, "the end"));
}

TEST_F(PortServerTest, AStreamThatItsClientLeavesEnds) {
  FakeJobService::waits_ = true;
  Start();
  const auto stub = Stub(Mine());
  LongContext context;
  const auto stream = stub->WatchJob(&context, v1::WatchJobRequest());
  v1::Job job;
  ASSERT_TRUE(stream->Read(&job));
  context.TryCancel();
  EXPECT_THAT(FromGrpc(stream->Finish()), StatusIs(StatusCode::kCancelled));
  server_->Shutdown(kLong);  // Returns once the handler has.
  FakeJobService::waits_ = false;
}

TEST_F(PortServerTest, ANewCertificateIsTakenWithoutARestart) {
  Make("server 127.0.0.1 --renew --days -1");
  Start();
  EXPECT_THAT(ExplainUnreachable(Service(Mine())),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("expired")));
  Make("server 127.0.0.1 --renew");
  const Deadline deadline = DeadlineIn(kLong);
  while (!ExplainUnreachable(Service(Mine())).ok()) {
    ASSERT_LT(MonotonicClock::now(), deadline);
    std::this_thread::yield();
  }
  EXPECT_THAT(Ask(Mine()), IsOk());
}

TEST_F(PortServerTest, AFirstFileOfTokensOrAuthoritiesIsTakenWithoutARestart) {
  const fs::path authorities = temp_ / "tls" / "ca.pem";
  fs::rename(authorities, temp_ / "kept.pem");
  Start();
  EXPECT_THAT(Ask(Mine()), IsUnauthenticated("it has no ca.pem"));
  fs::rename(temp_ / "kept.pem", authorities);
  EXPECT_THAT(Ask(Mine()), IsOk());
  const fs::path token = temp_ / "token";
  fs::create_directory(token);
  fs::copy_file(authorities, token / "ca.pem");
  std::ofstream(token / "token") << "abc";
  ASSERT_EQ(::chmod((token / "token").c_str(), 0600), 0);
  EXPECT_THAT(Ask(token), IsUnauthenticated("takes no tokens"));
  fs::remove_all(token);
  Make(absl::StrCat("token ", user_, " --role submit", OutTo("token")));
  EXPECT_THAT(Ask(token), IsOk());
}

TEST_F(PortServerTest, AClientTellsWhyItCannotReachTheService) {
  Start();
  const RemoteService right = Service(Mine());
  EXPECT_THAT(ExplainUnreachable(right), IsOk());
  const auto wrong_for = [](const std::string& words) {
    return StatusIs(StatusCode::kFailedPrecondition, HasSubstr(words));
  };
  RemoteService wrong = right;
  wrong.address.host = "localhost";
  EXPECT_THAT(ExplainUnreachable(wrong),
              wrong_for("other names than localhost"));
  wrong = right;
  wrong.insecure = true;
  EXPECT_THAT(ExplainUnreachable(wrong), wrong_for("leave --insecure out"));
  Make("ca", temp_ / "other");
  wrong = right;
  wrong.tls_dir = temp_ / "other";
  EXPECT_THAT(ExplainUnreachable(wrong),
              wrong_for("not signed by the authority"));
  EXPECT_THAT(MakeRemoteChannel(wrong),
              StatusIs(StatusCode::kNotFound, HasSubstr("user.pem")));
  server_.reset();
  EXPECT_THAT(ExplainUnreachable(right), StatusIs(StatusCode::kUnavailable));
}

// Accepts one connection, sends `answer`, and closes it.
absl::Status ExplainAnswer(const std::string& answer, RemoteService service) {
  FGNN_ASSIGN_OR_RETURN(const UniqueFd socket,
                        ListenOn({.host = "127.0.0.1", .port = 0}));
  FGNN_ASSIGN_OR_RETURN(service.address, BoundAddress(socket.get()));
  std::thread peer([&] {
    pollfd comes = {.fd = socket.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&comes, 1, 100'000), 1);
    const UniqueFd connection(::accept(socket.get(), nullptr, nullptr));
    std::string hello(16, ' ');
    EXPECT_GT(::recv(connection.get(), hello.data(), hello.size(), 0), 0);
    EXPECT_EQ(::send(connection.get(), answer.data(), answer.size(), 0),
              static_cast<ssize_t>(answer.size()));
    ::shutdown(connection.get(), SHUT_WR);
    while (::recv(connection.get(), hello.data(), hello.size(), 0) > 0) {
    }
  });
  absl::Status why = ExplainUnreachable(service);
  peer.join();
  return why;
}

TEST_F(PortServerTest, OnlyAnAnswerInTheClearLeadsToInsecure) {
  const RemoteService service = {.address = {}, .tls_dir = Mine()};
  EXPECT_THAT(
      ExplainAnswer("", service),
      StatusIs(StatusCode::kUnavailable,
               AllOf(HasSubstr("try again"), Not(HasSubstr("--insecure")))));
  // TLS's alert "internal error".
  EXPECT_THAT(
      ExplainAnswer({"\x15\x03\x03\x00\x02\x02\x50", 7}, service),
      StatusIs(StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("alert"), Not(HasSubstr("--insecure")))));
  // An empty SETTINGS of HTTP/2, and the answer of an HTTP/1.1 server.
  for (const std::string& clear :
       {std::string("\0\0\0\4\0\0\0\0\0", 9),
        std::string("HTTP/1.1 400 Bad Request\r\n\r\n")}) {
    EXPECT_THAT(
        ExplainAnswer(clear, service),
        StatusIs(StatusCode::kFailedPrecondition, HasSubstr("add --insecure")));
  }
}

TEST_F(PortServerTest, AKeyThatOthersCanReadIsRefusedWithTheCommand) {
  const fs::path key = temp_ / "tls" / "server.key";
  ASSERT_EQ(::chmod(key.c_str(), 0640), 0);
  EXPECT_THAT(StartBare(), StatusIs(StatusCode::kPermissionDenied,
                                    HasSubstr("chmod 600 " + key.string())));
}

// An authority of their own would make others operators.
TEST_F(PortServerTest, AnAuthorityThatOthersCanChangeIsRefused) {
  const fs::path authority = temp_ / "tls" / "ca.pem";
  for (const mode_t mode : {0664, 0646}) {
    ASSERT_EQ(::chmod(authority.c_str(), mode), 0);
    EXPECT_THAT(StartBare(),
                StatusIs(StatusCode::kPermissionDenied,
                         HasSubstr("chmod go-w " + authority.string())));
  }
  ASSERT_EQ(::chmod(authority.c_str(), 0644), 0);
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  ASSERT_EQ(::chown(authority.c_str(), 65534, -1), 0);
  EXPECT_THAT(StartBare(), StatusIs(StatusCode::kPermissionDenied,
                                    HasSubstr("who may change it")));
}

TEST_F(PortServerTest, ConnectionsBeyondTheLimitAreClosed) {
  Start({.per_address = 2, .in_all = 10});
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::Job job, Ask(Mine()));
  const auto first = Stub(Mine());
  const auto second = Stub(Mine());
  EXPECT_THAT(Ask(*first), IsOk());
  EXPECT_THAT(Ask(*second), IsOk());
  EXPECT_THAT(Ask(Mine()), StatusIs(StatusCode::kUnavailable));
  EXPECT_THAT(Ask(*first), IsOk());
  EXPECT_GE(refusals_.of(RefusalReason::kTooManyConnections), 1U);
}

}  // namespace
}  // namespace fgnn
