#include "shared/base/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>

#include "shared/base/crc32c.h"
#include "shared/base/error_json.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

TEST(ErrnoToStatusTest, NamesWhatFailedAndWhy) {
  EXPECT_THAT(ErrnoToStatus(ENOENT, "open x"),
              StatusIs(absl::StatusCode::kNotFound,
                       "open x: No such file or directory"));
  EXPECT_THAT(ErrnoToStatus(ENOSPC, "w"), ResourceExhausted());
  EXPECT_THAT(ErrnoToStatus(EACCES, "w"), PermissionDenied());
  EXPECT_THAT(ErrnoToStatus(ECONNREFUSED, "w"), Unavailable());
}

TEST(ErrnoToStatusTest, IsNeverOk) {
  for (int error = 0; error < 140; ++error) {
    EXPECT_FALSE(ErrnoToStatus(error, "w").ok()) << error;
  }
}

TEST(AnnotateTest, PutsTheContextFirstAndKeepsTheCode) {
  EXPECT_THAT(Annotate(absl::DataLossError("torn"), "job 7"),
              StatusIs(absl::StatusCode::kDataLoss, "job 7: torn"));
  EXPECT_THAT(Annotate(absl::OkStatus(), "job 7"), IsOk());
}

TEST(InOneLineTest, WritesControlCharactersAsCDoes) {
  EXPECT_THAT(InOneLine(absl::DataLossError("a\nb\x01\x7f ä")),
              StatusIs(absl::StatusCode::kDataLoss, "a\\nb\\x01\\x7f ä"));
  EXPECT_EQ(InOneLine(absl::OkStatus()), absl::OkStatus());
}

TEST(ExitCodeTest, TellsWrongUseFromFailure) {
  EXPECT_EQ(ExitCode(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCode(absl::InvalidArgumentError("")), 2);
  EXPECT_EQ(ExitCode(absl::NotFoundError("")), 2);
  EXPECT_EQ(ExitCode(absl::AlreadyExistsError("")), 2);
  EXPECT_EQ(ExitCode(absl::FailedPreconditionError("")), 1);
  EXPECT_EQ(ExitCode(absl::PermissionDeniedError("")), 1);
  EXPECT_EQ(ExitCode(absl::ResourceExhaustedError("")), 1);
  EXPECT_EQ(ExitCode(absl::DataLossError("")), 1);
  EXPECT_EQ(ExitCode(absl::UnavailableError("")), 1);
  EXPECT_EQ(ExitCode(absl::InternalError("")), 1);
}

TEST(ErrorJsonTest, NamesTheCodeAndHoldsNoControlCharacters) {
  EXPECT_EQ(ErrorJson(absl::ResourceExhaustedError("disk\nfull"), 1),
            "{\"type\":\"error\",\"code\":\"resource_exhausted\","
            "\"exit_code\":1,\"message\":\"disk\\\\nfull\"}");
}

TEST(ErrorJsonTest, IsReadBackForEveryCode) {
  for (int number = 1; number <= 16; ++number) {
    const absl::Status status(static_cast<absl::StatusCode>(number), "why");
    EXPECT_EQ(ParseErrorJson(ErrorJson(status, 1)), status);
  }
  EXPECT_EQ(ParseErrorJson("fgnn: not JSON"), std::nullopt);
  EXPECT_EQ(ParseErrorJson("{\"code\":\"not_found\"}"), std::nullopt);
}

absl::StatusOr<std::unique_ptr<int>> MakeInt(bool ok) {
  if (!ok) return absl::NotFoundError("none");
  return std::make_unique<int>(3);
}

absl::Status UseInt(bool ok, int* out) {
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<int> value, MakeInt(ok));
  FGNN_RETURN_IF_ERROR(absl::OkStatus());
  *out = *value;
  return absl::OkStatus();
}

TEST(MacrosTest, MoveTheValueOrReturnTheError) {
  int value = 0;
  EXPECT_THAT(UseInt(true, &value), IsOk());
  EXPECT_EQ(value, 3);
  EXPECT_THAT(UseInt(false, &value),
              StatusIs(absl::StatusCode::kNotFound, "none"));
}

// The check value of the CRC catalogue, and RFC 3720, appendix B.4.
TEST(Crc32cTest, GivesThePublishedAnswers) {
  EXPECT_EQ(ExtendCrc32c(0, "123456789", 9), 0xe3069283u);
  EXPECT_EQ(ExtendCrc32c(0, std::string(32, '\0').data(), 32), 0x8a9136aau);
  EXPECT_EQ(ExtendCrc32c(0, std::string(32, '\xff').data(), 32), 0x62a8ab43u);
  EXPECT_EQ(ExtendCrc32c(0, nullptr, 0), 0U);
}

TEST(Crc32cTest, ExtendsInPieces) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  const uint32_t whole = ExtendCrc32c(0, text.data(), text.size());
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const uint32_t first = ExtendCrc32c(0, text.data(), cut);
    EXPECT_EQ(ExtendCrc32c(first, text.data() + cut, text.size() - cut), whole);
  }
}

}  // namespace
}  // namespace fgnn
