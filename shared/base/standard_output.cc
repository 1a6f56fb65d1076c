#include "shared/base/standard_output.h"

#include <cerrno>
#include <cstdio>
#include <iostream>

#include "shared/base/status.h"

namespace fgnn {

absl::Status FlushStandardOutput() {
  errno = 0;
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written && std::cout.good()) return absl::OkStatus();
  // An earlier write failed: its errno is not known any more.
  return ErrnoToStatus(errno == 0 ? EIO : errno, "write to standard output");
}

}  // namespace fgnn
