#include "scheduler/rpc/caller.h"

#include "absl/strings/str_cat.h"
#include "shared/base/user_name.h"

namespace fgnn {

Caller CallerOf(uid_t uid, uid_t service_user) {
  return {.uid = uid,
          .name = UserName(uid),
          .is_operator = uid == 0 || uid == service_user};
}

absl::Status CheckMayChange(const Caller& caller, const Job& job) {
  if (caller.is_operator || caller.name == job.user) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "job ", job.id, " is of ",
      job.user.empty() ? "nobody" : absl::StrCat("user ", job.user),
      ", not of ", caller.name));
}

}  // namespace fgnn
