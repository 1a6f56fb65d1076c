#include "tests/simt/scheduler.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tests/simt/block.h"
#include "tests/simt/fiber.h"
#include "tests/simt/turns.h"

namespace fgnn::simt {
namespace {

// Of the process, as the device is.
struct Device {
  Options options;
  std::mutex one_launch;
  std::vector<std::unique_ptr<FiberPool>> pools;  // One for each OS thread.
};
Device& TheDevice() {
  static Device* const device = new Device;
  return *device;
}

thread_local Block* t_block = nullptr;

void RunBlocks(const LaunchShape& launch, uint32_t worker, uint32_t workers,
               std::atomic<uint64_t>* next_block) {
  if (launch.baton != nullptr) launch.baton->Wait(worker);
  Block block(launch, worker, TheDevice().pools[worker].get());
  t_block = &block;
  // ThreadSanitizer sees races between OS threads alone, so none gets them all.
  for (uint64_t mine = worker;; mine += workers) {
    const uint64_t number =
        HasThreadSanitizer() ? mine : next_block->fetch_add(1);
    if (number >= launch.blocks()) break;
    block.Run(number);
  }
  t_block = nullptr;
  if (launch.baton != nullptr) launch.baton->Leave(worker);
}

uint32_t NumWorkers(const LaunchShape& launch, const Options& options) {
  // __shared__ arrays are plain static ones then.
  if (HasAddressSanitizer()) return 1;
  return static_cast<uint32_t>(std::clamp<uint64_t>(
      options.blocks_at_once, 1, std::max<uint64_t>(1, launch.blocks())));
}

}  // namespace

void SetOptions(const Options& options) {
  const std::lock_guard lock(TheDevice().one_launch);
  TheDevice().options = options;
}

void RunGrid(const dim3& grid, const dim3& block, size_t shared_bytes,
             const std::function<void()>& kernel) {
  Device& device = TheDevice();
  const std::lock_guard lock(device.one_launch);
  LaunchShape launch = {.grid = grid,
                        .block = block,
                        .shared_bytes = shared_bytes,
                        .seed = device.options.seed,
                        .kernel = &kernel};
  const uint32_t workers = NumWorkers(launch, device.options);
  while (device.pools.size() < workers) {
    device.pools.push_back(std::make_unique<FiberPool>());
  }
  std::optional<Baton> baton;
  if (workers > 1 && launch.seed != 0) {
    baton.emplace(workers, launch.seed);
    launch.baton = &*baton;
  }
  Release(&g_launch_begins);
  std::atomic<uint64_t> next_block = 0;
  if (workers == 1) {
    RunBlocks(launch, 0, 1, &next_block);
  } else {
    std::vector<std::thread> threads;
    for (uint32_t worker = 0; worker < workers; ++worker) {
      threads.emplace_back(RunBlocks, std::cref(launch), worker, workers,
                           &next_block);
    }
    for (std::thread& thread : threads) thread.join();
  }
  Acquire(&g_launch_ends);
}

uint32_t ThreadInBlock() { return t_block->current(); }
uint32_t BlockBarrier(bool counts, Where where) {
  return t_block->Barrier(counts, where);
}
uint64_t CallWarp(const WarpCall& call, Where where) {
  return t_block->Call(call, where);
}
void* DynamicShared() { return t_block->shared(); }
void Yield() { t_block->Yield(); }
void MayYield() { t_block->MayYield(); }

}  // namespace fgnn::simt
