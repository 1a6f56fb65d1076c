// run and resume: submit a job, follow it, and sum it up.
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "shared/config/state_dir.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/history/run_folder.h"
#include "tools/fgnn/reports/job_text.h"
#include "tools/fgnn/service/devices_for_job.h"
#include "tools/fgnn/service/follow.h"
#include "tools/fgnn/service/interrupt.h"
#include "tools/fgnn/service/job_request.h"
#include "tools/fgnn/service/program.h"
#include "tools/fgnn/service/service_client.h"
#include "tools/fgnn/service/service_process.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kRunEndTimeout{30};
// Most attempts: a service that ends after its last job may be about to end
// when it is called.
constexpr int kMaxRunAttempts = 3;

struct SubmittedJob {
  ServiceClient client;
  v1::Job job;
  std::vector<std::string> notes;
  // Pid of the service that this program started for the job.
  std::optional<pid_t> started_service;
};

// A request, and the spec of the job for which a service is started.
struct RunRequest {
  v1::SubmitJobRequest request;
  v1::JobSpec spec;
};

// Returns the service's pid; nullopt if another program has started one
// meanwhile.
absl::StatusOr<std::optional<pid_t>> StartServiceFor(
    const std::filesystem::path& state_dir, const v1::JobSpec& spec) {
  FGNN_ASSIGN_OR_RETURN(std::vector<Device> devices,
                        DevicesForJob(spec, CountGpusHere));
  FGNN_RETURN_IF_ERROR(CheckGpusAreHere(devices, CountGpusHere));
  return StartServiceUnlessOthersDo(
      {state_dir, std::move(devices), /*exit_when_idle=*/true});
}

// Returns true if the service goes on: it has jobs, or 'fgnn up' made it stay.
bool GoesOn(const absl::StatusOr<v1::ServiceInfo>& info) {
  return info.ok() &&
         (!info->exits_when_idle() ||
          info->jobs_running() + info->jobs_queued() + info->jobs_paused() > 0);
}

// Ends a service that this program started for a job which it then refused. It
// goes on if others have submitted jobs to it.
void EndService(ServiceClient& client, pid_t service) {
  if (GoesOn(client.GetService())) return;
  // The user should read the refusal. The result is ignored, as the service may
  // already have ended.
  (void)client.Shutdown();
  (void)WaitUntilGone(service, DeadlineIn(kRunEndTimeout));
}

absl::StatusOr<SubmittedJob> SubmitOnce(const std::filesystem::path& state_dir,
                                        const RunRequest& run) {
  FGNN_ASSIGN_OR_RETURN(const bool listens, ServiceListens(state_dir));
  std::optional<pid_t> started;
  if (!listens) {
    FGNN_ASSIGN_OR_RETURN(started, StartServiceFor(state_dir, run.spec));
  }
  FGNN_ASSIGN_OR_RETURN(ServiceClient client,
                        ServiceClient::Connect({.state_dir = state_dir}));
  absl::StatusOr<v1::SubmitJobResponse> answer = client.Submit(run.request);
  if (!answer.ok()) {
    if (started.has_value()) EndService(client, *started);
    return answer.status();
  }
  return SubmittedJob{std::move(client),
                      std::move(*answer->mutable_job()),
                      {answer->notes().begin(), answer->notes().end()},
                      started};
}

// Submits to a service on another machine, which this program never starts.
absl::StatusOr<SubmittedJob> SubmitRemotely(const ServicePlace& place,
                                            const RunRequest& run) {
  FGNN_ASSIGN_OR_RETURN(ServiceClient client, ServiceClient::Connect(place));
  FGNN_ASSIGN_OR_RETURN(v1::SubmitJobResponse answer,
                        client.Submit(run.request));
  return SubmittedJob{std::move(client),
                      std::move(*answer.mutable_job()),
                      {answer.notes().begin(), answer.notes().end()},
                      std::nullopt};
}

absl::StatusOr<SubmittedJob> SubmitToSomeService(const ServicePlace& place,
                                                 const RunRequest& run) {
  if (place.is_remote()) return SubmitRemotely(place, run);
  const std::filesystem::path state_dir =
      std::filesystem::absolute(place.state_dir);
  absl::StatusOr<SubmittedJob> submitted;
  for (int attempt = 0; attempt < kMaxRunAttempts; ++attempt) {
    submitted = SubmitOnce(state_dir, run);
    if (submitted.ok() || !absl::IsUnavailable(submitted.status())) break;
  }
  return submitted;
}

absl::StatusOr<RunRequest> RequestOf(const JobRequestFlags& flags) {
  RunRequest run;
  FGNN_ASSIGN_OR_RETURN(run.request, MakeJobRequest(flags));
  run.spec = run.request.spec();
  return run;
}

// The run's folder is on the service's machine, which alone can look into it.
absl::StatusOr<RunRequest> RequestToResumeRemotely(
    const std::string& job_id, const std::vector<std::string>& overrides,
    const ServicePlace& place) {
  RunRequest run;
  FGNN_ASSIGN_OR_RETURN(ServiceClient client, ServiceClient::Connect(place));
  FGNN_ASSIGN_OR_RETURN(const v1::Job job, client.GetJob(job_id));
  run.request = MakeRequestToResume(job.run_dir(), overrides);
  return run;
}

absl::StatusOr<RunRequest> RequestToResume(
    const std::string& run_name, const std::vector<std::string>& overrides,
    const ServicePlace& place) {
  if (place.is_remote()) {
    return RequestToResumeRemotely(run_name, overrides, place);
  }
  const std::filesystem::path& state_dir = place.state_dir;
  RunRequest run;
  FGNN_ASSIGN_OR_RETURN(const std::filesystem::path run_dir,
                        FindRunFolder(run_name, state_dir));
  FGNN_RETURN_IF_ERROR(CheckCanResume(run_dir));
  FGNN_ASSIGN_OR_RETURN(run.spec, ReadRunsJobFile(run_dir));
  FGNN_RETURN_IF_ERROR(ApplyOverrides(overrides, &run.spec));
  FGNN_ASSIGN_OR_RETURN(run.request, MakeResumeRequest(run_dir, overrides));
  return run;
}

// Waits until a service that this program started has ended. It goes on, and
// the function returns, if others have submitted jobs to it. No connection
// stays open meanwhile: a service that ends gives its connected clients some
// seconds.
absl::Status WaitForEnd(const CommandContext& context, pid_t service) {
  const auto goes_on = [&context] {
    absl::StatusOr<ServiceClient> client =
        ServiceClient::Connect(context.place);
    return client.ok() && GoesOn(client->GetService());
  };
  if (goes_on()) return absl::OkStatus();
  const absl::Status gone = WaitUntilGone(service, DeadlineIn(kRunEndTimeout));
  if (!gone.ok() && goes_on()) return absl::OkStatus();
  return gone;
}

void Follow(const std::function<absl::StatusOr<RunRequest>()>& make,
            CommandContext& context) {
  Interrupt interrupt;  // Made before gRPC starts threads.
  const auto run = make();
  if (!run.ok()) {
    context.status = run.status();
    return;
  }
  auto submitted = SubmitToSomeService(context.place, *run);
  if (!submitted.ok()) {
    context.status = submitted.status();
    return;
  }
  PrintNotes(submitted->notes);
  {
    ServiceClient client = std::move(submitted->client);
    const absl::StatusOr<v1::Job> ended =
        FollowJob(context, client, submitted->job, interrupt);
    AnswerWithJob(ended, interrupt, context);
  }
  if (interrupt.raised() || !submitted->started_service.has_value()) return;
  const absl::Status gone = WaitForEnd(context, *submitted->started_service);
  if (context.status.ok()) context.status = gone;
}

// Goes on with a job of the running service, and follows it. Returns false if
// the service knows no such job or the job has ended.
bool FollowContinued(const std::string& job_id, CommandContext& context) {
  if (job_id.find('/') != std::string::npos) return false;
  Interrupt interrupt;  // Made before gRPC starts threads.
  auto client = ServiceClient::Connect(context.place);
  if (!client.ok()) return false;
  auto job = client->GetJob(job_id);
  if (!job.ok() || HasEnded(job->state())) return false;
  if (job->state() != v1::JOB_STATE_PAUSED) {
    PrintNotes(
        {absl::StrCat("job ", job->job_id(), " is ", StateName(job->state()),
                      ": there is nothing to resume")});
  }
  job = client->Continue(job->job_id());
  if (!job.ok()) {
    context.status = job.status();
    return true;
  }
  AnswerWithJob(FollowJob(context, *client, *job, interrupt), interrupt,
                context);
  return true;
}

}  // namespace

void AddRunCommand(Command app, CommandContext& context) {
  const Command run = app.AddSubcommand(
      "run",
      "Train: submit a job, show how it goes, print the summary. Starts a "
      "service for the job where none runs; Ctrl-C leaves the job running");
  const auto flags = std::make_shared<JobRequestFlags>();
  AddJobRequestFlags(run, *flags);
  AddQuietFlag(run, context);
  run.OnRun([flags, &context] {
    Follow([&flags] { return RequestOf(*flags); }, context);
  });
}

void AddResumeCommand(Command app, CommandContext& context) {
  const Command resume = app.AddSubcommand(
      "resume",
      "Go on with a job that is paused, or with a run that ended early, from "
      "its newest checkpoint; follows it as 'run' does");
  const auto run = std::make_shared<std::string>();
  const auto overrides = std::make_shared<std::vector<std::string>>();
  resume
      .AddOption("RUN", *run,
                 "A run's folder, or a job: its id, a unique part of it, its "
                 "--name, or 'last' for the newest")
      .Required()
      .Takes("DIR|JOB");
  AddOverrides(resume, *overrides);
  AddQuietFlag(resume, context);
  resume.OnRun([run, overrides, &context] {
    // A job that has not ended keeps its fields, which the service says.
    if (overrides->empty() && FollowContinued(*run, context)) return;
    Follow([&] { return RequestToResume(*run, *overrides, context.place); },
           context);
  });
}

}  // namespace fgnn
