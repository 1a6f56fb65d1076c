// Daemons that an earlier scheduler started and could not stop.
#ifndef FGNN_SCHEDULER_HOST_BOOK_LEFTOVER_DAEMONS_H_
#define FGNN_SCHEDULER_HOST_BOOK_LEFTOVER_DAEMONS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "scheduler/host/book/daemon_process.h"

namespace fgnn {

struct LeftoverDaemon {
  std::string name;  // Its socket's.
  DaemonProcess process;
};

// What listens on the sockets of <state dir>/executors. Never waits.
std::vector<LeftoverDaemon> FindLeftoverDaemons(
    const std::filesystem::path& state_dir);

// Ends what still listens on the sockets of <state dir>/executors: SIGTERM,
// and SIGKILL after 5 s. Removes the sockets of the dead, and nothing else that
// is there; follows no link. For a service that starts its daemons itself,
// before it starts any, under its lock. Returns how many there were.
int StopLeftoverDaemons(const std::filesystem::path& state_dir);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_LEFTOVER_DAEMONS_H_
