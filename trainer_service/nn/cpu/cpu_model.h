// Models on CPU cores.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_CPU_MODEL_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_CPU_MODEL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/layers/gnn_layer.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Makes the model for `options`. `team` is borrowed; during a call only the
// model may use it. `order` is for tests. InvalidArgument: see ValidateOptions.
absl::StatusOr<std::unique_ptr<Model>> MakeCpuModel(
    const ModelOptions& options, ThreadTeam* team,
    ProductOrder order = ProductOrder::kCheapest);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_CPU_MODEL_H_
