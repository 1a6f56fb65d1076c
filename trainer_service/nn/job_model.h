// The model of a job.
#ifndef FGNN_TRAINER_SERVICE_NN_JOB_MODEL_H_
#define FGNN_TRAINER_SERVICE_NN_JOB_MODEL_H_

#include "absl/status/statusor.h"
#include "shared/config/job_spec.h"
#include "shared/graph/dataset.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Returns the options of the model that a job asks for on a dataset.
// InvalidArgument: the dataset lacks features or labels, layers and fanouts
// differ in number, or a field is out of range.
absl::StatusOr<ModelOptions> ModelOptionsOf(const JobSpec& spec,
                                            const Dataset& dataset);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_JOB_MODEL_H_
