#include "scheduler/rpc/port/role.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace fgnn {
namespace {

constexpr bool kLocalOnly = true;

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
    {"/fgnn.v1.HostService/Register", RemoteRole::kWorker, kLocalOnly},
    {"/fgnn.v1.HostService/Heartbeat", RemoteRole::kWorker, kLocalOnly},
    {"/fgnn.v1.ExecutorService/AttachJob", RemoteRole::kWorker, kLocalOnly},
    {"/fgnn.v1.ExecutorService/DetachJob", RemoteRole::kWorker, kLocalOnly},
    {"/fgnn.v1.ExecutorService/ReadMetrics", RemoteRole::kWorker, kLocalOnly},
    {"/fgnn.v1.ExecutorService/Stop", RemoteRole::kWorker, kLocalOnly},
    {"/fgnn.v1.SamplerService/ProfileSampling", RemoteRole::kWorker,
     kLocalOnly},
    {"/fgnn.v1.SamplerService/ValidateDataset", RemoteRole::kWorker,
     kLocalOnly},
    {"/fgnn.v1.SamplerService/CountInputNodes", RemoteRole::kWorker,
     kLocalOnly},
    {"/fgnn.v1.SamplerService/WriteCounts", RemoteRole::kWorker, kLocalOnly},
    {"/fgnn.v1.SamplerService/RankVertices", RemoteRole::kWorker, kLocalOnly},
    {"/fgnn.v1.TrainerService/ProfileTraining", RemoteRole::kWorker,
     kLocalOnly},
    {"/fgnn.v1.TrainerService/Evaluate", RemoteRole::kWorker, kLocalOnly},
    {"/fgnn.v1.TrainerService/SaveCheckpoint", RemoteRole::kWorker, kLocalOnly},
    {"/fgnn.v1.TrainerService/DescribeCheckpoint", RemoteRole::kWorker,
     kLocalOnly},
    {"/fgnn.v1.TrainerService/LoadCheckpoint", RemoteRole::kWorker, kLocalOnly},
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

std::string NameOf(RemoteRole role) {
  switch (role) {
    case RemoteRole::kSubmit:
      return "submit";
    case RemoteRole::kOperate:
      return "operate";
    case RemoteRole::kWorker:
      return "worker";
  }
  return "unknown";
}

absl::StatusOr<RemoteRole> ParseRemoteRole(absl::string_view word) {
  for (const RemoteRole role :
       {RemoteRole::kSubmit, RemoteRole::kOperate, RemoteRole::kWorker}) {
    if (word == NameOf(role)) return role;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("role is '", word, "', must be submit, operate or worker"));
}

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
  if (rule->local_only) {
    return absl::FailedPreconditionError(absl::StrCat(
        ShortName(method),
        " works on the service's own machine only, through its sockets"));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
