// Counts the allocations of a program that links tools_bench_allocations.
#ifndef FGNN_TOOLS_BENCH_ALLOCATION_COUNTER_H_
#define FGNN_TOOLS_BENCH_ALLOCATION_COUNTER_H_

#include <cstdint>
#include <optional>

namespace fgnn {

// Returns how often this thread has called any form of operator new. nullopt in
// a build with sanitizers, which keep their own operator new.
std::optional<uint64_t> ThreadAllocations();

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_ALLOCATION_COUNTER_H_
