#include "scheduler/rpc/audit/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "fgnn/v1/device_service.pb.h"
#include "shared/base/files/file.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

class AuditLogTest : public testing::Test {
 protected:
  void Open(uint64_t most_bytes) {
    log_ = AuditLog::Open(path_, most_bytes).value();
  }
  void Write(const std::string& device) {
    v1::SwitchDeviceRequest request;
    request.set_device(device);
    log_->Write("ann", "user ann, uid 7", request, v1::Device(),
                grpc::Status(grpc::StatusCode::NOT_FOUND, "no such device"));
  }

  const TempFolder temp_;
  const std::filesystem::path path_ = temp_ / "audit.log";
  std::unique_ptr<AuditLog> log_;
};

TEST_F(AuditLogTest, GoesOnWhereItWasAndIsClosedToOthers) {
  Open(AuditLog::kMostBytes);
  Write("cpu:0");
  Open(AuditLog::kMostBytes);
  Write("cpu:1");
  const std::string text = ReadSmallFile(path_).value();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_THAT(
      text,
      HasSubstr(
          R"("user":"ann","caller":"user ann, uid 7","call":"SwitchDevice","job":"",)"
          R"("device":"cpu:0","code":"NOT_FOUND",)"
          R"("message":"no such device"})"));
  struct stat file = {};
  ASSERT_EQ(::stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07027, 0u);
}

TEST_F(AuditLogTest, AFullFileIsKeptAndTheOldestGoes) {
  Open(1);  // Every line fills it.
  for (int i = 0; i < AuditLog::kKept + 3; ++i) {
    Write(absl::StrCat("device ", i));
  }
  EXPECT_THAT(ReadSmallFile(path_).value(), HasSubstr("device 6"));
  EXPECT_THAT(ReadSmallFile(temp_ / "audit.log.1").value(),
              HasSubstr("device 5"));
  EXPECT_THAT(ReadSmallFile(temp_ / "audit.log.4").value(),
              HasSubstr("device 2"));
  EXPECT_FALSE(std::filesystem::exists(temp_ / "audit.log.5"));
}

TEST_F(AuditLogTest, KeptFilesStayIfNoNewOneCanBeOpened) {
  Open(1);  // Every line fills it.
  for (int i = 0; i < 3; ++i) Write(absl::StrCat("device ", i));
  rlimit usual = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  for (int i = 0; i < AuditLog::kKept; ++i) Write("lost");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_THAT(ReadSmallFile(path_).value(), HasSubstr("device 2"));
  EXPECT_THAT(ReadSmallFile(temp_ / "audit.log.2").value(),
              HasSubstr("device 0"));
  Write("device 3");
  EXPECT_THAT(ReadSmallFile(path_).value(), HasSubstr("device 3"));
  EXPECT_THAT(ReadSmallFile(temp_ / "audit.log.1").value(),
              HasSubstr("device 2"));
}

TEST_F(AuditLogTest, ALinkInItsPlaceIsNotFollowed) {
  std::filesystem::create_symlink(temp_ / "elsewhere", path_);
  EXPECT_FALSE(AuditLog::Open(path_).ok());
  EXPECT_FALSE(std::filesystem::exists(temp_ / "elsewhere"));
}

}  // namespace
}  // namespace fgnn
