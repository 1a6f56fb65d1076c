#include "tests/simt/warp_call.h"

#include <algorithm>

namespace fgnn::simt {
namespace {

// Of a lane that takes no part CUDA promises nothing.
constexpr uint64_t kNoValue = 0xdeaddeaddeaddeadu;

bool Has(uint32_t mask, uint32_t lane) { return (mask >> lane & 1) != 0; }

uint64_t LanesWith(uint64_t value, uint32_t mask,
                   const WarpCall (&calls)[kWarp]) {
  uint64_t lanes = 0;
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    if (Has(mask, lane) && calls[lane].value == value) {
      lanes |= uint64_t{1} << lane;
    }
  }
  return lanes;
}

}  // namespace

void ComputeWarp(WarpOp op, uint32_t mask, const WarpCall (&calls)[kWarp],
                 uint64_t (&results)[kWarp]) {
  uint64_t sum = 0;
  uint64_t most = 0;
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    if (!Has(mask, lane)) continue;
    sum += calls[lane].value;
    most = std::max(most, calls[lane].value);
  }
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    if (!Has(mask, lane)) continue;
    const uint32_t from = calls[lane].argument % kWarp;
    switch (op) {
      case WarpOp::kSync:
        results[lane] = 0;
        break;
      case WarpOp::kShuffle:
        results[lane] = Has(mask, from) ? calls[from].value : kNoValue;
        break;
      case WarpOp::kBallot:
        results[lane] = mask & ~LanesWith(0, mask, calls);
        break;
      case WarpOp::kMatch:
        results[lane] = LanesWith(calls[lane].value, mask, calls);
        break;
      case WarpOp::kAdd:
        results[lane] = sum & UINT32_MAX;
        break;
      case WarpOp::kMax:
        results[lane] = most;
        break;
    }
  }
}

}  // namespace fgnn::simt
