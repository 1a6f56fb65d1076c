// Kernels with a fault each, and their correct twins. What finds a fault says
// planted_test.cc.
#ifndef FGNN_TESTS_UNIT_SIMT_PLANTED_H_
#define FGNN_TESTS_UNIT_SIMT_PLANTED_H_

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fgnn::simt {

// One that races has a correct twin.
enum class Race {
  kBarrierMissing,  // A shared array is read while others write it.
  kBlocks,          // Blocks add to one word.
  kWarpNotSynced,   // Lanes read what other lanes wrote before a shuffle.
  kFlagRelaxed,     // A flag says that data is there, but orders nothing.
  kPlainStore,      // A plain store where others load atomically.
};
// Writes `out`, 128 words. kBlocks has 8 blocks, the others have one.
cudaError_t LaunchRace(Race race, bool planted, uint32_t* out,
                       cudaStream_t stream);

// How many of 64 threads won one word, into out[0]. With the fault they check
// and then set it, both atomically.
cudaError_t LaunchElection(bool planted, uint32_t* out, cudaStream_t stream);

enum class Overrun {
  kNone,
  kShared,  // Writes one behind a __shared__ array.
  kDevice,  // Reads one behind `count` words.
};
cudaError_t LaunchOverrun(Overrun overrun, uint32_t count, uint32_t* out,
                          cudaStream_t stream);

// What CUDA leaves undefined.
enum class Misuse {
  kEndedLane,          // A vote's mask has a lane that has returned.
  kOtherMask,          // Two lanes of a vote have different masks.
  kOtherCall,          // One votes, the other one shuffles.
  kNotInMask,          // The caller is not in its own mask.
  kLaneBeyond,         // A block of 16 threads, a mask of 32.
  kDifferentBarriers,  // Half of the block waits in another line.
  kDeadlock,           // Some wait for their warp, the others for the block.
};
cudaError_t LaunchMisuse(Misuse misuse, uint32_t* out, cudaStream_t stream);

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_UNIT_SIMT_PLANTED_H_
