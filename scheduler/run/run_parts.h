// The parts of one job's run.
#ifndef FGNN_SCHEDULER_RUN_RUN_PARTS_H_
#define FGNN_SCHEDULER_RUN_RUN_PARTS_H_

#include <utility>

#include "scheduler/figures/run_scores.h"
#include "scheduler/run/device_planner.h"
#include "scheduler/run/hosts/run_hosts.h"
#include "scheduler/run/run_caches.h"
#include "scheduler/run/run_checkpoints.h"
#include "scheduler/run/run_context.h"
#include "scheduler/run/run_memory.h"
#include "scheduler/run/run_progress.h"
#include "scheduler/run/run_records.h"

namespace fgnn {

// Not thread-safe: for the job's thread.
struct RunParts {
  RunParts(Job job, const JobEnvironment& environment, KeepGoing keep_going)
      : context(std::move(job), environment, keep_going),
        planner(context.job.id, context.spec,
                environment.host->options().state_dir),
        memory(&context),
        hosts(&context, std::move(keep_going)),
        scores(&context.spec.training),
        records(&context, &planner),
        progress(&context, &planner, &records, &scores),
        checkpoints(&context, &records, &scores, &progress),
        caches(&context, &memory, &progress) {}

  RunContext context;
  DevicePlanner planner;
  RunMemory memory;
  RunHosts hosts;
  RunScores scores;
  RunRecords records;
  RunProgress progress;
  RunCheckpoints checkpoints;
  RunCaches caches;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_RUN_PARTS_H_
