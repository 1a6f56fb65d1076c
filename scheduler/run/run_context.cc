#include "scheduler/run/run_context.h"

#include <utility>

namespace fgnn {
namespace {

// A job that was given devices has these in the place of those asked for.
JobSpec WithDevicesOf(const Job& job) {
  JobSpec spec = *job.spec;
  if (!job.devices.empty()) spec.devices = job.devices;
  return spec;
}

ExecutorsOfJob ExecutorsFor(const Job& job, const JobSpec& spec,
                            const ShortageClock& clock) {
  return {.job_id = job.id,
          .spec = spec,
          .dataset_content = job.progress.dataset_content,
          .placements = ExecutorsOf(spec),
          .clock = clock};
}

}  // namespace

RunContext::RunContext(Job job_to_run, const JobEnvironment& of_all_jobs,
                       KeepGoing keep_going)
    : job(std::move(job_to_run)),
      spec(WithDevicesOf(job)),
      environment(of_all_jobs),
      executors(environment.host->DaemonsOf(job.id), environment.calls,
                ExecutorsFor(job, spec, environment.clock),
                std::move(keep_going)) {}

bool RunContext::IsDue(uint32_t every, uint32_t epoch) const {
  return epoch + 1 == spec.training.epochs ||
         (every > 0 && (epoch + 1) % every == 0);
}

}  // namespace fgnn
