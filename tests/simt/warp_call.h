// What the lanes of a warp do together.
#ifndef FGNN_TESTS_SIMT_WARP_CALL_H_
#define FGNN_TESTS_SIMT_WARP_CALL_H_

#include <cstdint>

namespace fgnn::simt {

inline constexpr uint32_t kWarp = 32;

// A place in a kernel's source.
struct Where {
  const char* file = "";
  int line = 0;
};

// kSync alone orders memory.
enum class WarpOp : uint8_t { kSync, kShuffle, kBallot, kMatch, kAdd, kMax };

// A lane's part of a call.
struct WarpCall {
  WarpOp op = WarpOp::kSync;
  uint32_t mask = 0;      // Lanes that take part.
  uint64_t value = 0;     // The lane's own.
  uint32_t argument = 0;  // kShuffle: the lane whose value it wants.
};

// Sets the result of each lane of `mask`, all of whose calls are there.
void ComputeWarp(WarpOp op, uint32_t mask, const WarpCall (&calls)[kWarp],
                 uint64_t (&results)[kWarp]);

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_SIMT_WARP_CALL_H_
