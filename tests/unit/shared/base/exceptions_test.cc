#include "shared/base/threads/exceptions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <system_error>

#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

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
  EXPECT_THAT(StatusOfThrown(std::bad_alloc()), Internal("out of memory"));
  EXPECT_THAT(StatusOfThrown(std::length_error("vector::reserve")),
              Internal("vector::reserve"));
  EXPECT_THAT(StatusOfThrown(std::system_error(std::make_error_code(
                  std::errc::resource_unavailable_try_again))),
              Internal("thread"));
  EXPECT_THAT(StatusOfThrown(std::runtime_error("a\nb")), Internal("a\\nb"));
  EXPECT_THAT(StatusOfThrown(7), Internal("unknown type"));
}

}  // namespace
}  // namespace fgnn
