// Names of users.
#ifndef FGNN_SHARED_BASE_USER_NAME_H_
#define FGNN_SHARED_BASE_USER_NAME_H_

#include <sys/types.h>

#include <string>

namespace fgnn {

// The name of a user of this machine; of one that it does not know, "uid 1234".
std::string UserName(uid_t uid);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_USER_NAME_H_
