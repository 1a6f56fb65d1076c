// Macros and conversions for absl::Status. The codes have these meanings:
//   InvalidArgument    the caller's fault; wrong input. Exit code 2.
//   NotFound           the caller named a thing that is not there. Exit code 2.
//   AlreadyExists      the thing to make is there already. Exit code 2.
//   FailedPrecondition right input at the wrong time. Exit code 1, as for the
//                      codes below.
//   PermissionDenied   the operating system or a policy refuses.
//   ResourceExhausted  more is needed than there is.
//   Unavailable        a peer is away: the caller retries with backoff.
//   DeadlineExceeded   the caller retries only idempotent calls.
//   DataLoss           data is damaged: the caller drops it and asks again.
//   Cancelled          a caller asked for the stop.
//   Internal           a bug of FGNN, or a device beyond repair: restart the
//                      process.
#ifndef FGNN_SHARED_BASE_STATUS_H_
#define FGNN_SHARED_BASE_STATUS_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fgnn {

// Returns the Status of a failed system call: `what` and
// strerror(error_number).
// ENOENT is NotFound, EACCES PermissionDenied, ENOSPC and ENOMEM
// ResourceExhausted, and so on; 0 is Internal, never OK.
absl::Status ErrnoToStatus(int error_number, std::string_view what);

// Returns `status` with `context` and ": " before its message; OK stays OK.
absl::Status Annotate(const absl::Status& status, std::string_view context);

// Returns `status` with its message as PrintableText(), which is one line. So
// the message may hold text from outside.
absl::Status InOneLine(const absl::Status& status);

// Returns 0 for OK, 2 for a wrong use (see above), 1 for everything else.
int ExitCode(const absl::Status& status);

// Returns a Status's message as a std::string. Debian's absl::string_view is
// not std::string_view.
std::string MessageOf(const absl::Status& status);

}  // namespace fgnn

#define FGNN_CONCAT_INNER_(a, b) a##b
#define FGNN_CONCAT_(a, b) FGNN_CONCAT_INNER_(a, b)

// Returns from the enclosing function if `expr`, a Status, is not OK.
#define FGNN_RETURN_IF_ERROR(expr)                                \
  do {                                                            \
    if (absl::Status fgnn_status_ = (expr); !fgnn_status_.ok()) { \
      return fgnn_status_;                                        \
    }                                                             \
  } while (false)

// FGNN_ASSIGN_OR_RETURN(const Graph graph, OpenGraph(path));
#define FGNN_ASSIGN_OR_RETURN(lhs, expr) \
  FGNN_ASSIGN_OR_RETURN_IMPL_(FGNN_CONCAT_(fgnn_or_, __LINE__), lhs, expr)
#define FGNN_ASSIGN_OR_RETURN_IMPL_(holder, lhs, expr) \
  auto holder = (expr);                                \
  if (!holder.ok()) return holder.status();            \
  lhs = std::move(holder).value()

#endif  // FGNN_SHARED_BASE_STATUS_H_
