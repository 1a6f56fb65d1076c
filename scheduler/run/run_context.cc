#include "scheduler/run/run_context.h"

#include <utility>

namespace fgnn {
namespace {

ExecutorsOfJob ExecutorsFor(const Job& job, const JobSpec& spec,
                            const ShortageClock& clock) {
  return {.job_id = job.id,
          .spec = spec,
          .dataset_content = job.progress.dataset_content,
          .placements = ExecutorsOf(spec),
          .clock = clock};
}

}  // namespace

RunContext::RunContext(Job job_to_run, DecodedSpec decoded_spec,
                       const JobEnvironment& of_all_jobs, KeepGoing keep_going)
    : job(std::move(job_to_run)),
      decoded(std::move(decoded_spec)),
      spec(decoded.spec),
      environment(of_all_jobs),
      executors(environment.host->DaemonsOf(job.id), environment.calls,
                ExecutorsFor(job, spec, environment.clock),
                std::move(keep_going)) {}

bool RunContext::IsDue(uint32_t every, uint32_t epoch) const {
  return epoch + 1 == spec.training.epochs ||
         (every > 0 && (epoch + 1) % every == 0);
}

}  // namespace fgnn
