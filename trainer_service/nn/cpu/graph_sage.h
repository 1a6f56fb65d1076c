// GraphSAGE with mean aggregation on CPU cores.
#ifndef FGNN_TRAINER_SERVICE_NN_CPU_GRAPH_SAGE_H_
#define FGNN_TRAINER_SERVICE_NN_CPU_GRAPH_SAGE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/sage_layer.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Makes the model that `options` ask for. `team` is borrowed; the model is the
// only one to call it during a call. `order` is for tests.
// InvalidArgument: see ValidateOptions.
absl::StatusOr<std::unique_ptr<Model>> MakeCpuModel(
    const ModelOptions& options, ThreadTeam* team,
    SageOrder order = SageOrder::kCheapest);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_CPU_GRAPH_SAGE_H_
