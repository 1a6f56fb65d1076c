#include "scheduler/files/access/user_runs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

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

// Opens a new folder to the user.
absl::Status Share(const fs::path& folder, const std::string& user, uid_t uid) {
  struct stat made = {};
  // The bit for the group of new files stays as the folder above has it.
  if (::stat(folder.c_str(), &made) != 0 ||
      ::chmod(folder.c_str(), kMode | (made.st_mode & S_ISGID)) != 0) {
    return ErrnoToStatus(errno, folder.string());
  }
  const absl::Status shared = ShareFolder(folder, uid);
  if (!absl::IsUnimplemented(shared)) return shared;
  LogWarning("{}: the runs of {} are as open as those of others",
             MessageOf(shared), user);
  return absl::OkStatus();
}

}  // namespace

fs::path UserRunsPath(const fs::path& state_dir, const std::string& user) {
  return RunDirPath(state_dir, FileNameOf(user));
}

absl::Status MakeUserRuns(const fs::path& state_dir, const std::string& user,
                          uid_t uid) {
  const fs::path folder = UserRunsPath(state_dir, user);
  // The folder is only opened once; its ACL is the operator's from then on.
  const absl::Status there = OpenFolderItself(folder).status();
  if (!absl::IsNotFound(there)) return there;
  // It gets its name once it is shared, so that it never stays unshared.
  std::string made =
      folder.parent_path() / absl::StrCat(".", FileNameOf(user), ".XXXXXX");
  if (::mkdtemp(made.data()) == nullptr) {
    return ErrnoToStatus(errno, absl::StrCat("make ", folder.string()));
  }
  absl::Status status = Share(made, user, uid);
  if (status.ok() && ::rename(made.c_str(), folder.c_str()) != 0 &&
      // Another call has made it meanwhile.
      errno != EEXIST && errno != ENOTEMPTY) {
    status = ErrnoToStatus(errno, absl::StrCat("make ", folder.string()));
  }
  ::rmdir(made.c_str());  // It is there only if it did not get its name.
  return status;
}

}  // namespace fgnn
