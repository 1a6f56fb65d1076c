// Signals of a process that this one starts.
#ifndef FGNN_SHARED_BASE_THREADS_FRESH_SIGNALS_H_
#define FGNN_SHARED_BASE_THREADS_FRESH_SIGNALS_H_

#include <spawn.h>

namespace fgnn {

// Lets the process begin without blocked or ignored signals, in a group of its
// own: a Ctrl-C is for this process, which ends the other one. Returns 0, or
// the number of the system's error.
int SetFreshSignals(posix_spawnattr_t* attributes);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_THREADS_FRESH_SIGNALS_H_
