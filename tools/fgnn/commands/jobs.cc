// submit, jobs, show, watch, pause, cancel.
#include <cstdint>
#include <string>
#include <vector>

#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/commands/job_help.h"
#include "tools/fgnn/history/job_history.h"
#include "tools/fgnn/reports/job_text.h"
#include "tools/fgnn/reports/message_json.h"
#include "tools/fgnn/reports/print_report.h"
#include "tools/fgnn/service/follow.h"
#include "tools/fgnn/service/interrupt.h"
#include "tools/fgnn/service/job_request.h"
#include "tools/fgnn/service/service_client.h"

namespace fgnn {
namespace {

absl::Status Submit(const JobRequestFlags& flags,
                    const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(const auto request, MakeJobRequest(flags));
  FGNN_ASSIGN_OR_RETURN(ServiceClient client,
                        ServiceClient::Connect(context.place));
  FGNN_ASSIGN_OR_RETURN(const v1::SubmitJobResponse submitted,
                        client.Submit(request));
  const v1::Job& job = submitted.job();
  const std::vector<std::string> notes(submitted.notes().begin(),
                                       submitted.notes().end());
  if (!context.json) PrintNotes(notes);
  PrintAnswer(
      {{"job_id", job.job_id()}, {"run_dir", job.run_dir()}, {"notes", notes}},
      job.job_id() + "\n", context);
  return absl::OkStatus();
}

struct ListFlags {
  uint32_t limit = 0;
  std::vector<std::string> states;
  std::string user;
  std::string search;
};

absl::Status ListJobs(const ListFlags& flags, const CommandContext& context) {
  v1::ListJobsRequest request;
  request.set_limit(flags.limit);
  request.set_user(flags.user);
  request.set_search(flags.search);
  for (const std::string& name : flags.states) {
    FGNN_ASSIGN_OR_RETURN(const v1::JobState state, ParseStateName(name));
    request.add_states(state);
  }
  FGNN_ASSIGN_OR_RETURN(JobHistory history, JobHistory::Open(context.place));
  FGNN_ASSIGN_OR_RETURN(const auto jobs, history.ListJobs(request));
  PrintAnswer(ToJson(jobs), JobListText(jobs), context);
  return absl::OkStatus();
}

void AddListFlags(Command jobs, ListFlags& flags) {
  jobs.AddOption("--limit", flags.limit, "Most jobs to list; default 100")
      .Takes("N")
      .Between<uint32_t>(1, UINT32_MAX);
  jobs.AddOption("--state", flags.states,
                 "Only jobs in this state, or in one of these with commas "
                 "between, e.g. queued,running")
      .Takes("STATE")
      .SplitAt(',')
      .OneWordEach();
  jobs.AddOption("--user", flags.user, "Only jobs of this user").Takes("NAME");
  jobs.AddOption("--search", flags.search,
                 "Only jobs with this text in their id, name, dataset, run "
                 "folder or error")
      .Takes("TEXT");
}

struct ShowFlags {
  std::string job_id;
  bool spec_only = false;
};

absl::Status Show(const ShowFlags& flags, const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(JobHistory history, JobHistory::Open(context.place));
  FGNN_ASSIGN_OR_RETURN(const v1::Job job, history.GetJob(flags.job_id));
  if (flags.spec_only) {
    PrintAnswer(ToJson(job.spec()), ToYaml(job.spec(), /*with_help=*/true),
                context);
  } else {
    PrintAnswer(ToJson(job), JobText(job), context);
  }
  return absl::OkStatus();
}

void Watch(const std::string& job_id, CommandContext& context) {
  Interrupt interrupt;  // Made before gRPC starts threads.
  auto client = ServiceClient::Connect(context.place);
  if (!client.ok()) {
    context.status = client.status();
    return;
  }
  const auto job = client->GetJob(job_id);
  if (!job.ok()) {
    context.status = job.status();
    return;
  }
  AnswerWithJob(FollowJob(context, *client, *job, interrupt), interrupt,
                context);
}

template <absl::StatusOr<v1::Job> (ServiceClient::*change)(const std::string&)>
absl::Status Change(const std::string& job_id, const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(ServiceClient client,
                        ServiceClient::Connect(context.place));
  FGNN_ASSIGN_OR_RETURN(const v1::Job job, (client.*change)(job_id));
  PrintAnswer(
      ToJson(job),
      absl::StrCat("job ", job.job_id(), " ", StateName(job.state()), "\n"),
      context);
  return absl::OkStatus();
}

void AddJobArgument(Command command, std::string& job_id) {
  command.AddOption("JOB", job_id, kJobHelp).Required().Takes("JOB");
}

}  // namespace

void AddJobCommands(Command app, CommandContext& context) {
  const Command submit = app.AddSubcommand(
      "submit", "Queue a job with the running service; prints its id");
  AddJobRequestFlags(submit, OnRun(submit, context, &Submit));

  const Command jobs = app.AddSubcommand(
      "jobs", "List jobs, newest first; also while no service runs");
  AddListFlags(jobs, OnRun(jobs, context, &ListJobs));

  const Command show = app.AddSubcommand(
      "show",
      "One job: state, progress, executors; also while no service runs");
  ShowFlags& shown = OnRun(show, context, &Show);
  AddJobArgument(show, shown.job_id);
  show.AddFlag("--spec", shown.spec_only,
               "Print the effective job file instead, every field explained");

  const Command watch =
      app.AddSubcommand("watch", "Follow a job until it ends");
  AddJobArgument(watch, OnRun(watch, context, &Watch));
  AddQuietFlag(watch, context);

  const Command pause = app.AddSubcommand(
      "pause",
      "Have a job let go of its devices, with a checkpoint of where it is; "
      "'fgnn resume JOB' goes on with it");
  AddJobArgument(pause, OnRun(pause, context, &Change<&ServiceClient::Pause>));

  const Command cancel = app.AddSubcommand(
      "cancel", "End a job; returns once nothing of it is left");
  AddJobArgument(cancel,
                 OnRun(cancel, context, &Change<&ServiceClient::Cancel>));
}

}  // namespace fgnn
