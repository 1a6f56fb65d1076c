// The number of files and sockets that a process may have open.
#ifndef FGNN_SHARED_BASE_FILES_DESCRIPTOR_LIMIT_H_
#define FGNN_SHARED_BASE_FILES_DESCRIPTOR_LIMIT_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace fgnn {

// Raises this process's limit on descriptors to its hard limit. Shells and
// service managers set 1,024, while the kernel allows many more. Returns the
// limit that is in force. Child processes inherit it.
uint64_t RaiseDescriptorLimit();

// Returns ResourceExhausted, with need and have, if the limit does not allow
// `more` descriptors beside those that this process has open. `who` needs them:
// "the service".
absl::Status CheckDescriptorLimit(std::string_view who, uint64_t more);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_FILES_DESCRIPTOR_LIMIT_H_
