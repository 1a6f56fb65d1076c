// The parts of the port, without a connection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "fgnn/v1/device_service.pb.h"
#include "fgnn/v1/executor.pb.h"
#include "fgnn/v1/host.pb.h"
#include "fgnn/v1/job_service.pb.h"
#include "fgnn/v1/member.pb.h"
#include "google/protobuf/descriptor.h"
#include "scheduler/rpc/callers/user_calls.h"
#include "scheduler/rpc/port/call_counts.h"
#include "scheduler/rpc/port/port_options.h"
#include "scheduler/rpc/port/refusal_log.h"
#include "scheduler/rpc/port/role.h"
#include "scheduler/rpc/port/token_file.h"
#include "shared/telemetry/line_limit.h"
#include "shared/telemetry/log.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

std::set<std::string> MethodsInProto() {
  std::set<std::string> methods;
  for (const google::protobuf::FileDescriptor* file :
       {v1::SubmitJobRequest::descriptor()->file(),
        v1::Device::descriptor()->file(),
        v1::ReportMemberRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      const google::protobuf::ServiceDescriptor& service = *file->service(i);
      for (int j = 0; j < service.method_count(); ++j) {
        methods.insert(absl::StrCat("/", service.full_name(), "/",
                                    service.method(j)->name()));
      }
    }
  }
  return methods;
}

TEST(RoleTest, EachMethodOfThePortHasOneRule) {
  std::multiset<std::string> ruled;
  for (const MethodRule& rule : MethodRules()) {
    ruled.insert(std::string(rule.method));
  }
  const std::set<std::string> methods = MethodsInProto();
  EXPECT_GE(methods.size(), 15U);
  EXPECT_THAT(ruled, testing::ElementsAreArray(methods));
}

// The name of a call is that of its requests' method.
TEST(RoleTest, EachMethodHasRequestsOfItsOwn) {
  for (const google::protobuf::FileDescriptor* file :
       {v1::SubmitJobRequest::descriptor()->file(),
        v1::Device::descriptor()->file(),
        v1::ReportMemberRequest::descriptor()->file()}) {
    const google::protobuf::ServiceDescriptor& service = *file->service(0);
    for (int i = 0; i < service.method_count(); ++i) {
      EXPECT_EQ(MethodOf(*service.method(i)->input_type()),
                absl::StrCat("/", service.full_name(), "/",
                             service.method(i)->name()));
    }
  }
  EXPECT_EQ(MethodOf(*v1::Job::descriptor()), "");
}

TEST(RoleTest, AnOperatorMaySubmitAndASubmitterMayNotOperate) {
  const char* const get = "/fgnn.v1.JobService/GetJob";
  const char* const end = "/fgnn.v1.JobService/Shutdown";
  EXPECT_THAT(CheckMayCall(RemoteRole::kSubmit, get), IsOk());
  EXPECT_THAT(CheckMayCall(RemoteRole::kOperate, get), IsOk());
  EXPECT_THAT(CheckMayCall(RemoteRole::kOperate, end), IsOk());
  EXPECT_THAT(CheckMayCall(RemoteRole::kSubmit, end),
              StatusIs(StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("Shutdown"), HasSubstr("operate"),
                             HasSubstr("submit"))));
  EXPECT_THAT(CheckMayCall(RemoteRole::kWorker, get),
              StatusIs(StatusCode::kPermissionDenied));
}

TEST(RoleTest, AMethodWithoutARuleIsRefused) {
  for (const char* method :
       {"/fgnn.v1.JobService/Nothing", "", "/grpc.health.v1.Health/Check",
        "/fgnn.v1.JobService/GetJob/", "/fgnn.v1.HostService/Register",
        "/fgnn.v1.ExecutorService/AttachJob"}) {
    for (const RemoteRole role :
         {RemoteRole::kSubmit, RemoteRole::kOperate, RemoteRole::kWorker}) {
      EXPECT_THAT(CheckMayCall(role, method),
                  StatusIs(StatusCode::kPermissionDenied))
          << method;
    }
  }
}

void Write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::string HexHash(const std::string& token) {
  const TokenHash hash = HashToken(token);
  return absl::BytesToHexString(
      std::string(reinterpret_cast<const char*>(hash.data()), hash.size()));
}

TEST(TokenFileTest, FindsWhoHasAToken) {
  const TempFolder temp;
  const std::filesystem::path path = temp / "tokens";
  Write(temp / "tokens", absl::StrCat("# who\n\nann submit ", HexHash("abc"),
                                      "\nbob  operate\t", HexHash("def")));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto file, TokenFile::Open(path));
  FGNN_ASSERT_OK_AND_ASSIGN(const Identity ann, file->Find("abc"));
  EXPECT_EQ(ann.name, "ann");
  EXPECT_EQ(ann.role, RemoteRole::kSubmit);
  EXPECT_EQ(ann.proof, CallerProof::kToken);
  FGNN_ASSERT_OK_AND_ASSIGN(const Identity bob, file->Find("def"));
  EXPECT_EQ(bob.role, RemoteRole::kOperate);
  for (const std::string& token : {std::string(), std::string("abcd"),
                                   HexHash("abc"), std::string("ab\0c", 4)}) {
    EXPECT_THAT(file->Find(token), StatusIs(StatusCode::kUnauthenticated));
  }
  // A token that was taken out of the file counts no more.
  std::filesystem::remove(path);
  EXPECT_THAT(file->Find("abc"), StatusIs(StatusCode::kUnauthenticated));
  Write(temp / "tokens", "");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  EXPECT_THAT(file->Find("abc"), StatusIs(StatusCode::kUnauthenticated));
}

TEST(TokenFileTest, LogsWhatItCannotReadAndTriesAgain) {
  const TempFolder temp;
  const std::filesystem::path path = temp / "tokens";
  Write(path, "");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  FGNN_ASSERT_OK_AND_ASSIGN(const auto file, TokenFile::Open(path));
  std::filesystem::remove(path);
  InitLog("test");
  testing::internal::CaptureStderr();
  EXPECT_THAT(file->Find("abc"), StatusIs(StatusCode::kUnauthenticated));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("no token is taken"), HasSubstr(path.string())));
  Write(path, absl::StrCat("ann submit ", HexHash("abc"), "\n"));
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  // No descriptor is left to open the file with.
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto refused = file->Find("abc");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_THAT(refused, StatusIs(StatusCode::kUnauthenticated,
                                HasSubstr("cannot read its tokens")));
  EXPECT_THAT(file->Find("abc"), IsOk());
}

TEST(TokenFileTest, AFileThatOthersCanReadIsRefusedWithTheCommand) {
  const TempFolder temp;
  const std::filesystem::path path = temp / "tokens";
  Write(temp / "tokens", "");
  for (const mode_t mode : {0640, 0604, 0620}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_THAT(TokenFile::Open(path),
                StatusIs(StatusCode::kPermissionDenied,
                         HasSubstr("chmod 600 " + path.string())));
  }
}

TEST(TokenFileTest, AFileThatRootAloneCanReadIsRefusedWithTheCommand) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  const TempFolder temp;
  const std::filesystem::path path = temp / "tokens";
  Write(path, "");
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_EQ(::chmod(temp.path().c_str(), 0755), 0);
  constexpr uid_t kOtherUser = 65534;
  ASSERT_EQ(::seteuid(kOtherUser), 0);
  const absl::Status refused = TokenFile::Open(path).status();
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_THAT(refused, StatusIs(StatusCode::kPermissionDenied,
                                AllOf(HasSubstr("is of user root"),
                                      HasSubstr("chown "))));
}

TEST(TokenFileTest, AWrongLineIsNamed) {
  for (const std::string& line :
       {std::string("ann submit"), "ann root " + HexHash("x"),
        std::string("ann submit 0123"), "ann submit g" + HexHash("x").substr(1),
        "ann submit " + HexHash("x") + " more"}) {
    EXPECT_THAT(ParseTokens("#\n" + line),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("line 2")))
        << line;
  }
}

TEST(PortOptionsTest, SpeaksInTheClearOnTheLoopbackOrWhereItIsSaid) {
  const TempFolder temp;
  Write(temp / "tokens", "");
  const PortWords clear = {.tokens = (temp / "tokens").string()};
  const auto read = [&](const std::string& listen, bool insecure) {
    PortWords words = clear;
    words.listen = listen;
    words.insecure = insecure;
    return ReadPortOptions(words);
  };
  EXPECT_THAT(read("127.0.0.1:7070", false), IsOk());
  EXPECT_THAT(read("[::1]:7070", false), IsOk());
  EXPECT_THAT(read("0.0.0.0:7070", true), IsOk());
  for (const char* open : {"0.0.0.0:7070", "[::]:7070", "10.0.0.7:7070"}) {
    EXPECT_THAT(read(open, false),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(open), HasSubstr("--tls-dir"),
                               HasSubstr("--insecure"))));
  }
}

TEST(PortOptionsTest, AnEmptyAddressIsNoPort) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const auto options,
      ReadPortOptions({.listen = "", .tls_dir = "/tls", .tokens = "/tokens"}));
  EXPECT_FALSE(options.has_value());
}

TEST(PortOptionsTest, RefusesAPortWhoseCallersCouldNotShowThemselves) {
  const TempFolder temp;
  EXPECT_THAT(ReadPortOptions({.listen = "127.0.0.1:0"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--tokens")));
  const PortWords with_tls = {.listen = "0.0.0.0:0",
                              .tls_dir = temp.path().string()};
  EXPECT_THAT(ReadPortOptions(with_tls),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("ca.pem")));
  Write(temp / "tokens", "");
  FGNN_ASSERT_OK_AND_ASSIGN(const auto options, ReadPortOptions(with_tls));
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->tokens, temp / "tokens");
  EXPECT_THAT(ReadPortOptions({.tokens = "/tokens"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--listen")));
  EXPECT_THAT(ReadPortOptions({.listen = "127.0.0.1:0", .tokens = "/tokens"}),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--tokens /tokens"),
                             HasSubstr("fgnn-certificates"))));
}

TEST(CallCountsTest, NoUserTakesAllPlacesAndAnOperatorGetsOne) {
  CallCounts counts;
  std::vector<std::unique_ptr<CallCounts::Place>> places;
  const auto take = [&](const std::string& name, int number) {
    for (int i = 0; i < number; ++i) {
      auto place = counts.Take({.name = name});
      ASSERT_THAT(place, IsOk()) << name << ' ' << i;
      places.push_back(*std::move(place));
    }
  };
  take("ann", CallCounts::kMostCallsOfUser);
  EXPECT_THAT(counts.Take({.name = "ann", .role = RemoteRole::kWorker}),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("the user")));
  places.pop_back();
  take("ann", 1);
  const int others = CallCounts::kMostCalls / CallCounts::kMostCallsOfUser;
  for (int i = 1; i < others; ++i) {
    take(absl::StrCat("user", i), CallCounts::kMostCallsOfUser);
  }
  EXPECT_THAT(counts.Take({.name = "bob"}),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("later")));
  EXPECT_THAT(counts.Take({.name = "ann", .role = RemoteRole::kOperate}),
              IsOk());
  places.clear();
  take("ann", CallCounts::kMostCallsOfUser);
}

TEST(LineLimitTest, LeavesLinesOutAndTellsHowMany) {
  LineLimit limit;
  const Deadline start = MonotonicClock::now();
  for (uint64_t i = 0; i < LineLimit::kMostLines; ++i) {
    EXPECT_EQ(limit.Ask(start), 0U);
  }
  for (int i = 0; i < 7; ++i) EXPECT_EQ(limit.Ask(start), std::nullopt);
  EXPECT_EQ(limit.Ask(start + LineLimit::kPeriod), 7U);
  EXPECT_EQ(limit.Ask(start + LineLimit::kPeriod), 0U);
}

TEST(RefusalLogTest, NamesWhoFromWhereWhatAndWhy) {
  Refusal refusal;
  refusal.who = "ann\x1b[2J";
  refusal.address = "10.0.0.7";
  refusal.method = "/fgnn.v1.JobService/Shutdown";
  refusal.why = absl::PermissionDeniedError("too small");
  EXPECT_EQ(TextOf(refusal),
            "refused ann\\x1b[2J from 10.0.0.7, /fgnn.v1.JobService/Shutdown: "
            "too small");
}

}  // namespace
}  // namespace fgnn
