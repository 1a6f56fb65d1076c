#include "scheduler/rpc/job_service.h"

#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/figures/run_metrics.h"
#include "scheduler/files/access/path_rules.h"
#include "scheduler/files/run_folder.h"
#include "scheduler/files/run_removal.h"
#include "scheduler/files/submission.h"
#include "scheduler/rpc/callers/calling_user.h"
#include "scheduler/rpc/job_messages.h"
#include "scheduler/rpc/members/service_hosts.h"
#include "scheduler/rpc/submit_request.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"
#include "shared/config/job_hosts.h"
#include "shared/config/job_notes.h"
#include "shared/rpc/server.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;

constexpr uint32_t kUsualListed = 100;
constexpr uint32_t kMostListed = 1'000;
// Bytes after which no further item is added to a message, so that it stays
// below kMaxMessageBytes with the last one.
constexpr size_t kUsualMessageBytes = kMaxMessageBytes * 3 / 4;
// Most calls of a user that wait at once: half of the threads that a user may
// hold. So the user's other calls are still answered.
constexpr int kMaxWaits = 32;
constexpr uint32_t kMostNamed = 3;
// Time between two looks at whether the client is still there.
constexpr milliseconds kLookAtClient{250};

// InvalidArgument: the service has no such hosts, or trades no gradients.
absl::Status CheckHostsOf(const JobSpec& spec, const MemberTable* members) {
  if (members == nullptr) return absl::OkStatus();
  if (spec.hosts.max > 1 && members->head().exchange.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "hosts.max is ", spec.hosts.max,
        ", but the service trades no gradients; start it with --exchange, or "
        "leave hosts out"));
  }
  return members->CheckHosts(spec.devices);
}

}  // namespace

JobServiceAdapter::JobServiceAdapter(const JobServiceParts& parts,
                                     std::shared_ptr<Callers> callers)
    : facts_(*parts.facts),
      table_(parts.table),
      host_(parts.host),
      datasets_(parts.datasets),
      calls_(std::move(callers), parts.audit),
      waits_(kMaxWaits) {}

absl::StatusOr<std::unique_ptr<UserCounts::Place>> JobServiceAdapter::TakeWait(
    const Caller& caller) {
  auto wait = waits_.Take(caller.name);
  if (wait != nullptr) return wait;
  return absl::ResourceExhaustedError(
      absl::StrCat(kMaxWaits, " calls of ", caller.name,
                   " wait for jobs to end or to pause already; try again "
                   "later"));
}

void JobServiceAdapter::Tell(const Job& job, v1::Job* response) {
  ToMessage(job, response);
  if (IsFinal(job.state)) table_->MarkSeen(job.id);
}

grpc::Status JobServiceAdapter::StreamedSubmitJob(
    grpc::ServerContext* context,
    grpc::ServerUnaryStreamer<v1::SubmitJobRequest, v1::SubmitJobResponse>*
        stream) {
  return calls_.Change(context, stream,
                       [&](const auto& call) { return Submit(call); });
}

absl::Status JobServiceAdapter::Submit(
    const UserCall<v1::SubmitJobRequest, v1::SubmitJobResponse>& call) {
  const Caller& caller = call.caller;
  const v1::SubmitJobRequest& request = call.request;
  v1::SubmitJobResponse& response = call.response;
  FGNN_ASSIGN_OR_RETURN(const FileUser user, CallingUser(caller, call.context));
  FGNN_RETURN_IF_ERROR(CheckReaches(RunCallerOf(caller, user), facts_.state_dir,
                                    request.run_dir()));
  FGNN_ASSIGN_OR_RETURN(
      ReadRequest read,
      ReadSubmitRequest(
          request, caller.name, {facts_.devices, HostsOf(facts_.members)},
          [&](const std::filesystem::path& run_dir) {
            return CheckResumedRunPath(facts_.paths, RunCallerOf(caller, user),
                                       facts_.state_dir, run_dir);
          }));
  read.request.by_operator = caller.is_operator;
  // An operator goes on with the runs of all users.
  if (!(caller.is_operator && request.resume())) {
    read.request.file_user = FileUserText(user);
  }
  response.mutable_notes()->Add(read.notes.begin(), read.notes.end());
  absl::Status check = CheckHostsOf(read.spec, facts_.members);
  check.Update(host_->CheckGpus(OnHost(read.spec, "").devices));
  check.Update(CheckJobPaths(facts_.paths, facts_.state_dir,
                             RunCallerOf(caller, user), read));
  if (check.ok()) {
    check = request.resume()
                ? CheckResumption(read.spec, read.request.run_dir, *datasets_)
                : CheckSubmission(read.spec, request.run_dir(), *datasets_);
  }
  if (!check.ok()) {
    // A repeated call finds the folder that the first one made.
    FGNN_ASSIGN_OR_RETURN(const std::optional<Job> same,
                          table_->FindSubmitted(read.request));
    if (!same.has_value()) return check;
    Tell(*same, response.mutable_job());
    return absl::OkStatus();
  }
  FGNN_ASSIGN_OR_RETURN(const DatasetFacts facts, datasets_->Look(read.spec));
  if (std::optional<std::string> note =
          NoteOnBatchSize(read.spec, facts.shape.num_train)) {
    response.add_notes(*std::move(note));
  }
  if (std::optional<std::string> note = NoteOnScores(read.spec, facts)) {
    response.add_notes(*std::move(note));
  }
  FGNN_RETURN_IF_ERROR(
      MakeRunsOfCaller(facts_.state_dir, caller, read.request.run_dir));
  FGNN_ASSIGN_OR_RETURN(Job job, table_->Submit(read.request));
  if (job.client_key != request.client_key()) {
    response.add_notes(absl::StrCat(
        "job ", job.id, " is ", std::string(NameOf(job.state)),
        " in this folder: it goes on, and no further job was made"));
    FGNN_RETURN_IF_ERROR(table_->Continue(job.id));
    FGNN_ASSIGN_OR_RETURN(const JobVersion found, table_->Get(job.id));
    job = found.job;
  }
  Tell(job, response.mutable_job());
  return absl::OkStatus();
}

grpc::Status JobServiceAdapter::StreamedGetJob(
    grpc::ServerContext* context,
    grpc::ServerUnaryStreamer<v1::GetJobRequest, v1::Job>* stream) {
  return calls_.Read(context, stream, [&](const auto& call) -> absl::Status {
    FGNN_ASSIGN_OR_RETURN(const JobVersion found,
                          table_->Get(call.request.job_id(), call.caller.name));
    Tell(found.job, &call.response);
    return absl::OkStatus();
  });
}

grpc::Status JobServiceAdapter::StreamedListJobs(
    grpc::ServerContext* context,
    grpc::ServerUnaryStreamer<v1::ListJobsRequest, v1::ListJobsResponse>*
        stream) {
  return calls_.Read(context, stream, [&](const auto& call) {
    return List(call.request, &call.response);
  });
}

absl::Status JobServiceAdapter::List(const v1::ListJobsRequest& request,
                                     v1::ListJobsResponse* response) {
  const uint32_t limit = request.limit() == 0 ? kUsualListed : request.limit();
  if (limit > kMostListed) {
    return absl::InvalidArgumentError(
        absl::StrCat("limit is ", limit, ", at most ", kMostListed,
                     "; ask for those behind them with before_job_id"));
  }
  FGNN_ASSIGN_OR_RETURN(const JobFilter filter, FilterOf(request));
  FGNN_ASSIGN_OR_RETURN(const std::vector<Job> jobs,
                        table_->List(filter, limit));
  size_t bytes = 0;
  for (const Job& job : jobs) {
    if (bytes > kUsualMessageBytes) break;
    ToMessage(job, response->add_jobs());
    bytes += response->jobs().rbegin()->ByteSizeLong();
  }
  return absl::OkStatus();
}

grpc::Status JobServiceAdapter::StreamedCancelJob(
    grpc::ServerContext* context,
    grpc::ServerUnaryStreamer<v1::CancelJobRequest, v1::Job>* stream) {
  return calls_.Change(context, stream,
                       [&](const auto& call) { return Cancel(call); });
}

absl::Status JobServiceAdapter::Cancel(
    const JobCall<v1::CancelJobRequest>& call) {
  FGNN_ASSIGN_OR_RETURN(const auto wait, TakeWait(call.caller));
  FGNN_ASSIGN_OR_RETURN(const Job own,
                        FindOwn(call.caller, call.request.job_id()));
  const std::string& id = own.id;
  FGNN_RETURN_IF_ERROR(table_->Cancel(
      id, absl::CancelledError(absl::StrCat("job ", id, " was cancelled"))));
  while (!table_->WaitForChange(id, 0, /*only_end=*/true,
                                DeadlineIn(kLookAtClient))) {
    if (call.context.IsCancelled()) {
      return absl::DeadlineExceededError(
          absl::StrCat("job ", id, " is being cancelled, but has not ended"));
    }
  }
  FGNN_ASSIGN_OR_RETURN(const JobVersion found, table_->Get(id));
  if (found.job.state != JobState::kCancelled) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", id, " has already ", std::string(NameOf(found.job.state))));
  }
  Tell(found.job, &call.response);
  return absl::OkStatus();
}

absl::StatusOr<Job> JobServiceAdapter::FindOwn(const Caller& caller,
                                               const std::string& job_id) {
  FGNN_ASSIGN_OR_RETURN(JobVersion found, table_->Get(job_id, caller.name));
  FGNN_RETURN_IF_ERROR(CheckMayChange(caller, found.job));
  return std::move(found.job);
}

grpc::Status JobServiceAdapter::StreamedPauseJob(
    grpc::ServerContext* context,
    grpc::ServerUnaryStreamer<v1::PauseJobRequest, v1::Job>* stream) {
  return calls_.Change(context, stream,
                       [&](const auto& call) { return Pause(call); });
}

absl::Status JobServiceAdapter::Pause(
    const JobCall<v1::PauseJobRequest>& call) {
  FGNN_ASSIGN_OR_RETURN(const auto wait, TakeWait(call.caller));
  FGNN_ASSIGN_OR_RETURN(const Job own,
                        FindOwn(call.caller, call.request.job_id()));
  FGNN_RETURN_IF_ERROR(table_->Pause(own.id));
  while (true) {
    FGNN_ASSIGN_OR_RETURN(const JobVersion seen, table_->Get(own.id));
    const std::optional<absl::Status> answer = table_->PauseAnswer(own.id);
    if (answer.has_value()) {
      FGNN_RETURN_IF_ERROR(*answer);
      FGNN_ASSIGN_OR_RETURN(const JobVersion found, table_->Get(own.id));
      Tell(found.job, &call.response);
      return absl::OkStatus();
    }
    table_->WaitForChange(own.id, seen.change, /*only_end=*/false,
                          DeadlineIn(kLookAtClient));
    if (call.context.IsCancelled()) {
      return absl::DeadlineExceededError(
          absl::StrCat("job ", own.id, " is to pause, but has not yet"));
    }
  }
}

grpc::Status JobServiceAdapter::StreamedContinueJob(
    grpc::ServerContext* context,
    grpc::ServerUnaryStreamer<v1::ContinueJobRequest, v1::Job>* stream) {
  return calls_.Change(context, stream, [&](const auto& call) -> absl::Status {
    FGNN_ASSIGN_OR_RETURN(const Job own,
                          FindOwn(call.caller, call.request.job_id()));
    FGNN_RETURN_IF_ERROR(table_->Continue(own.id));
    FGNN_ASSIGN_OR_RETURN(const JobVersion found, table_->Get(own.id));
    Tell(found.job, &call.response);
    return absl::OkStatus();
  });
}

grpc::Status JobServiceAdapter::StreamedDeleteJob(
    grpc::ServerContext* context,
    grpc::ServerUnaryStreamer<v1::DeleteJobRequest, v1::DeleteJobResponse>*
        stream) {
  return calls_.Change(context, stream, [&](const auto& call) -> absl::Status {
    FGNN_ASSIGN_OR_RETURN(const Job own,
                          FindOwn(call.caller, call.request.job_id()));
    FGNN_ASSIGN_OR_RETURN(const FileUser user,
                          CallingUser(call.caller, call.context));
    FGNN_ASSIGN_OR_RETURN(
        const RemovedRun removed, table_->Remove(own.id, [&](const Job& job) {
          return RemoveRunFolder(job.run_dir, job.id,
                                 RunCallerOf(call.caller, user),
                                 facts_.state_dir);
        }));
    const LogJob about(own.id);
    LogInfo("job {}: deleted by {}", own.id, call.caller.name);
    ToMessage(own, removed, &call.response);
    return absl::OkStatus();
  });
}

grpc::Status JobServiceAdapter::StreamedGetMetrics(
    grpc::ServerContext* context,
    grpc::ServerUnaryStreamer<v1::GetMetricsRequest, v1::GetMetricsResponse>*
        stream) {
  return calls_.Read(context, stream, [&](const auto& call) -> absl::Status {
    FGNN_ASSIGN_OR_RETURN(const JobVersion found,
                          table_->Get(call.request.job_id(), call.caller.name));
    FGNN_ASSIGN_OR_RETURN(
        std::vector<std::string> lines,
        ReadMetricsLines(found.job.run_dir, call.request.after_epoch(),
                         kUsualMessageBytes));
    for (std::string& line : lines) call.response.add_lines(std::move(line));
    return absl::OkStatus();
  });
}

grpc::Status JobServiceAdapter::StreamedGetService(
    grpc::ServerContext* context,
    grpc::ServerUnaryStreamer<v1::GetServiceRequest, v1::ServiceInfo>* stream) {
  return calls_.Read(context, stream, [&](const auto& call) -> absl::Status {
    v1::ServiceInfo* const response = &call.response;
    const JobTable::Counts counts = table_->counts();
    // Daemons with a job are measured while the job runs.
    host_->MeasureIdle();
    response->set_version(facts_.version);
    response->set_pid(::getpid());
    response->set_state_dir(facts_.state_dir);
    response->set_started_ms(facts_.started_ms);
    for (const Device& device : facts_.devices) {
      response->add_devices(device.name);
    }
    for (const ExecutorView& executor : host_->Executors()) {
      ToMessage(executor, response->add_executors());
    }
    response->set_jobs_queued(counts.queued);
    response->set_jobs_paused(counts.paused);
    response->set_jobs_running(counts.running);
    response->set_http(facts_.http);
    response->set_exits_when_idle(facts_.idle_end->ends_when_idle());
    return absl::OkStatus();
  });
}

grpc::Status JobServiceAdapter::StreamedKeepRunning(
    grpc::ServerContext* context,
    grpc::ServerUnaryStreamer<v1::KeepRunningRequest, v1::KeepRunningResponse>*
        stream) {
  return calls_.Change(context, stream, [&](const auto& call) -> absl::Status {
    if (table_->closed()) {
      return absl::UnavailableError("the service is ending; start it again");
    }
    FGNN_RETURN_IF_ERROR(facts_.idle_end->Prevent());
    LogInfo("{} asks the service to stay", call.caller.name);
    return absl::OkStatus();
  });
}

grpc::Status JobServiceAdapter::StreamedShutdown(
    grpc::ServerContext* context,
    grpc::ServerUnaryStreamer<v1::ShutdownRequest, v1::ShutdownResponse>*
        stream) {
  return calls_.Change(context, stream, [&](const auto& call) -> absl::Status {
    FGNN_RETURN_IF_ERROR(CheckMayShutDown(call.caller));
    LogInfo("{} asks the service to end", call.caller.name);
    facts_.shut_down();
    return absl::OkStatus();
  });
}

absl::Status JobServiceAdapter::CheckMayShutDown(const Caller& caller) {
  if (caller.is_operator) return absl::OkStatus();
  const std::vector<Job> others = table_->UnfinishedOfOthers(caller.name);
  if (others.empty()) return absl::OkStatus();
  std::vector<std::string> named;
  for (const Job& job : others) {
    if (named.size() == kMostNamed) {
      named.push_back("…");
      break;
    }
    named.push_back(
        absl::StrCat(job.id, " of ", job.user.empty() ? "nobody" : job.user));
  }
  return absl::PermissionDeniedError(
      absl::StrCat("the service has unfinished jobs that are not ", caller.name,
                   "'s (", absl::StrJoin(named, ", "), "); ask its user ",
                   UserName(::geteuid()), " or root to end it"));
}

}  // namespace fgnn
