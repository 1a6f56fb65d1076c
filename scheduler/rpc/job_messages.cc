#include "scheduler/rpc/job_messages.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "shared/config/submission_options_proto.h"
#include "shared/rpc/executor_proto.h"

namespace fgnn {
namespace {

static_assert(static_cast<int>(JobState::kQueued) == v1::JOB_STATE_QUEUED &&
                  static_cast<int>(JobState::kCancelled) ==
                      v1::JOB_STATE_CANCELLED &&
                  static_cast<int>(JobState::kPaused) == v1::JOB_STATE_PAUSED,
              "JobState has the numbers of fgnn.v1.JobState");

void ToMessage(const JobProgress& progress, v1::JobProgress* message) {
  message->set_phase(PrintableText(progress.phase));
  message->set_epochs(progress.epochs);
  message->set_epochs_done(progress.epochs_done);
  message->set_batches_per_epoch(progress.batches_per_epoch);
  message->set_batches_committed(progress.batches_committed);
  message->set_batches_expected(progress.batches_expected);
  message->set_loss(progress.loss);
  message->set_edges_per_second(progress.edges_per_second);
  message->set_seconds_left(progress.seconds_left);
  *message->mutable_valid() = ToProto(progress.valid);
  *message->mutable_test() = ToProto(progress.test);
  message->set_restarts(progress.restarts);
  message->set_warning(PrintableText(progress.warning));
  message->set_checkpoint_warning(PrintableText(progress.checkpoint_warning));
  if (progress.evaluated.has_value()) {
    message->set_evaluated(*progress.evaluated);
  }
  for (const HostShare& share : progress.shares) {
    v1::HostShare& added = *message->add_shares();
    added.set_host(PrintableText(share.name));
    added.set_batches(static_cast<uint32_t>(share.num_places));
    added.set_batches_per_second(share.batches_per_second);
  }
  for (const ExecutorView& executor : progress.executors) {
    fgnn::ToMessage(executor, message->add_executors());
  }
}

}  // namespace

void ToMessage(const ExecutorView& view, v1::Executor* message) {
  message->set_name(view.placement.name);
  message->set_role(std::string(NameOf(view.placement.role)));
  message->set_device(view.placement.device.name);
  message->set_pid(view.pid);
  message->set_state(std::string(NameOf(view.state)));
  message->set_job_id(view.job_id);
  message->set_batches(view.batches);
  message->set_restarts(view.restarts);
  message->set_resident_bytes(static_cast<int64_t>(view.resident_bytes));
}

void ToMessage(const Job& job, v1::Job* message) {
  message->set_job_id(PrintableText(job.id));
  message->set_state(static_cast<v1::JobState>(job.state));
  if (job.spec != nullptr) *message->mutable_spec() = ToProto(*job.spec);
  // A damaged store may have text that is not UTF-8.
  message->set_run_dir(PrintableText(job.run_dir));
  message->set_submitted_ms(job.submitted_ms);
  message->set_started_ms(job.started_ms);
  message->set_finished_ms(job.finished_ms);
  message->set_error_code(static_cast<int32_t>(job.error.code()));
  message->set_error_message(PrintableText(MessageOf(job.error)));
  ToMessage(job.progress, message->mutable_progress());
  message->set_user(PrintableText(job.user));
  SetOptions(job.options, message);
  message->set_name(PrintableText(job.options.name));
  for (const std::string& id : job.after) {
    message->add_after(PrintableText(id));
  }
  message->set_attempts(job.attempts);
  message->set_waiting_for(job.waiting_for);
  message->set_preemptions(job.preemptions);
  message->set_run_seconds(job.run_seconds);
  for (const Device& device : job.devices) message->add_devices(device.name);
}

void ToMessage(const Job& job, const RemovedRun& removed,
               v1::DeleteJobResponse* message) {
  message->set_job_id(PrintableText(job.id));
  message->set_run_dir(PrintableText(job.run_dir));
  message->set_folder_deleted(removed.folder_deleted);
  message->set_left(PrintableText(removed.left));
}

absl::StatusOr<JobFilter> FilterOf(const v1::ListJobsRequest& request) {
  JobFilter filter = {.user = request.user(),
                      .search = request.search(),
                      .before_id = request.before_job_id()};
  for (const int number : request.states()) {
    const std::optional<JobState> state = ParseJobState(number);
    if (!state.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("states: ", number, " is no state of a job"));
    }
    filter.states.push_back(*state);
  }
  return filter;
}

}  // namespace fgnn
