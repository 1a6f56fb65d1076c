// Names a daemon that is called, signalled or waited for.
#ifndef FGNN_SCHEDULER_EXECUTORS_DAEMON_ADDRESS_H_
#define FGNN_SCHEDULER_EXECUTORS_DAEMON_ADDRESS_H_

#include <sys/types.h>

#include <string>

#include "shared/device/device.h"

namespace fgnn {

struct DaemonAddress {
  std::string name;
  pid_t pid = 0;
  std::string socket;
  Device device = {};
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_DAEMON_ADDRESS_H_
