#include "shared/rpc/certificates/identity.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "shared/base/enum_words.h"

namespace fgnn {
namespace {

constexpr EnumWord<RemoteRole> kRoles[] = {{RemoteRole::kSubmit, "submit"},
                                           {RemoteRole::kOperate, "operate"},
                                           {RemoteRole::kWorker, "worker"}};

}  // namespace

std::string NameOf(RemoteRole role) {
  return std::string(WordIn(kRoles, role));
}

absl::StatusOr<RemoteRole> ParseRemoteRole(absl::string_view word) {
  if (const auto role =
          ValueIn(kRoles, std::string_view(word.data(), word.size()))) {
    return *role;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("role is '", word, "', must be submit, operate or worker"));
}

}  // namespace fgnn
