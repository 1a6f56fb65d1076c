// TLS of the gate with real certificates, made by tools/fgnn-certificates.
#include "scheduler/gate/server_tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

class ServerTlsTest : public testing::Test {
 protected:
  void SetUp() override {
    Make("ca");
    Make("server 127.0.0.1");
    auto opened = ServerTls::Open(temp_.path(), temp_ / "tokens");
    ASSERT_THAT(opened, IsOk());
    tls_ = *std::move(opened);
  }
  void Make(const std::string& words) {
    const std::string command = absl::StrCat(
        std::getenv("FGNN_SOURCE_DIR"), "/tools/fgnn-certificates --dir ",
        temp_.path().string(), " ", words, " >/dev/null");
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

  TempFolder temp_;
  std::unique_ptr<ServerTls> tls_;
};

TEST_F(ServerTlsTest, AWrongPairLeavesTheOneBeforeInUse) {
  const int64_t expires = tls_->expires();
  ASSERT_GT(expires, 0);
  EXPECT_FALSE(tls_->Refresh().value());
  for (const std::string wrong : {"", "no certificate"}) {
    std::ofstream(temp_ / "server.pem") << wrong;
    EXPECT_THAT(tls_->Refresh(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          testing::HasSubstr("server.pem")));
    EXPECT_EQ(tls_->expires(), expires);
    EXPECT_NE(tls_->Accept(/*socket=*/0), nullptr);
    EXPECT_FALSE(tls_->Refresh().value()) << "told once";
  }
  // Of another key.
  fs::copy_file(temp_ / "ca.pem", temp_ / "server.pem",
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(tls_->Refresh(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(tls_->expires(), expires);
  fs::rename(temp_ / "server.key", temp_ / "kept.key");
  EXPECT_THAT(tls_->Refresh(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_NE(tls_->Accept(/*socket=*/0), nullptr);
  fs::rename(temp_ / "kept.key", temp_ / "server.key");
  Make("server 127.0.0.1 --renew --days 7");
  EXPECT_TRUE(tls_->Refresh().value());
  EXPECT_NE(tls_->expires(), expires);
}

TEST_F(ServerTlsTest, AWrongFileOfAuthoritiesIsNamed) {
  std::ofstream(temp_ / "ca.pem") << "none";
  EXPECT_THAT(tls_->Refresh(), StatusIs(absl::StatusCode::kInvalidArgument,
                                        testing::HasSubstr("ca.pem")));
}

}  // namespace
}  // namespace fgnn
