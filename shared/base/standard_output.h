// Standard output, which may be a full disk or closed.
#ifndef FGNN_SHARED_BASE_STANDARD_OUTPUT_H_
#define FGNN_SHARED_BASE_STANDARD_OUTPUT_H_

#include "absl/status/status.h"

namespace fgnn {

// Writes what std::cout and stdout hold. Returns an error unless all text of
// this process has been written since it started. ResourceExhausted: the disk
// is full.
absl::Status FlushStandardOutput();

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_STANDARD_OUTPUT_H_
