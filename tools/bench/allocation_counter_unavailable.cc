#include "tools/bench/allocation_counter.h"

namespace fgnn {

std::optional<uint64_t> ThreadAllocations() { return std::nullopt; }

}  // namespace fgnn
