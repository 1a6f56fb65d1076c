#include "shared/base/threads/exceptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <system_error>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using testing::HasSubstr;

template <typename Exception>
absl::Status StatusOfThrown(const Exception& exception) {
  return CatchExceptions([&]() -> absl::Status { throw exception; });
}

TEST(CatchExceptionsTest, PassesOnWhatTheBodyReturns) {
  EXPECT_THAT(CatchExceptions([] { return absl::OkStatus(); }), IsOk());
  EXPECT_THAT(CatchExceptions([] { return absl::NotFoundError("none"); }),
              StatusIs(absl::StatusCode::kNotFound, "none"));
}

TEST(CatchExceptionsTest, SaysWhatWasThrown) {
  EXPECT_THAT(
      StatusOfThrown(std::bad_alloc()),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("out of memory")));
  EXPECT_THAT(
      StatusOfThrown(std::length_error("vector::reserve")),
      StatusIs(absl::StatusCode::kInternal, HasSubstr("vector::reserve")));
  EXPECT_THAT(StatusOfThrown(std::system_error(std::make_error_code(
                  std::errc::resource_unavailable_try_again))),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("thread")));
  EXPECT_THAT(StatusOfThrown(std::runtime_error("a\nb")),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("a\\nb")));
  EXPECT_THAT(StatusOfThrown(7),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("unknown type")));
}

}  // namespace
}  // namespace fgnn
