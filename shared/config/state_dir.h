// The names of what lies in a service's state folder, said once.
//
//   <state dir>/fgnn.lock               held while a service runs
//               jobs.sqlite             the job store
//               scheduler.sock          gRPC: JobService, DeviceService
//               daemons.sock            gRPC: HostService, for daemons alone
//               host.sock               hands over descriptors of segments
//               executors/<name>.sock   gRPC: ExecutorService of a daemon
//               logs/<name>.log         stderr of a daemon
//               plugins/lib<name>.so    users' samplers and models
//               runs/<job id>/          a job's results
//               counts/                 what samplers count, until it is ranked
#ifndef FGNN_SHARED_CONFIG_STATE_DIR_H_
#define FGNN_SHARED_CONFIG_STATE_DIR_H_

#include <filesystem>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fgnn {

std::filesystem::path LockPath(const std::filesystem::path& state_dir);
std::filesystem::path JobStorePath(const std::filesystem::path& state_dir);
std::filesystem::path SchedulerSocketPath(
    const std::filesystem::path& state_dir);
std::filesystem::path DaemonsSocketPath(const std::filesystem::path& state_dir);
std::filesystem::path HostSocketPath(const std::filesystem::path& state_dir);
std::filesystem::path ExecutorSocketPath(const std::filesystem::path& state_dir,
                                         std::string_view name);
std::filesystem::path LogPath(const std::filesystem::path& state_dir,
                              std::string_view name);
// Returns the folder of what the head keeps of another host. LogPath() of it
// is a copy of that host's.
std::filesystem::path HostFolder(const std::filesystem::path& state_dir,
                                 std::string_view host);
std::filesystem::path PluginFolder(const std::filesystem::path& state_dir);
std::filesystem::path CountsFolder(const std::filesystem::path& state_dir);
std::filesystem::path RunDirPath(const std::filesystem::path& state_dir,
                                 std::string_view job_id);

// Returns the state folder of this user's service. It is $FGNN_STATE_DIR if
// set, else /var/lib/fgnn for root, else $XDG_STATE_HOME/fgnn or
// ~/.local/state/fgnn. The first three arguments are the environment's values,
// null where unset: only main reads the environment. FailedPrecondition: none
// of them is set. The shared temporary folder is never used: a folder there
// could be another user's.
absl::StatusOr<std::filesystem::path> DefaultStateDir(
    const char* fgnn_state_dir, const char* xdg_state_home, const char* home,
    bool is_root);

// Makes the folder and executors/, logs/ and runs/ in it where missing, with
// mode 0750. The group may read and reach the sockets, but change nothing.
// Folders that exist, plugins/ too, must be writable by this user alone.
// PermissionDenied: a folder is another user's, or others may write it; the
// message has the command that mends it. InvalidArgument: a file is in the way,
// or the sockets' names would not fit into the 107 bytes that the system
// allows.
absl::Status MakeStateDir(const std::filesystem::path& state_dir);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_STATE_DIR_H_
