#include "scheduler/rpc/port/port_server.h"

#include <sys/stat.h>

#include "tests/unit/scheduler/rpc/port/port_server_fixture.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

constexpr auto kOverwrite = fs::copy_options::overwrite_existing;

auto IsUnauthenticated(const std::string& words) {
  return StatusIs(StatusCode::kUnauthenticated, HasSubstr(words));
}

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

TEST_F(PortServerTest, WithoutOrWithAWrongCertificateNoCallIsHeard) {
  Start();
  const fs::path mine = Mine();
  // Of another authority.
  Make("ca", temp_ / "other");
  Make(absl::StrCat("user ", user_, " --role operate", OutTo("theirs")),
       temp_ / "other");
  fs::copy_file(mine / "ca.pem", temp_ / "theirs" / "ca.pem", kOverwrite);
  EXPECT_THAT(WhyNot(temp_ / "theirs"),
              StatusIs(StatusCode::kUnauthenticated,
                       AllOf(HasSubstr(user_), HasSubstr("authority"))));
  // Expired.
  Make(absl::StrCat("user ", user_, " --role operate --days -1", OutTo("old")));
  EXPECT_THAT(WhyNot(temp_ / "old"), IsUnauthenticated("expired"));
  // The service's own certificate is not for clients.
  fs::copy_file(temp_ / "tls" / "server.pem", mine / "user.pem", kOverwrite);
  fs::copy_file(temp_ / "tls" / "server.key", mine / "user.key", kOverwrite);
  EXPECT_THAT(WhyNot(mine), IsUnauthenticated("not for clients"));
  EXPECT_EQ(refusals_.of(RefusalReason::kNoCredentials), 0U);
  // None, and a token, of which the service has no file.
  fs::remove(mine / "user.pem");
  std::ofstream(mine / "token") << "abc";
  ASSERT_EQ(::chmod((mine / "token").c_str(), 0600), 0);
  EXPECT_THAT(WhyNot(mine), IsUnauthenticated("without a certificate"));
  EXPECT_THAT(AskAsNobody(), StatusIs(StatusCode::kUnavailable));
  WaitFor([&] { return refusals_.of(RefusalReason::kWrongCredentials) >= 3; });
  WaitFor([&] { return refusals_.of(RefusalReason::kNoCredentials) >= 2; });
  // A client that is refused connects again only after a pause.
  EXPECT_LT(refusals_.of(RefusalReason::kWrongCredentials), 30U);
}

TEST_F(PortServerTest, WithTokensEachCallIsAskedWhoMakesIt) {
  Make(absl::StrCat("token ", user_, " --role submit", OutTo("token")));
  Start();
  // Of a user whom this machine does not know.
  Make("user no-such-user --role submit" + OutTo("unknown"));
  EXPECT_THAT(Ask(temp_ / "unknown"), IsUnauthenticated("no-such-user"));
  EXPECT_EQ(refusals_.of(RefusalReason::kNoAccount), 1U);
  EXPECT_THAT(AskAsNobody(), IsUnauthenticated("neither a certificate"));
  EXPECT_EQ(refusals_.of(RefusalReason::kNoCredentials), 1U);
  Make(absl::StrCat("user ", user_, " --role operate --days -1", OutTo("old")));
  EXPECT_THAT(Ask(temp_ / "old"), IsUnauthenticated("expired"));
  EXPECT_EQ(refusals_.of(RefusalReason::kWrongCredentials), 1U);
}

TEST_F(PortServerTest, TheCertificatesEndIsKnown) {
  Start();
  WaitFor([&] { return refusals_.expiry() > 0; });
  const int64_t expiry = refusals_.expiry();
  Make("server 127.0.0.1 --renew --days 7");
  WaitFor([&] { return refusals_.expiry() != expiry; });
  EXPECT_THAT(Ask(Mine()), IsOk());
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

TEST_F(PortServerTest, ANewCertificateIsTakenWithoutARestart) {
  Make("server 127.0.0.1 --renew --days -1");
  Start();
  EXPECT_THAT(ExplainUnreachable(Service(Mine())),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("expired")));
  Make("server 127.0.0.1 --renew");
  const Deadline deadline = DeadlineIn(LongContext::kLong);
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
  const fs::path token = temp_ / "token";
  fs::create_directory(token);
  fs::copy_file(temp_ / "kept.pem", token / "ca.pem");
  std::ofstream(token / "token") << "abc";
  ASSERT_EQ(::chmod((token / "token").c_str(), 0600), 0);
  EXPECT_THAT(Ask(token), IsUnauthenticated("takes no tokens"));
  fs::rename(temp_ / "kept.pem", authorities);
  EXPECT_THAT(Ask(Mine()), IsOk());
  EXPECT_THAT(WhyNot(token), IsUnauthenticated("without a certificate"));
  fs::remove_all(token);
  Make(absl::StrCat("token ", user_, " --role submit", OutTo("token")));
  EXPECT_THAT(Ask(token), IsOk());
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
