#include "scheduler/rpc/port/role.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {

constexpr MethodRule kRules[] = {
    {"/fgnn.v1.JobService/SubmitJob", RemoteRole::kSubmit},
    {"/fgnn.v1.JobService/GetJob", RemoteRole::kSubmit},
    {"/fgnn.v1.JobService/ListJobs", RemoteRole::kSubmit},
    {"/fgnn.v1.JobService/WatchJob", RemoteRole::kSubmit},
    {"/fgnn.v1.JobService/CancelJob", RemoteRole::kSubmit},
    {"/fgnn.v1.JobService/PauseJob", RemoteRole::kSubmit},
    {"/fgnn.v1.JobService/ContinueJob", RemoteRole::kSubmit},
    {"/fgnn.v1.JobService/DeleteJob", RemoteRole::kSubmit},
    {"/fgnn.v1.JobService/GetMetrics", RemoteRole::kSubmit},
    {"/fgnn.v1.JobService/GetService", RemoteRole::kSubmit},
    {"/fgnn.v1.JobService/KeepRunning", RemoteRole::kOperate},
    {"/fgnn.v1.JobService/Shutdown", RemoteRole::kOperate},
    {"/fgnn.v1.DeviceService/ListDevices", RemoteRole::kSubmit},
    {"/fgnn.v1.DeviceService/SwitchDevice", RemoteRole::kOperate},
    {"/fgnn.v1.MemberService/ReportMember", RemoteRole::kWorker},
    {"/fgnn.v1.MemberService/HoldLink", RemoteRole::kWorker},
};

bool Covers(RemoteRole has, RemoteRole needs) {
  return has == needs ||
         (has == RemoteRole::kOperate && needs == RemoteRole::kSubmit);
}

// Returns "JobService/GetJob" of "/fgnn.v1.JobService/GetJob".
absl::string_view ShortName(absl::string_view method) {
  const size_t dot = method.rfind('.');
  return dot == absl::string_view::npos ? method : method.substr(dot + 1);
}

}  // namespace

absl::Span<const MethodRule> MethodRules() { return kRules; }

absl::Status CheckMayCall(RemoteRole role, absl::string_view method) {
  const auto* const rule =
      std::find_if(std::begin(kRules), std::end(kRules),
                   [&](const MethodRule& one) { return one.method == method; });
  if (rule == std::end(kRules)) {
    return absl::PermissionDeniedError(
        absl::StrCat("remote callers may not call ", method));
  }
  if (!Covers(role, rule->role)) {
    return absl::PermissionDeniedError(
        absl::StrCat(ShortName(method), " needs the role ", NameOf(rule->role),
                     ", the caller's is ", NameOf(role)));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
