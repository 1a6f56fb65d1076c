// The group of users who may use a service, and the folders that it needs.
#ifndef FGNN_SHARED_CONFIG_SOCKET_GROUP_H_
#define FGNN_SHARED_CONFIG_SOCKET_GROUP_H_

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fgnn {

// Returns the name of a group; its number if the machine knows no name for it.
std::string GroupName(gid_t group);

// Finds a group by its name or its number. InvalidArgument: there is no such
// group, or this process may give it no file, as its user is not in the group.
// Root may give files to every group.
absl::StatusOr<gid_t> FindOwnGroup(const std::string& name_or_number);

// Gives the folders that the socket's users need to `group`, and no other:
//
//   <state dir>        mode 0710: the group reaches what it knows the name of
//   <state dir>/runs   mode 2750: the group reads the runs in it, which get
//                      this group as they are made
//
// nullopt: takes them back for this process's own group, with mode 0750, if an
// earlier start has given them away. Call it after MakeStateDir(), as the user
// of the folders. PermissionDenied: the user may not.
absl::Status SetSocketGroup(const std::filesystem::path& state_dir,
                            std::optional<gid_t> group);

// Returns the topmost folder above `state_dir` through which neither the group
// nor everybody may pass; nullopt: there is none.
std::optional<std::filesystem::path> FindClosedFolder(
    const std::filesystem::path& state_dir, gid_t group);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_SOCKET_GROUP_H_
