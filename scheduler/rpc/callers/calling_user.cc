#include "scheduler/rpc/callers/calling_user.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/files/access/user_runs.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"

namespace fgnn {
namespace {

constexpr int kUsualGroups = 64;
// Room for an entry of the machine's users.
constexpr size_t kEntryBytes = 16 << 10;

FileUser RemoteUser(const Caller& caller) {
  const bool is_trusted = caller.uid == 0 || caller.uid == ::geteuid();
  if (is_trusted && !caller.is_operator) return {};
  FileUser user = {.uid = caller.uid, .groups = {}};
  std::vector<char> text(kEntryBytes);
  passwd entry = {};
  passwd* found = nullptr;
  const int error =
      ::getpwuid_r(caller.uid, &entry, text.data(), text.size(), &found);
  if (error != 0 || found == nullptr) return user;
  int count = kUsualGroups;
  user.groups.resize(kUsualGroups);
  if (::getgrouplist(found->pw_name, found->pw_gid, user.groups.data(),
                     &count) < 0) {
    user.groups.resize(static_cast<size_t>(count));  // As many as there are.
    ::getgrouplist(found->pw_name, found->pw_gid, user.groups.data(), &count);
  }
  user.groups.resize(static_cast<size_t>(count));
  return user;
}

}  // namespace

absl::StatusOr<FileUser> CallingUser(const Caller& caller,
                                     const grpc::ServerContext& context) {
  if (caller.proof != CallerProof::kKernel) return RemoteUser(caller);
  if (caller.peers == nullptr) {
    return absl::UnavailableError("nobody knows who calls");
  }
  FGNN_ASSIGN_OR_RETURN(Peer peer, caller.peers->Find(context));
  return FileUser{.uid = caller.uid, .groups = std::move(peer.groups)};
}

RunCaller RunCallerOf(const Caller& caller, const FileUser& user) {
  return {.user = user, .name = caller.name, .is_operator = caller.is_operator};
}

absl::Status CheckJobPaths(const PathRules& rules, const std::string& state_dir,
                           const RunCaller& caller, const ReadRequest& read) {
  if (!read.request.resume) {  // Otherwise it was checked before it was read.
    FGNN_RETURN_IF_ERROR(
        CheckNewRunPath(rules, caller, state_dir, read.request.run_dir));
  }
  FGNN_RETURN_IF_ERROR(CheckDatasetPath(rules, caller.user, read.spec.dataset,
                                        read.spec.sampling.weights));
  if (read.spec.model.kind == "python" && !IsTrusted(caller.user)) {
    return absl::PermissionDeniedError(absl::StrCat(
        "model.kind python runs code as the service's user, ",
        UserName(::geteuid()),
        ", for whom this call is not made; start a service of your own with "
        "'fgnn up', or take another kind"));
  }
  const std::string& file = read.spec.model.file;
  return file.empty() ? absl::OkStatus()
                      : CheckFilePath(rules, caller.user, file, "model.file");
}

absl::Status MakeRunsOfCaller(const std::string& state_dir,
                              const Caller& caller,
                              const std::string& run_dir) {
  if (!run_dir.empty() || caller.uid == 0 || caller.uid == ::geteuid()) {
    return absl::OkStatus();
  }
  return MakeUserRuns(state_dir, caller.name, caller.uid);
}

}  // namespace fgnn
