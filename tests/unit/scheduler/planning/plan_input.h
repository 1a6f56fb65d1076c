// A job to plan.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_PLANNING_PLAN_INPUT_H_
#define FGNN_TESTS_UNIT_SCHEDULER_PLANNING_PLAN_INPUT_H_

#include <cstdint>

#include "scheduler/planning/job_plan.h"
#include "tests/fakes/default_job.h"

namespace fgnn {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;

// 100 batches of 1024 seeds on a graph of a million vertices.
inline PlanInput SomeInput() {
  PlanInput input;
  input.job_key = 7;
  input.spec = DefaultJob();
  input.spec.dataset = "/data/graph";
  input.spec.model.hidden = 64;
  input.spec.training.epochs = 3;
  input.spec.training.batches_per_step = 2;
  input.dataset = {.num_nodes = 1'000'000,
                   .num_train = 99 * 1024 + 1,
                   .topology_bytes = 24 * kMiB};
  input.sampling = {.max_task_bytes = 1 * kMiB,
                    .bound_task_bytes = 4 * kMiB,
                    .max_input_nodes = 50'000,
                    .max_edges = 100'000,
                    .seconds_per_batch = 0.01,
                    .workspace_bytes = 8 * kMiB,
                    .program_bytes = 2 * kMiB,
                    .hops = {},
                    .num_threads = 2};
  input.training = {.num_parameters = 20'000,
                    .optimizer_floats_per_parameter = 2,
                    .seconds_per_batch = 0.05,
                    .program_bytes = 60 * kMiB,
                    .step_bytes = 40 * kMiB,
                    .evaluation_bytes = 30 * kMiB,
                    .checkpoint_bytes = kMiB};
  input.available_bytes = 8192 * kMiB;
  return input;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_PLANNING_PLAN_INPUT_H_
