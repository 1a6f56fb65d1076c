// submit, jobs, show, watch, pause, cancel.
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/json_text.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/commands/job_help.h"
#include "tools/fgnn/history/job_history.h"
#include "tools/fgnn/reports/job_text.h"
#include "tools/fgnn/reports/message_json.h"
#include "tools/fgnn/service/follow.h"
#include "tools/fgnn/service/interrupt.h"
#include "tools/fgnn/service/job_request.h"
#include "tools/fgnn/service/service_client.h"

namespace fgnn {
namespace {

void PrintJson(const nlohmann::ordered_json& json) {
  std::cout << JsonText(json, 2) << "\n";
}

absl::Status Submit(const JobRequestFlags& flags,
                    const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(const auto request, MakeJobRequest(flags));
  FGNN_ASSIGN_OR_RETURN(ServiceClient client,
                        ServiceClient::Connect(PlaceOf(context)));
  FGNN_ASSIGN_OR_RETURN(const v1::SubmitJobResponse submitted,
                        client.Submit(request));
  const v1::Job& job = submitted.job();
  const std::vector<std::string> notes(submitted.notes().begin(),
                                       submitted.notes().end());
  if (context.json) {
    PrintJson({{"job_id", job.job_id()},
               {"run_dir", job.run_dir()},
               {"notes", notes}});
  } else {
    PrintNotes(notes);
    std::cout << job.job_id() << "\n";
  }
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
  FGNN_ASSIGN_OR_RETURN(JobHistory history, JobHistory::Open(PlaceOf(context)));
  FGNN_ASSIGN_OR_RETURN(const auto jobs, history.ListJobs(request));
  if (context.json) {
    PrintJson(ToJson(jobs));
  } else {
    std::cout << JobListText(jobs);
  }
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

absl::Status Show(const std::string& job_id, bool spec_only,
                  const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(JobHistory history, JobHistory::Open(PlaceOf(context)));
  FGNN_ASSIGN_OR_RETURN(const v1::Job job, history.GetJob(job_id));
  if (context.json) {
    PrintJson(spec_only ? ToJson(job.spec()) : ToJson(job));
  } else if (spec_only) {
    std::cout << ToYaml(job.spec(), /*with_help=*/true);
  } else {
    std::cout << JobText(job);
  }
  return absl::OkStatus();
}

void Watch(const std::string& job_id, CommandContext& context) {
  Interrupt interrupt;  // Made before gRPC starts threads.
  auto client = ServiceClient::Connect(PlaceOf(context));
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

absl::Status Change(
    const std::string& job_id,
    absl::StatusOr<v1::Job> (ServiceClient::*change)(const std::string&),
    const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(ServiceClient client,
                        ServiceClient::Connect(PlaceOf(context)));
  FGNN_ASSIGN_OR_RETURN(const v1::Job job, (client.*change)(job_id));
  if (context.json) {
    PrintJson(ToJson(job));
  } else {
    std::cout << "job " << job.job_id() << " " << StateName(job.state())
              << "\n";
  }
  return absl::OkStatus();
}

Command AddJobIdCommand(Command app, const std::string& name,
                        const std::string& description,
                        std::function<void(const std::string&)> run) {
  const Command command = app.AddSubcommand(name, description);
  const auto job_id = std::make_shared<std::string>();
  command.AddOption("JOB", *job_id, kJobHelp).Required().Takes("JOB");
  command.OnRun([job_id, run = std::move(run)] { run(*job_id); });
  return command;
}

}  // namespace

void AddJobCommands(Command app, CommandContext& context) {
  const Command submit = app.AddSubcommand(
      "submit", "Queue a job with the running service; prints its id");
  const auto flags = std::make_shared<JobRequestFlags>();
  AddJobRequestFlags(submit, *flags);
  submit.OnRun([flags, &context] { context.status = Submit(*flags, context); });

  const Command jobs = app.AddSubcommand(
      "jobs", "List jobs, newest first; also while no service runs");
  const auto list = std::make_shared<ListFlags>();
  AddListFlags(jobs, *list);
  jobs.OnRun([list, &context] { context.status = ListJobs(*list, context); });

  const auto spec_only = std::make_shared<bool>(false);
  AddJobIdCommand(app, "show",
                  "One job: state, progress, executors; also while no service "
                  "runs",
                  [spec_only, &context](const std::string& job_id) {
                    context.status = Show(job_id, *spec_only, context);
                  })
      .AddFlag("--spec", *spec_only,
               "Print the effective job file instead, every field explained");
  AddQuietFlag(AddJobIdCommand(app, "watch", "Follow a job until it ends",
                               [&context](const std::string& job_id) {
                                 Watch(job_id, context);
                               }),
               context);
  AddJobIdCommand(app, "pause",
                  "Have a job let go of its devices, with a checkpoint of "
                  "where it is; 'fgnn resume JOB' goes on with it",
                  [&context](const std::string& job_id) {
                    context.status =
                        Change(job_id, &ServiceClient::Pause, context);
                  });
  AddJobIdCommand(
      app, "cancel", "End a job; returns once nothing of it is left",
      [&context](const std::string& job_id) {
        context.status = Change(job_id, &ServiceClient::Cancel, context);
      });
}

}  // namespace fgnn
