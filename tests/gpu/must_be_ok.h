// For programs of tests/gpu that call what returns a Status.
#ifndef FGNN_TESTS_GPU_MUST_BE_OK_H_
#define FGNN_TESTS_GPU_MUST_BE_OK_H_

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"

namespace fgnn {

// Ends the program with the error: nothing can be measured then.
inline void MustBeOk(const absl::Status& status) {
  if (status.ok()) return;
  std::printf("%s\n0 passed, 1 failed\n",
              std::string(status.message()).c_str());
  std::exit(1);
}

}  // namespace fgnn

#endif  // FGNN_TESTS_GPU_MUST_BE_OK_H_
