#include "shared/base/threads/fresh_signals.h"

#include <signal.h>

namespace fgnn {

int SetFreshSignals(posix_spawnattr_t* attributes) {
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  if (const int error = ::posix_spawnattr_setsigmask(attributes, &none)) {
    return error;
  }
  if (const int error = ::posix_spawnattr_setsigdefault(attributes, &all)) {
    return error;
  }
  if (const int error = ::posix_spawnattr_setpgroup(attributes, 0)) {
    return error;
  }
  return ::posix_spawnattr_setflags(
      attributes,
      static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                         POSIX_SPAWN_SETPGROUP));
}

}  // namespace fgnn
