// Conversions of the messages of ProfileTraining, for the scheduler and `fgnn
// plan`.
#ifndef FGNN_SCHEDULER_RPC_PROFILE_MESSAGES_H_
#define FGNN_SCHEDULER_RPC_PROFILE_MESSAGES_H_

#include <vector>

#include "fgnn/v1/executor.pb.h"
#include "scheduler/planning/job_plan.h"
#include "shared/minibatch/hop_size.h"

namespace fgnn {

inline void AddHops(const std::vector<HopSize>& hops,
                    v1::ProfileTrainingRequest* request) {
  for (const HopSize& hop : hops) {
    v1::HopSize* size = request->add_hops();
    size->set_num_destinations(hop.num_destinations);
    size->set_num_sources(hop.num_sources);
    size->set_num_edges(hop.num_edges);
  }
}

inline TrainingProfile ProfileOf(const v1::ProfileTrainingResponse& response) {
  return {.num_parameters = response.num_parameters(),
          .optimizer_floats_per_parameter =
              response.optimizer_floats_per_parameter(),
          .seconds_per_batch = response.seconds_per_batch(),
          .program_bytes = response.program_bytes(),
          .step_bytes = response.step_bytes(),
          .evaluation_bytes = response.evaluation_bytes(),
          .evaluation_shared_bytes = response.evaluation_shared_bytes(),
          .checkpoint_bytes = response.checkpoint_bytes()};
}

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_PROFILE_MESSAGES_H_
