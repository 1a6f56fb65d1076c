#include "scheduler/rpc/job_service.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "scheduler/jobs/submission.h"
#include "scheduler/rpc/job_messages.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "shared/rpc/server.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMaxClientKeyBytes = 128;
constexpr uint32_t kUsualListed = 100;
// A message is at most 1 MiB and a job some KiB.
constexpr uint32_t kMostListed = 200;
// Each holds a thread of the server.
constexpr int kMaxWatchers = 256;
constexpr milliseconds kShortestBetweenUpdates{100};
// How long a handler may not notice that its client went away.
constexpr milliseconds kLookAtClient{250};

// A run that goes on does so with the spec that its folder holds.
absl::StatusOr<v1::JobSpec> SpecOf(const v1::SubmitJobRequest& request) {
  if (!request.resume()) return request.spec();
  if (request.has_spec()) {
    return absl::InvalidArgumentError(
        "spec: a job that is resumed has that of its run_dir; leave it out");
  }
  const std::filesystem::path run_dir = request.run_dir();
  if (!run_dir.is_absolute()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "run_dir '", request.run_dir(), "' is not an absolute path"));
  }
  return ReadJobFile(run_dir / "job.yaml", {});
}

}  // namespace

JobServiceAdapter::JobServiceAdapter(ServiceFacts facts, JobTable* table,
                                     DaemonHost* host)
    : facts_(std::move(facts)), table_(table), host_(host) {}

void JobServiceAdapter::Tell(const Job& job, v1::Job* response) {
  ToMessage(job, response);
  if (IsFinal(job.state)) table_->MarkSeen(job.id);
}

grpc::Status JobServiceAdapter::SubmitJob(grpc::ServerContext* context,
                                          const v1::SubmitJobRequest* request,
                                          v1::SubmitJobResponse* response) {
  return ServeCall(*context,
                   [&] { return Submit(*request, response->mutable_job()); });
}

absl::Status JobServiceAdapter::Submit(const v1::SubmitJobRequest& request,
                                       v1::Job* response) {
  if (request.client_key().size() > kMaxClientKeyBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("client_key has ", request.client_key().size(),
                     " bytes, at most ", kMaxClientKeyBytes, " are allowed"));
  }
  FGNN_ASSIGN_OR_RETURN(const v1::JobSpec asked, SpecOf(request));
  FGNN_ASSIGN_OR_RETURN(const v1::JobSpec effective,
                        MakeEffective(asked, facts_.devices));
  JobRequest job_request = {.spec_bytes = effective.SerializeAsString(),
                            .run_dir = request.run_dir(),
                            .client_key = request.client_key(),
                            .digest = request.digest(),
                            .resume = request.resume(),
                            .epochs = effective.training().epochs()};
  // A call that is repeated must not meet the folder that the first one made.
  FGNN_ASSIGN_OR_RETURN(std::optional<Job> job,
                        table_->FindSubmitted(job_request));
  if (!job.has_value()) {
    const JobSpec spec = FromProto(effective);
    FGNN_RETURN_IF_ERROR(request.resume()
                             ? CheckResumption(spec)
                             : CheckSubmission(spec, request.run_dir()));
    FGNN_ASSIGN_OR_RETURN(job, table_->Submit(job_request));
  }
  Tell(*job, response);
  return absl::OkStatus();
}

grpc::Status JobServiceAdapter::GetJob(grpc::ServerContext* context,
                                       const v1::GetJobRequest* request,
                                       v1::Job* response) {
  return ServeCall(*context, [&]() -> absl::Status {
    FGNN_ASSIGN_OR_RETURN(const JobVersion found,
                          table_->Get(request->job_id()));
    Tell(found.job, response);
    return absl::OkStatus();
  });
}

grpc::Status JobServiceAdapter::ListJobs(grpc::ServerContext* context,
                                         const v1::ListJobsRequest* request,
                                         v1::ListJobsResponse* response) {
  return ServeCall(*context, [&]() -> absl::Status {
    const uint32_t limit =
        request->limit() == 0 ? kUsualListed : request->limit();
    FGNN_ASSIGN_OR_RETURN(const std::vector<Job> jobs,
                          table_->List(std::min(limit, kMostListed)));
    for (const Job& job : jobs) ToMessage(job, response->add_jobs());
    return absl::OkStatus();
  });
}

grpc::Status JobServiceAdapter::WatchJob(grpc::ServerContext* context,
                                         const v1::WatchJobRequest* request,
                                         grpc::ServerWriter<v1::Job>* writer) {
  return ServeCall(*context,
                   [&] { return Watch(*context, request->job_id(), *writer); });
}

absl::Status JobServiceAdapter::Watch(grpc::ServerContext& context,
                                      const std::string& job_id,
                                      grpc::ServerWriter<v1::Job>& writer) {
  const auto leave = absl::MakeCleanup([this] { --watchers_; });
  if (++watchers_ > kMaxWatchers) {
    return absl::ResourceExhaustedError(absl::StrCat(
        kMaxWatchers, " clients watch jobs already; try again later"));
  }
  FGNN_ASSIGN_OR_RETURN(JobVersion seen, table_->Get(job_id));
  const std::string id = seen.job.id;
  while (true) {
    v1::Job message;
    Tell(seen.job, &message);
    if (!writer.Write(message)) return absl::OkStatus();  // It went away.
    if (IsFinal(seen.job.state)) return absl::OkStatus();
    // The end is news at once, everything else ten times a second.
    table_->WaitForChange(id, seen.change, /*only_end=*/true,
                          DeadlineIn(kShortestBetweenUpdates));
    while (!table_->WaitForChange(id, seen.change, /*only_end=*/false,
                                  DeadlineIn(kLookAtClient))) {
      if (context.IsCancelled()) {
        return absl::DeadlineExceededError(
            absl::StrCat("job ", id, " has not ended"));
      }
    }
    FGNN_ASSIGN_OR_RETURN(seen, table_->Get(id));
  }
}

grpc::Status JobServiceAdapter::CancelJob(grpc::ServerContext* context,
                                          const v1::CancelJobRequest* request,
                                          v1::Job* response) {
  return ServeCall(
      *context, [&] { return Cancel(*context, request->job_id(), response); });
}

absl::Status JobServiceAdapter::Cancel(grpc::ServerContext& context,
                                       const std::string& job_id,
                                       v1::Job* response) {
  FGNN_ASSIGN_OR_RETURN(JobVersion found, table_->Get(job_id));
  const std::string id = found.job.id;
  FGNN_RETURN_IF_ERROR(table_->Cancel(
      id, absl::CancelledError(absl::StrCat("job ", id, " was cancelled"))));
  while (!table_->WaitForChange(id, 0, /*only_end=*/true,
                                DeadlineIn(kLookAtClient))) {
    if (context.IsCancelled()) {
      return absl::DeadlineExceededError(
          absl::StrCat("job ", id, " is being cancelled, but has not ended"));
    }
  }
  FGNN_ASSIGN_OR_RETURN(found, table_->Get(id));
  if (found.job.state != JobState::kCancelled) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", id, " has already ", std::string(NameOf(found.job.state))));
  }
  Tell(found.job, response);
  return absl::OkStatus();
}

grpc::Status JobServiceAdapter::GetService(
    grpc::ServerContext* context, const v1::GetServiceRequest* /*request*/,
    v1::ServiceInfo* response) {
  return ServeCall(*context, [&]() -> absl::Status {
    const JobTable::Counts counts = table_->counts();
    // A job that runs has its daemons measured anyway.
    if (counts.running == 0) host_->MeasureMemory();
    response->set_version(facts_.version);
    response->set_pid(::getpid());
    response->set_state_dir(facts_.state_dir);
    response->set_started_ms(facts_.started_ms);
    for (const std::string& device : facts_.devices) {
      response->add_devices(device);
    }
    for (const ExecutorView& executor : host_->Executors()) {
      ToMessage(executor, response->add_executors());
    }
    response->set_jobs_queued(counts.queued);
    response->set_jobs_running(counts.running);
    response->set_exits_when_idle(facts_.exits_when_idle);
    return absl::OkStatus();
  });
}

grpc::Status JobServiceAdapter::Shutdown(grpc::ServerContext* context,
                                         const v1::ShutdownRequest* /*request*/,
                                         v1::ShutdownResponse* /*response*/) {
  return ServeCall(*context, [&] {
    facts_.shut_down();
    return absl::OkStatus();
  });
}

}  // namespace fgnn
