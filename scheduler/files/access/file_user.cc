#include "scheduler/files/access/file_user.h"

#include <endian.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxAclBytes = 64 << 10;  // The kernel's own limit.
constexpr unsigned kAll = 7;
// Text of a user who may do what everybody may.
constexpr char kNobody[] = "nobody";

struct AclEntry {
  unsigned tag = 0;
  unsigned rights = 0;
  uint32_t id = ACL_UNDEFINED_ID;
};

// A file without an ACL has the three entries of its mode.
std::vector<AclEntry> EntriesOf(const struct stat& file) {
  return {{.tag = ACL_USER_OBJ, .rights = (file.st_mode >> 6) & kAll},
          {.tag = ACL_GROUP_OBJ, .rights = (file.st_mode >> 3) & kAll},
          {.tag = ACL_OTHER, .rights = file.st_mode & kAll}};
}

// Reads the file's ACL; without one, nothing is added.
absl::Status ReadAcl(const fs::path& path, std::vector<AclEntry>& entries) {
  std::vector<char> bytes(kMaxAclBytes);
  const ssize_t size = ::getxattr(path.c_str(), XATTR_NAME_POSIX_ACL_ACCESS,
                                  bytes.data(), bytes.size());
  if (size < 0) {
    if (errno == ENODATA || errno == EOPNOTSUPP) return absl::OkStatus();
    return ErrnoToStatus(errno,
                         absl::StrCat("read the ACL of ", path.string()));
  }
  posix_acl_xattr_header header = {};
  const auto end = static_cast<size_t>(size);
  if (end < sizeof(header)) return absl::OkStatus();
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (le32toh(header.a_version) != POSIX_ACL_XATTR_VERSION) {
    return absl::FailedPreconditionError(
        absl::StrCat(path.string(), " has an ACL of an unknown version"));
  }
  entries.clear();
  posix_acl_xattr_entry entry = {};
  for (size_t at = sizeof(header); at + sizeof(entry) <= end;
       at += sizeof(entry)) {
    std::memcpy(&entry, bytes.data() + at, sizeof(entry));
    entries.push_back({.tag = le16toh(entry.e_tag),
                       .rights = le16toh(entry.e_perm),
                       .id = le32toh(entry.e_id)});
  }
  return absl::OkStatus();
}

unsigned RightsOf(const std::vector<AclEntry>& entries, unsigned tag,
                  unsigned otherwise) {
  const auto found =
      std::find_if(entries.begin(), entries.end(),
                   [tag](const AclEntry& entry) { return entry.tag == tag; });
  return found == entries.end() ? otherwise : found->rights;
}

// The algorithm of acl(5): the first class that the user is in decides.
bool Suffices(const FileUser& user, const struct stat& file,
              const std::vector<AclEntry>& entries, unsigned wanted) {
  const auto suffices = [wanted](unsigned rights) {
    return (rights & wanted) == wanted;
  };
  const unsigned mask = RightsOf(entries, ACL_MASK, kAll);
  if (user.uid == file.st_uid) {
    return suffices(RightsOf(entries, ACL_USER_OBJ, 0));
  }
  bool is_member = false;
  for (const AclEntry& entry : entries) {
    if (entry.tag == ACL_USER && user.uid == entry.id) {
      return suffices(entry.rights & mask);
    }
  }
  for (const AclEntry& entry : entries) {
    if (entry.tag != ACL_GROUP_OBJ && entry.tag != ACL_GROUP) continue;
    const gid_t group = entry.tag == ACL_GROUP ? entry.id : file.st_gid;
    if (std::find(user.groups.begin(), user.groups.end(), group) ==
        user.groups.end()) {
      continue;
    }
    is_member = true;
    if (suffices(entry.rights & mask)) return true;
  }
  return !is_member && suffices(RightsOf(entries, ACL_OTHER, 0));
}

std::string AclOf(uid_t user) {
  const std::vector<AclEntry> entries = {
      {.tag = ACL_USER_OBJ, .rights = kAll},
      {.tag = ACL_USER, .rights = kMayRead | kMayEnter, .id = user},
      {.tag = ACL_GROUP_OBJ, .rights = 0},
      {.tag = ACL_MASK, .rights = kMayRead | kMayEnter},
      {.tag = ACL_OTHER, .rights = 0}};
  const posix_acl_xattr_header header = {.a_version =
                                             htole32(POSIX_ACL_XATTR_VERSION)};
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  for (const AclEntry& one : entries) {
    const posix_acl_xattr_entry entry = {
        .e_tag = htole16(static_cast<uint16_t>(one.tag)),
        .e_perm = htole16(static_cast<uint16_t>(one.rights)),
        .e_id = htole32(one.id)};
    bytes.append(reinterpret_cast<const char*>(&entry), sizeof(entry));
  }
  return bytes;
}

}  // namespace

FileUser ServiceUser() { return {.uid = ::geteuid(), .groups = {}}; }

bool IsTrusted(const FileUser& user) {
  return user.uid == 0 || user.uid == ::geteuid();
}

absl::StatusOr<bool> MayAccess(const FileUser& user, const fs::path& path,
                               unsigned wanted) {
  struct stat file = {};
  if (::stat(path.c_str(), &file) != 0) {
    return ErrnoToStatus(errno, path.string());
  }
  if (user.uid == 0) return true;
  std::vector<AclEntry> entries = EntriesOf(file);
  // The mask of an ACL is the mode's group. As the kernel does: an ACL that
  // allows nothing by it is not looked at.
  if ((file.st_mode & S_IRWXG) != 0) {
    FGNN_RETURN_IF_ERROR(ReadAcl(path, entries));
  }
  return Suffices(user, file, entries, wanted);
}

std::string FileUserText(const FileUser& user) {
  if (IsTrusted(user)) return "";
  if (!user.uid.has_value()) return kNobody;
  return absl::StrCat(*user.uid, ":", absl::StrJoin(user.groups, ","));
}

FileUser ParseFileUser(const std::string& text) {
  if (text.empty()) return ServiceUser();
  const size_t end = text.find(':');
  uid_t uid = 0;
  if (end == std::string::npos ||
      !absl::SimpleAtoi(text.substr(0, end), &uid)) {
    return {};
  }
  FileUser user = {.uid = uid, .groups = {}};
  for (const absl::string_view word :
       absl::StrSplit(text.substr(end + 1), ',')) {
    gid_t group = 0;
    if (absl::SimpleAtoi(word, &group)) user.groups.push_back(group);
  }
  return user;
}

absl::Status ShareFolder(const fs::path& folder, uid_t user) {
  const std::string acl = AclOf(user);
  for (const char* name :
       {XATTR_NAME_POSIX_ACL_DEFAULT, XATTR_NAME_POSIX_ACL_ACCESS}) {
    if (::setxattr(folder.c_str(), name, acl.data(), acl.size(), 0) == 0) {
      continue;
    }
    if (errno == EOPNOTSUPP) {
      return absl::UnimplementedError(
          absl::StrCat(folder.string(), ": its file system has no ACLs"));
    }
    return ErrnoToStatus(errno,
                         absl::StrCat("set the ACL of ", folder.string()));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
