// Whether the code of a model of kind python may run as this process's user.
#ifndef FGNN_TRAINER_SERVICE_NN_PYTHON_TRUSTED_CODE_H_
#define FGNN_TRAINER_SERVICE_NN_PYTHON_TRUSTED_CODE_H_

#include "absl/status/status.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// Checks that no user but this one and root can change the file of the class,
// its folder, the interpreter, or the environment that it is in. So a
// checkpoint that names them runs no code of a stranger. PermissionDenied: the
// message has the command that mends it. InvalidArgument: the interpreter is
// none by its name. NotFound. OK without an interpreter: the PATH is this
// process's own.
absl::Status CheckTrustedCode(const ModelOptions& options);

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_NN_PYTHON_TRUSTED_CODE_H_
