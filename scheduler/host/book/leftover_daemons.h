// Daemons that an earlier scheduler started and could not stop.
#ifndef FGNN_SCHEDULER_HOST_BOOK_LEFTOVER_DAEMONS_H_
#define FGNN_SCHEDULER_HOST_BOOK_LEFTOVER_DAEMONS_H_

#include <filesystem>
#include <string>
#include <vector>

#include "scheduler/host/book/daemon_process.h"

namespace fgnn {

struct LeftoverDaemon {
  std::string name;  // Name of its socket.
  DaemonProcess process;
};

// Returns the daemons that listen on the sockets of <state dir>/executors.
// Never waits.
std::vector<LeftoverDaemon> FindLeftoverDaemons(
    const std::filesystem::path& state_dir);

// Ends the daemons that still listen on the sockets of <state dir>/executors:
// sends SIGTERM, and SIGKILL after 5 s. Removes the sockets of dead daemons and
// nothing else, and follows no link. A service that starts its daemons itself
// calls this before it starts any, under its lock. Returns how many daemons
// there were.
int StopLeftoverDaemons(const std::filesystem::path& state_dir);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_LEFTOVER_DAEMONS_H_
