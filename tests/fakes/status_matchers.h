// GoogleMock matchers for absl::Status and absl::StatusOr. Debian's Abseil is
// too old to have them.
#ifndef FGNN_TESTS_FAKES_STATUS_MATCHERS_H_
#define FGNN_TESTS_FAKES_STATUS_MATCHERS_H_

#include <gmock/gmock.h>

#include <ostream>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fgnn::testing_internal {

inline const absl::Status& StatusOf(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& status_or) {
  return status_or.status();
}

}  // namespace fgnn::testing_internal

namespace fgnn {

MATCHER(IsOk, negation ? "is an error" : "is OK") {
  const absl::Status& status = testing_internal::StatusOf(arg);
  if (!status.ok()) *result_listener << "which is " << status.ToString();
  return status.ok();
}

MATCHER_P2(StatusIs, code, message_matcher, "") {
  const absl::Status& status = testing_internal::StatusOf(arg);
  *result_listener << "which is " << status.ToString();
  return status.code() == code &&
         testing::ExplainMatchResult(
             message_matcher, std::string(status.message()), result_listener);
}

inline auto StatusIs(absl::StatusCode code) {
  return StatusIs(code, testing::_);
}

// Match an error of this code whose message has all of the texts:
// EXPECT_THAT(Dataset::Open(path), NotFound("indices.npy"));
#define FGNN_ERROR_MATCHER_(Code)                                              \
  template <typename... Texts>                                                 \
  auto Code(const Texts&... texts) {                                           \
    return StatusIs(absl::StatusCode::k##Code,                                 \
                    testing::AllOf(testing::_, testing::HasSubstr(texts)...)); \
  }
FGNN_ERROR_MATCHER_(Aborted)
FGNN_ERROR_MATCHER_(AlreadyExists)
FGNN_ERROR_MATCHER_(Cancelled)
FGNN_ERROR_MATCHER_(DataLoss)
FGNN_ERROR_MATCHER_(DeadlineExceeded)
FGNN_ERROR_MATCHER_(FailedPrecondition)
FGNN_ERROR_MATCHER_(Internal)
FGNN_ERROR_MATCHER_(InvalidArgument)
FGNN_ERROR_MATCHER_(NotFound)
FGNN_ERROR_MATCHER_(PermissionDenied)
FGNN_ERROR_MATCHER_(ResourceExhausted)
FGNN_ERROR_MATCHER_(Unauthenticated)
FGNN_ERROR_MATCHER_(Unavailable)
FGNN_ERROR_MATCHER_(Unimplemented)
#undef FGNN_ERROR_MATCHER_

}  // namespace fgnn

#define FGNN_ASSERT_OK(expr) ASSERT_THAT(expr, ::fgnn::IsOk())

// FGNN_ASSERT_OK_AND_ASSIGN(const Dataset dataset, Dataset::Open(…));
#define FGNN_ASSERT_OK_AND_ASSIGN(lhs, expr)                                  \
  FGNN_ASSERT_OK_AND_ASSIGN_IMPL_(FGNN_TEST_CONCAT_(fgnn_test_or_, __LINE__), \
                                  lhs, expr)
#define FGNN_ASSERT_OK_AND_ASSIGN_IMPL_(holder, lhs, expr) \
  auto holder = (expr);                                    \
  ASSERT_THAT(holder, ::fgnn::IsOk());                     \
  lhs = std::move(holder).value()
#define FGNN_TEST_CONCAT_INNER_(a, b) a##b
#define FGNN_TEST_CONCAT_(a, b) FGNN_TEST_CONCAT_INNER_(a, b)

#endif  // FGNN_TESTS_FAKES_STATUS_MATCHERS_H_
