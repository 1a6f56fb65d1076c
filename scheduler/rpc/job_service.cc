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
#include "scheduler/rpc/calling_user.h"
#include "scheduler/rpc/job_messages.h"
#include "scheduler/rpc/submit_request.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/user_name.h"
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
// Most calls of a user that wait at once: half of the threads of the user's
// server. So the user's other calls are still answered.
constexpr int kMaxWaits = 32;
constexpr uint32_t kMostNamed = 3;
// Time between two looks at whether the client is still there.
constexpr milliseconds kLookAtClient{250};

}  // namespace

// Counts a call as one that waits, for as long as it lives.
class JobServiceAdapter::Wait {
 public:
  explicit Wait(JobServiceAdapter* service) : service_(service) {
    ++service_->num_waits_;
  }
  ~Wait() { --service_->num_waits_; }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  // ResourceExhausted: too many calls of the user wait already.
  absl::Status Check() const {
    if (service_->num_waits_ <= kMaxWaits) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat(
        kMaxWaits, " calls of ", service_->caller_.name,
        " wait for jobs to end or to pause already; try again later"));
  }

 private:
  JobServiceAdapter* const service_;
};

JobServiceAdapter::JobServiceAdapter(const JobServiceParts& parts,
                                     Caller caller)
    : facts_(*parts.facts),
      table_(parts.table),
      host_(parts.host),
      datasets_(parts.datasets),
      watchers_(parts.watchers),
      audit_(parts.audit),
      caller_(std::move(caller)) {}

void JobServiceAdapter::Tell(const Job& job, v1::Job* response) {
  ToMessage(job, response);
  if (IsFinal(job.state)) table_->MarkSeen(job.id);
}

grpc::Status JobServiceAdapter::SubmitJob(grpc::ServerContext* context,
                                          const v1::SubmitJobRequest* request,
                                          v1::SubmitJobResponse* response) {
  return ServeChange(*context, *audit_, caller_, *request, *response,
                     [&] { return Submit(*context, *request, response); });
}

absl::Status JobServiceAdapter::Submit(const grpc::ServerContext& context,
                                       const v1::SubmitJobRequest& request,
                                       v1::SubmitJobResponse* response) {
  FGNN_ASSIGN_OR_RETURN(const FileUser user, CallingUser(caller_, context));
  FGNN_RETURN_IF_ERROR(CheckReaches(RunCallerOf(caller_, user),
                                    facts_.state_dir, request.run_dir()));
  FGNN_ASSIGN_OR_RETURN(
      ReadRequest read,
      ReadSubmitRequest(request, caller_.name, NamesOf(facts_.devices),
                        [&](const std::filesystem::path& run_dir) {
                          return CheckResumedRunPath(facts_.paths,
                                                     RunCallerOf(caller_, user),
                                                     facts_.state_dir, run_dir);
                        }));
  read.request.by_operator = caller_.is_operator;
  // An operator goes on with the runs of all users.
  if (!(caller_.is_operator && request.resume())) {
    read.request.file_user = FileUserText(user);
  }
  response->mutable_notes()->Add(read.notes.begin(), read.notes.end());
  absl::Status check = host_->CheckGpus(read.spec.devices);
  check.Update(CheckJobPaths(facts_.paths, facts_.state_dir,
                             RunCallerOf(caller_, user), read));
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
    Tell(*same, response->mutable_job());
    return absl::OkStatus();
  }
  FGNN_ASSIGN_OR_RETURN(const DatasetFacts facts, datasets_->Look(read.spec));
  if (std::optional<std::string> note =
          NoteOnBatchSize(read.spec, facts.shape.num_train)) {
    response->add_notes(*std::move(note));
  }
  if (std::optional<std::string> note = NoteOnScores(read.spec, facts)) {
    response->add_notes(*std::move(note));
  }
  FGNN_RETURN_IF_ERROR(
      MakeRunsOfCaller(facts_.state_dir, caller_, read.request.run_dir));
  FGNN_ASSIGN_OR_RETURN(Job job, table_->Submit(read.request));
  if (job.client_key != request.client_key()) {
    response->add_notes(absl::StrCat(
        "job ", job.id, " is ", std::string(NameOf(job.state)),
        " in this folder: it goes on, and no further job was made"));
    FGNN_RETURN_IF_ERROR(table_->Continue(job.id));
    FGNN_ASSIGN_OR_RETURN(const JobVersion found, table_->Get(job.id));
    job = found.job;
  }
  Tell(job, response->mutable_job());
  return absl::OkStatus();
}

grpc::Status JobServiceAdapter::GetJob(grpc::ServerContext* context,
                                       const v1::GetJobRequest* request,
                                       v1::Job* response) {
  return ServeCall(*context, [&]() -> absl::Status {
    FGNN_RETURN_IF_ERROR(CheckLengths(*request));
    FGNN_ASSIGN_OR_RETURN(const JobVersion found,
                          table_->Get(request->job_id(), caller_.name));
    Tell(found.job, response);
    return absl::OkStatus();
  });
}

grpc::Status JobServiceAdapter::ListJobs(grpc::ServerContext* context,
                                         const v1::ListJobsRequest* request,
                                         v1::ListJobsResponse* response) {
  return ServeCall(*context, [&] { return List(*request, response); });
}

absl::Status JobServiceAdapter::List(const v1::ListJobsRequest& request,
                                     v1::ListJobsResponse* response) {
  FGNN_RETURN_IF_ERROR(CheckLengths(request));
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

grpc::ServerWriteReactor<v1::Job>* JobServiceAdapter::WatchJob(
    grpc::CallbackServerContext* context, const v1::WatchJobRequest* request) {
  absl::Status check = CheckDeadline(context->deadline());
  check.Update(CheckLengths(*request));
  std::string job_id;
  if (check.ok()) {
    const absl::StatusOr<JobVersion> found =
        table_->Get(request->job_id(), caller_.name);
    check = found.status();
    if (found.ok()) job_id = found->job.id;
  }
  return watchers_->Watch(caller_.uid, check, job_id);
}

grpc::Status JobServiceAdapter::CancelJob(grpc::ServerContext* context,
                                          const v1::CancelJobRequest* request,
                                          v1::Job* response) {
  return ServeChange(*context, *audit_, caller_, *request, *response, [&] {
    return Cancel(*context, request->job_id(), response);
  });
}

absl::Status JobServiceAdapter::Cancel(grpc::ServerContext& context,
                                       const std::string& job_id,
                                       v1::Job* response) {
  const Wait wait(this);
  FGNN_RETURN_IF_ERROR(wait.Check());
  FGNN_ASSIGN_OR_RETURN(const Job own, FindOwn(job_id));
  const std::string& id = own.id;
  FGNN_RETURN_IF_ERROR(table_->Cancel(
      id, absl::CancelledError(absl::StrCat("job ", id, " was cancelled"))));
  while (!table_->WaitForChange(id, 0, /*only_end=*/true,
                                DeadlineIn(kLookAtClient))) {
    if (context.IsCancelled()) {
      return absl::DeadlineExceededError(
          absl::StrCat("job ", id, " is being cancelled, but has not ended"));
    }
  }
  FGNN_ASSIGN_OR_RETURN(const JobVersion found, table_->Get(id));
  if (found.job.state != JobState::kCancelled) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", id, " has already ", std::string(NameOf(found.job.state))));
  }
  Tell(found.job, response);
  return absl::OkStatus();
}

absl::StatusOr<Job> JobServiceAdapter::FindOwn(const std::string& job_id) {
  FGNN_ASSIGN_OR_RETURN(JobVersion found, table_->Get(job_id, caller_.name));
  FGNN_RETURN_IF_ERROR(CheckMayChange(caller_, found.job));
  return std::move(found.job);
}

grpc::Status JobServiceAdapter::PauseJob(grpc::ServerContext* context,
                                         const v1::PauseJobRequest* request,
                                         v1::Job* response) {
  return ServeChange(*context, *audit_, caller_, *request, *response, [&] {
    return Pause(*context, request->job_id(), response);
  });
}

absl::Status JobServiceAdapter::Pause(grpc::ServerContext& context,
                                      const std::string& job_id,
                                      v1::Job* response) {
  const Wait wait(this);
  FGNN_RETURN_IF_ERROR(wait.Check());
  FGNN_ASSIGN_OR_RETURN(const Job own, FindOwn(job_id));
  FGNN_RETURN_IF_ERROR(table_->Pause(own.id));
  while (true) {
    FGNN_ASSIGN_OR_RETURN(const JobVersion seen, table_->Get(own.id));
    const std::optional<absl::Status> answer = table_->PauseAnswer(own.id);
    if (answer.has_value()) {
      FGNN_RETURN_IF_ERROR(*answer);
      FGNN_ASSIGN_OR_RETURN(const JobVersion found, table_->Get(own.id));
      Tell(found.job, response);
      return absl::OkStatus();
    }
    table_->WaitForChange(own.id, seen.change, /*only_end=*/false,
                          DeadlineIn(kLookAtClient));
    if (context.IsCancelled()) {
      return absl::DeadlineExceededError(
          absl::StrCat("job ", own.id, " is to pause, but has not yet"));
    }
  }
}

grpc::Status JobServiceAdapter::ContinueJob(
    grpc::ServerContext* context, const v1::ContinueJobRequest* request,
    v1::Job* response) {
  return ServeChange(
      *context, *audit_, caller_, *request, *response, [&]() -> absl::Status {
        FGNN_ASSIGN_OR_RETURN(const Job own, FindOwn(request->job_id()));
        FGNN_RETURN_IF_ERROR(table_->Continue(own.id));
        FGNN_ASSIGN_OR_RETURN(const JobVersion found, table_->Get(own.id));
        Tell(found.job, response);
        return absl::OkStatus();
      });
}

grpc::Status JobServiceAdapter::DeleteJob(grpc::ServerContext* context,
                                          const v1::DeleteJobRequest* request,
                                          v1::DeleteJobResponse* response) {
  return ServeChange(
      *context, *audit_, caller_, *request, *response, [&]() -> absl::Status {
        FGNN_ASSIGN_OR_RETURN(const Job own, FindOwn(request->job_id()));
        FGNN_ASSIGN_OR_RETURN(const FileUser user,
                              CallingUser(caller_, *context));
        FGNN_ASSIGN_OR_RETURN(
            const RemovedRun removed,
            table_->remover().Remove(own.id, [&](const Job& job) {
              return RemoveRunFolder(job.run_dir, job.id,
                                     RunCallerOf(caller_, user),
                                     facts_.state_dir);
            }));
        const LogJob about(own.id);
        LogInfo("job {}: deleted by {}", own.id, caller_.name);
        ToMessage(own, removed, response);
        return absl::OkStatus();
      });
}

grpc::Status JobServiceAdapter::GetMetrics(grpc::ServerContext* context,
                                           const v1::GetMetricsRequest* request,
                                           v1::GetMetricsResponse* response) {
  return ServeCall(*context, [&]() -> absl::Status {
    FGNN_RETURN_IF_ERROR(CheckLengths(*request));
    FGNN_ASSIGN_OR_RETURN(const JobVersion found,
                          table_->Get(request->job_id(), caller_.name));
    FGNN_ASSIGN_OR_RETURN(
        std::vector<std::string> lines,
        ReadMetricsLines(found.job.run_dir, request->after_epoch(),
                         kUsualMessageBytes));
    for (std::string& line : lines) response->add_lines(std::move(line));
    return absl::OkStatus();
  });
}

grpc::Status JobServiceAdapter::GetService(
    grpc::ServerContext* context, const v1::GetServiceRequest* /*request*/,
    v1::ServiceInfo* response) {
  return ServeCall(*context, [&]() -> absl::Status {
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

grpc::Status JobServiceAdapter::KeepRunning(
    grpc::ServerContext* context, const v1::KeepRunningRequest* request,
    v1::KeepRunningResponse* response) {
  return ServeChange(*context, *audit_, caller_, *request, *response,
                     [&]() -> absl::Status {
                       if (table_->closed()) {
                         return absl::UnavailableError(
                             "the service is ending; start it again");
                       }
                       FGNN_RETURN_IF_ERROR(facts_.idle_end->Prevent());
                       LogInfo("{} asks the service to stay", caller_.name);
                       return absl::OkStatus();
                     });
}

grpc::Status JobServiceAdapter::Shutdown(grpc::ServerContext* context,
                                         const v1::ShutdownRequest* request,
                                         v1::ShutdownResponse* response) {
  return ServeChange(*context, *audit_, caller_, *request, *response,
                     [&]() -> absl::Status {
                       FGNN_RETURN_IF_ERROR(CheckMayShutDown());
                       LogInfo("{} asks the service to end", caller_.name);
                       facts_.shut_down();
                       return absl::OkStatus();
                     });
}

absl::Status JobServiceAdapter::CheckMayShutDown() {
  if (caller_.is_operator) return absl::OkStatus();
  const std::vector<Job> others = table_->UnfinishedOfOthers(caller_.name);
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
  return absl::PermissionDeniedError(absl::StrCat(
      "the service has unfinished jobs that are not ", caller_.name, "'s (",
      absl::StrJoin(named, ", "), "); ask its user ", UserName(::geteuid()),
      " or root to end it"));
}

}  // namespace fgnn
