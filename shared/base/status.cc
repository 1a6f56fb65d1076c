#include "shared/base/status.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "shared/base/printable_text.h"

namespace fgnn {
namespace {

absl::StatusCode CodeOfErrno(int error_number) {
  switch (error_number) {
    case 0:
      return absl::StatusCode::kInternal;
    case EINVAL:
    case ENAMETOOLONG:
    case ENOTDIR:
    case EISDIR:
      return absl::StatusCode::kInvalidArgument;
    case ENOENT:
    case ESRCH:
      return absl::StatusCode::kNotFound;
    case EEXIST:
    case EADDRINUSE:
      return absl::StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case ENOMEM:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return absl::StatusCode::kResourceExhausted;
    case ETIMEDOUT:
      return absl::StatusCode::kDeadlineExceeded;
    case EAGAIN:
    case EINTR:
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status ErrnoToStatus(int error_number, std::string_view what) {
  const std::string reason = error_number == 0 ? "failed without an errno"
                                               : std::strerror(error_number);
  const bool too_many = error_number == EMFILE;
  return absl::Status(
      CodeOfErrno(error_number),
      absl::StrCat(std::string(what), ": ", reason,
                   too_many ? "; raise the limit with 'ulimit -n'" : ""));
}

absl::Status Annotate(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(std::string(context), ": ",
                                                  status.message()));
}

absl::Status InOneLine(const absl::Status& status) {
  return absl::Status(status.code(), PrintableText(MessageOf(status)));
}

int ExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
      return 2;
    default:
      return 1;
  }
}

std::string MessageOf(const absl::Status& status) {
  return std::string(status.message());
}

}  // namespace fgnn
