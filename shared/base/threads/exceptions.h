// The boundary between code that throws (the standard library, libraries of
// others) and code that returns absl::Status.
#ifndef FGNN_SHARED_BASE_THREADS_EXCEPTIONS_H_
#define FGNN_SHARED_BASE_THREADS_EXCEPTIONS_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace fgnn {

// Returns the result of `body`. An exception that leaves `body` becomes
// Internal, with one line that names the exception.
absl::Status CatchExceptions(absl::FunctionRef<absl::Status()> body);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_EXCEPTIONS_H_
