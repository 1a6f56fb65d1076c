#include "shared/base/files/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr uint64_t kUsualLimit = 1'024;

}  // namespace

uint64_t RaiseDescriptorLimit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  rlimit raised = limit;
  raised.rlim_cur = raised.rlim_max;
  // A refusal leaves the process with the limit that it had.
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur
                                                  : limit.rlim_cur;
}

absl::Status CheckDescriptorLimit(std::string_view who, uint64_t more) {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return ErrnoToStatus(errno, "ask for the limit on descriptors");
  }
  // One that is open has no room in a lower limit any more.
  uint64_t open = 0;
  std::error_code failed;
  for (std::filesystem::directory_iterator fd("/proc/self/fd", failed), end;
       !failed && fd != end; fd.increment(failed)) {
    ++open;
  }
  const uint64_t need = open + more;
  if (!failed && need <= limit.rlim_cur) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      std::string(who), " needs ", failed ? "more than " : "",
      failed ? limit.rlim_cur : need, " open files and sockets, and may have ",
      limit.rlim_cur, "; raise the limit with 'ulimit -n ",
      std::max<uint64_t>(need, kUsualLimit), "'"));
}

}  // namespace fgnn
