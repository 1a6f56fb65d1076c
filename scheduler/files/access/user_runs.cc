#include "scheduler/files/access/user_runs.h"

#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "scheduler/files/access/file_user.h"
#include "shared/base/files/guarded_path.h"
#include "shared/base/status.h"
#include "shared/config/state_dir.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kMode = 0750;

std::string FileNameOf(const std::string& user) {
  std::string name;
  for (const char c : user) {
    const bool is_plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                          c == '_' || c == '-' || (c == '.' && !name.empty());
    if (is_plain) {
      name += c;
    } else {
      absl::StrAppendFormat(&name, "%%%02x", static_cast<unsigned char>(c));
    }
  }
  return name.empty() ? "%" : name;
}

}  // namespace

fs::path UserRunsPath(const fs::path& state_dir, const std::string& user) {
  return RunDirPath(state_dir, FileNameOf(user));
}

absl::Status MakeUserRuns(const fs::path& state_dir, const std::string& user,
                          uid_t uid) {
  const fs::path folder = UserRunsPath(state_dir, user);
  if (::mkdir(folder.c_str(), kMode) != 0) {
    const int error = errno;
    // The folder is only opened once; its ACL is the operator's from then on.
    return error == EEXIST
               ? OpenFolderItself(folder).status()
               : ErrnoToStatus(error, absl::StrCat("make ", folder.string()));
  }
  const absl::Status shared = ShareFolder(folder, uid);
  if (!absl::IsUnimplemented(shared)) return shared;
  LogWarning("{}: the runs of {} are as open as those of others",
             MessageOf(shared), user);
  return absl::OkStatus();
}

}  // namespace fgnn
