// Counts allocations of a program that links tools_bench_allocations.
#ifndef FGNN_TOOLS_BENCH_ALLOCATION_COUNTER_H_
#define FGNN_TOOLS_BENCH_ALLOCATION_COUNTER_H_

#include <cstdint>
#include <optional>

namespace fgnn {

// Calls of operator new by this thread so far, every form of it; nullopt in a
// build with sanitizers, whose operator new stays in place.
std::optional<uint64_t> ThreadAllocations();

}  // namespace fgnn

#endif  // FGNN_TOOLS_BENCH_ALLOCATION_COUNTER_H_
