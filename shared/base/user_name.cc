#include "shared/base/user_name.h"

#include <pwd.h>

#include <vector>

#include "absl/strings/str_cat.h"

namespace fgnn {

std::string UserName(uid_t uid) {
  std::vector<char> text(16 << 10);
  passwd entry{};
  passwd* found = nullptr;
  const int error = ::getpwuid_r(uid, &entry, text.data(), text.size(), &found);
  if (error != 0 || found == nullptr) return absl::StrCat("uid ", uid);
  return found->pw_name;
}

std::optional<uid_t> FindUser(const std::string& name) {
  std::vector<char> text(16 << 10);
  passwd entry{};
  passwd* found = nullptr;
  const int error =
      ::getpwnam_r(name.c_str(), &entry, text.data(), text.size(), &found);
  if (error != 0 || found == nullptr) return std::nullopt;
  return found->pw_uid;
}

}  // namespace fgnn
