// The threads of a block, and the places where they wait for each other.
#ifndef FGNN_TESTS_SIMT_BLOCK_H_
#define FGNN_TESTS_SIMT_BLOCK_H_

#include <vector_types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tests/simt/fiber.h"
#include "tests/simt/turns.h"
#include "tests/simt/warp_call.h"

namespace fgnn::simt {

// What the blocks of a launch have in common.
struct LaunchShape {
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;
  uint64_t seed = 0;
  const std::function<void()>* kernel = nullptr;
  Baton* baton = nullptr;  // With a seed and several OS threads.

  uint32_t threads() const { return block.x * block.y * block.z; }
  uint64_t blocks() const { return uint64_t{grid.x} * grid.y * grid.z; }
};

// The fibers of one OS thread. Fibers never go to another one: to
// ThreadSanitizer what one fiber does is in order.
class FiberPool {
 public:
  Fiber* Take();
  // Of a thread that has ended; not taken again before the next block if
  // ThreadSanitizer looks, to which two threads on a fiber are one.
  void GiveBack(Fiber* fiber);
  void NextBlock();

 private:
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::vector<Fiber*> used_;
};

// Runs blocks one after another on an OS thread, number `worker` of a launch.
class Block {
 public:
  Block(const LaunchShape& launch, uint32_t worker, FiberPool* pool);

  void Run(uint64_t number);

  // From the kernel's threads (scheduler.h).
  uint32_t current() const { return current_; }
  void* shared() const { return shared_.get(); }
  uint32_t Barrier(bool counts, Where where);
  uint64_t Call(const WarpCall& call, Where where);
  void Yield();
  void MayYield();

 private:
  enum class State : uint8_t { kRunnable, kAtBarrier, kInWarpCall, kEnded };
  struct Thread {
    State state = State::kRunnable;
    WarpCall call;
    uint64_t result = 0;
    Where where;
    Fiber* fiber = nullptr;  // Once it has begun.
  };
  // Places that ThreadSanitizer knows order by. Two of a kind take turns: what
  // comes behind a barrier is not before it.
  struct Place {
    char at;
  };
  struct Places {
    Place barrier[2] = {};
    Place block[2] = {};
    std::vector<Place> warps;
  };

  void Begin(uint64_t number);
  void GiveTurn(uint32_t thread);
  void RunThreads();
  void SetIndex(uint32_t thread);
  void Wait();
  void OpenBarrierIfDue();
  bool CompleteCall(uint32_t first_lane);
  void CheckLane(uint32_t first_lane, uint32_t lane) const;
  [[noreturn]] void Fail(const char* what) const;

  const LaunchShape& launch_;
  const uint32_t worker_;
  FiberPool* const pool_;
  uint64_t number_ = 0;
  uint64_t num_begun_ = 0;
  std::vector<Thread> threads_;
  Turns turns_;
  uint32_t current_ = 0;
  uint32_t ended_ = 0;
  // Of the barrier that threads wait at now.
  uint32_t at_barrier_ = 0;
  uint32_t counted_ = 0;
  uint32_t barrier_result_ = 0;  // Of the last one that has opened.
  uint64_t num_barriers_ = 0;
  std::unique_ptr<std::byte[]> shared_;
  Places places_;
};

// Order of a launch's threads and of what comes before and behind it.
extern char g_launch_begins;
extern char g_launch_ends;

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_SIMT_BLOCK_H_
