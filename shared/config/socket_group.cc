#include "shared/config/socket_group.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "shared/base/files/guarded_path.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"
#include "shared/config/state_dir.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Room for the names of a group's members, which the call looks up too.
constexpr size_t kEntryBytes = 1 << 20;

// A number names its group also if the machine has no name for it, as in a
// container. The highest one stands for "no group".
std::optional<gid_t> GroupOfNumber(const std::string& number) {
  uint32_t group = 0;
  const bool is_number = absl::SimpleAtoi(number, &group) &&
                         group != std::numeric_limits<gid_t>::max();
  return is_number ? std::optional<gid_t>(group) : std::nullopt;
}

absl::StatusOr<gid_t> FindGroup(const std::string& name) {
  std::vector<char> buffer(kEntryBytes);
  struct group entry {};
  struct group* found = nullptr;
  const int error =
      ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (error == 0 && found != nullptr) return found->gr_gid;
  if (const auto number = GroupOfNumber(name); number.has_value()) {
    return *number;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", name, "' is no group of this machine; 'getent group' lists them"));
}

absl::StatusOr<std::vector<gid_t>> OwnGroups() {
  const int count = ::getgroups(0, nullptr);
  if (count < 0) return ErrnoToStatus(errno, "read this process's groups");
  std::vector<gid_t> groups(static_cast<size_t>(count));
  const int read = ::getgroups(count, groups.data());
  if (read < 0) return ErrnoToStatus(errno, "read this process's groups");
  groups.resize(static_cast<size_t>(read));
  groups.push_back(::getegid());
  return groups;
}

// No other code gives a folder this mode, so it tells whose group has it.
constexpr mode_t kGivenMode = 0710;
constexpr mode_t kGivenRunsMode = 02750;
constexpr mode_t kOwnMode = 0750;

// While the group changes, the folder is closed to both groups.
absl::Status Give(const fs::path& folder, gid_t group, mode_t mode) {
  FGNN_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFolderItself(folder));
  struct stat info = {};
  if (::fstat(fd.get(), &info) == 0 && info.st_gid == group &&
      (info.st_mode & 07777) == mode) {
    return absl::OkStatus();
  }
  if (::fchmod(fd.get(), S_IRWXU) == 0 &&
      ::fchown(fd.get(), static_cast<uid_t>(-1), group) == 0 &&
      ::fchmod(fd.get(), mode) == 0) {
    return absl::OkStatus();
  }
  return ErrnoToStatus(errno, absl::StrCat("give ", folder.string(),
                                           " to group ", GroupName(group)));
}

}  // namespace

std::string GroupName(gid_t group) {
  std::vector<char> buffer(kEntryBytes);
  struct group entry {};
  struct group* found = nullptr;
  const bool is_known =
      ::getgrgid_r(group, &entry, buffer.data(), buffer.size(), &found) == 0 &&
      found != nullptr;
  return is_known ? found->gr_name : absl::StrCat(group);
}

absl::StatusOr<gid_t> FindOwnGroup(const std::string& name_or_number) {
  FGNN_ASSIGN_OR_RETURN(const gid_t group, FindGroup(name_or_number));
  if (::geteuid() == 0) return group;
  FGNN_ASSIGN_OR_RETURN(const std::vector<gid_t> own, OwnGroups());
  if (std::find(own.begin(), own.end(), group) != own.end()) return group;
  const std::string user = UserName(::geteuid());
  return absl::InvalidArgumentError(
      absl::StrCat(user, " is not in group ", GroupName(group),
                   ", and may open nothing to it; let root run 'usermod -aG ",
                   GroupName(group), " ", user, "', and log in again"));
}

absl::Status SetSocketGroup(const fs::path& state_dir,
                            std::optional<gid_t> group) {
  const fs::path runs = RunDirPath(state_dir, "x").parent_path();
  if (group.has_value()) {
    FGNN_RETURN_IF_ERROR(Give(runs, *group, kGivenRunsMode));
    return Give(state_dir, *group, kGivenMode);
  }
  struct stat info = {};
  if (::stat(state_dir.c_str(), &info) != 0 ||
      (info.st_mode & 07777) != kGivenMode) {
    return absl::OkStatus();
  }
  FGNN_RETURN_IF_ERROR(Give(runs, ::getegid(), kOwnMode));
  return Give(state_dir, ::getegid(), kOwnMode);
}

std::optional<fs::path> FindClosedFolder(const fs::path& state_dir,
                                         gid_t group) {
  fs::path above;
  for (const fs::path& part : fs::absolute(state_dir).parent_path()) {
    above /= part;
    struct stat info = {};
    const bool is_open =
        ::stat(above.c_str(), &info) == 0 &&
        (info.st_mode & (info.st_gid == group ? S_IXGRP : S_IXOTH)) != 0;
    if (!is_open) return above;
  }
  return std::nullopt;
}

}  // namespace fgnn
