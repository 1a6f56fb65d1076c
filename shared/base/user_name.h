// Names of users.
#ifndef FGNN_SHARED_BASE_USER_NAME_H_
#define FGNN_SHARED_BASE_USER_NAME_H_

#include <sys/types.h>

#include <optional>
#include <string>

namespace fgnn {

// Returns the name of a user of this machine. Returns a text such as "uid 1234"
// for a user that the machine does not know.
std::string UserName(uid_t uid);

// Returns the id of the user with this name; nullopt: the machine does not know
// the name.
std::optional<uid_t> FindUser(const std::string& name);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_USER_NAME_H_
