// The boundary between code that throws (the standard library, libraries that
// are not ours) and code that returns absl::Status.
#ifndef FGNN_SHARED_BASE_THREADS_EXCEPTIONS_H_
#define FGNN_SHARED_BASE_THREADS_EXCEPTIONS_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace fgnn {

// What `body` returns. An exception that leaves `body` becomes Internal, in one
// line that says what was thrown.
absl::Status CatchExceptions(absl::FunctionRef<absl::Status()> body);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_EXCEPTIONS_H_
