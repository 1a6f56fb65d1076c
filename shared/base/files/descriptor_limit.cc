#include "shared/base/files/descriptor_limit.h"

#include <sys/resource.h>

namespace fgnn {

uint64_t RaiseDescriptorLimit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  rlimit raised = limit;
  raised.rlim_cur = raised.rlim_max;
  // A refusal leaves the process with the limit that it had.
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur
                                                  : limit.rlim_cur;
}

}  // namespace fgnn
