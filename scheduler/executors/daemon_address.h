// Names a daemon that is called, signalled or waited for.
#ifndef FGNN_SCHEDULER_EXECUTORS_DAEMON_ADDRESS_H_
#define FGNN_SCHEDULER_EXECUTORS_DAEMON_ADDRESS_H_

#include <sys/types.h>

#include <string>

namespace fgnn {

struct DaemonAddress {
  std::string name;
  pid_t pid = 0;
  std::string socket;
  std::string device = {};  // Device such as "cpu:0-1".
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_EXECUTORS_DAEMON_ADDRESS_H_
