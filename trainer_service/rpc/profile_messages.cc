#include "trainer_service/rpc/profile_messages.h"

#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"

namespace fgnn {

absl::StatusOr<JobSpec> ReadSpec(const v1::JobSpec& spec) {
  FGNN_ASSIGN_OR_RETURN(const v1::JobSpec effective, MakeEffective(spec, {}));
  return FromProto(effective);
}

std::vector<HopSize> HopsOf(const v1::ProfileTrainingRequest& request) {
  std::vector<HopSize> hops;
  for (const v1::HopSize& hop : request.hops()) {
    hops.push_back(
        {hop.num_destinations(), hop.num_sources(), hop.num_edges()});
  }
  return hops;
}

v1::ProfileTrainingResponse ToProto(const TrainingNeeds& needs) {
  v1::ProfileTrainingResponse response;
  response.set_num_parameters(needs.num_parameters);
  response.set_optimizer_floats_per_parameter(
      needs.optimizer_floats_per_parameter);
  response.set_seconds_per_batch(needs.seconds_per_batch);
  response.set_program_bytes(needs.program_bytes);
  response.set_step_bytes(needs.step_bytes);
  response.set_evaluation_bytes(needs.evaluation_bytes);
  response.set_evaluation_shared_bytes(needs.evaluation_shared_bytes);
  response.set_checkpoint_bytes(needs.checkpoint_bytes);
  return response;
}

}  // namespace fgnn
