// Which log lines a process writes.
#ifndef FGNN_SHARED_TELEMETRY_LOG_LEVEL_H_
#define FGNN_SHARED_TELEMETRY_LOG_LEVEL_H_

#include "shared/telemetry/log.h"

namespace fgnn {

// Leaves out lines below this level from now on. Call it after InitLog(), which
// makes the log anew. For code in a process that is not FGNN's, whose stderr is
// another program's.
void SetLeastLogLevel(LogLevel level);

}  // namespace fgnn

#endif  // FGNN_SHARED_TELEMETRY_LOG_LEVEL_H_
