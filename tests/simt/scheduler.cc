// Never instrumented by ThreadSanitizer: what it would see here is the order
// that the emulation makes, not the one that CUDA promises.
#include "tests/simt/scheduler.h"

#include <algorithm>
#include <atomic>
#include <boost/context/detail/fcontext.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

// There if the program is linked with the sanitizer's run-time library.
extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void**, const void*, size_t);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void*, const void**,
                                                   size_t*);
[[gnu::weak]] void* __tsan_create_fiber(unsigned);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void __tsan_switch_to_fiber(void*, unsigned);
[[gnu::weak]] void __tsan_acquire(void*);
[[gnu::weak]] void __tsan_release(void*);
}

namespace fgnn::simt {
namespace {

// The public fiber class enters a new stack before AddressSanitizer can be
// told.
using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

constexpr size_t kStackBytes = 256 * 1024;
constexpr uint32_t kWarp = 32;
constexpr uint64_t kAtomicsBeforeYield = 1024;
constexpr uint64_t kYieldOneIn = 4;

Options g_options;
std::atomic<uint64_t> g_switches = 0;
std::mutex g_one_launch;

void Acquire(void* what) {
  if (__tsan_acquire != nullptr) __tsan_acquire(what);
}
void Release(void* what) {
  if (__tsan_release != nullptr) __tsan_release(what);
}
bool HasThreadSanitizer() { return __tsan_create_fiber != nullptr; }

class Block;

// A stack with a place in a program. Made once, used by one thread after
// another.
struct Fiber {
  fcontext_t context = nullptr;  // Where it goes on.
  fcontext_t caller = nullptr;   // Where the scheduler goes on.
  const void* stack = nullptr;   // Lowest address.
  void* fake_stack = nullptr;    // AddressSanitizer's.
  void* tsan = nullptr;
  Block* block = nullptr;
};

enum class State : uint8_t { kRunnable, kAtBarrier, kAtWarp, kEnded };

struct Thread {
  State state = State::kRunnable;
  WarpOp op = WarpOp::kSync;
  uint32_t mask = 0;
  uint32_t argument = 0;
  uint64_t value = 0;
  uint64_t result = 0;
  Where where;
  Fiber* fiber = nullptr;  // Once it has begun.
};

class FiberPool {
 public:
  Fiber* Take();
  void GiveBack(Fiber* fiber) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(fiber);
  }

 private:
  std::mutex mutex_;
  std::vector<Fiber*> idle_;  // Never freed: as many as a block has threads.
};
FiberPool& Pool() {
  static FiberPool* const pool = new FiberPool;
  return *pool;
}

// Which of the OS threads runs, where a seed decides it.
class Baton {
 public:
  Baton(uint32_t count, uint64_t seed) : random_(seed), active_(count, true) {}
  void Wait(uint32_t me) {
    for (uint32_t now; (now = turn_.load()) != me;) turn_.wait(now);
  }
  void Pass(uint32_t me) {
    Give();
    Wait(me);
  }
  void Leave(uint32_t me) {
    active_[me] = false;
    Give();
  }

 private:
  void Give() {
    std::vector<uint32_t> others;
    for (uint32_t i = 0; i < active_.size(); ++i) {
      if (active_[i]) others.push_back(i);
    }
    if (others.empty()) return;
    turn_ = others[random_() % others.size()];
    turn_.notify_all();
  }
  std::mt19937_64 random_;
  std::vector<bool> active_;  // Of who has the turn.
  std::atomic<uint32_t> turn_ = 0;
};

struct LaunchState {
  dim3 grid;
  dim3 block;
  size_t shared_bytes;
  const std::function<void()>* kernel;
  uint32_t threads;
  uint64_t blocks;
  uint32_t workers = 1;
  std::atomic<uint64_t> next_block = 0;
  Baton* baton = nullptr;
};

// The blocks of one OS thread, one after another.
class Block {
 public:
  Block(LaunchState* launch, uint32_t worker)
      : launch_(*launch), worker_(worker), threads_(launch->threads) {
    // On fibers nothing is allocated: ThreadSanitizer sees that.
    runnable_.reserve(launch->threads);
    yielded_.reserve(launch->threads);
    idle_.reserve(launch->threads);
    used_.reserve(launch->threads);
  }

  void Run(uint64_t number);
  // On a fiber: the thread it was given, and those behind it.
  [[gnu::noinline]] void RunThreads(Fiber* fiber);
  // On a fiber, from inside a thread.
  void Wait();
  uint32_t Barrier(bool counts, Where where);
  uint64_t Warp(WarpOp op, uint32_t mask, uint64_t value, uint32_t argument,
                Where where);
  void GoToBack();
  void MayYield();
  void* shared() const { return shared_.get(); }
  uint32_t current() const { return current_; }

 private:
  bool has_seed() const { return g_options.seed != 0; }
  bool OneThreadEach() const { return has_seed() || HasThreadSanitizer(); }
  uint32_t TakeRunnable();
  void SwitchTo(uint32_t thread);
  void SetIndex(uint32_t thread);
  void ReleaseBarrierIfDue();
  bool CompleteWarp(uint32_t first, const Thread& caller);
  void MakeRunnable(uint32_t thread) {
    threads_[thread].state = State::kRunnable;
    runnable_.push_back(thread);
  }
  [[noreturn]] void Fail(const char* what) const;

  LaunchState& launch_;
  const uint32_t worker_;
  uint64_t number_ = 0;
  std::vector<Thread> threads_;
  std::vector<uint32_t> runnable_;  // The last one is next, without a seed.
  std::vector<uint32_t> yielded_;   // Next when none of those is left.
  std::vector<Fiber*> idle_;
  std::vector<Fiber*> used_;  // Not again in this block.
  uint32_t current_ = 0;
  uint32_t ended_ = 0;
  uint32_t at_barrier_ = 0;
  uint32_t counted_ = 0;
  uint32_t barrier_result_ = 0;
  uint64_t barriers_ = 0;
  uint64_t atomics_ = 0;
  std::mt19937_64 random_;
  std::unique_ptr<std::byte[]> shared_;
  // Places that ThreadSanitizer knows order by.
  char ordered_by_barrier_[2] = {};
  char ordered_by_block_[2] = {};  // Of this OS thread: the one before.
  uint64_t turn_ = 0;
  std::vector<char> ordered_by_warp_;
  void* scheduler_tsan_ = nullptr;
  void* scheduler_fake_stack_ = nullptr;
  const void* scheduler_stack_ = nullptr;
  size_t scheduler_stack_bytes_ = 0;

 public:
  void EnteredFiber(Fiber* fiber, bool first) {
    if (__sanitizer_finish_switch_fiber == nullptr) return;
    __sanitizer_finish_switch_fiber(first ? nullptr : fiber->fake_stack,
                                    &scheduler_stack_, &scheduler_stack_bytes_);
  }
  void LeaveFiber(Fiber* fiber) {
    if (__sanitizer_start_switch_fiber != nullptr) {
      __sanitizer_start_switch_fiber(&fiber->fake_stack, scheduler_stack_,
                                     scheduler_stack_bytes_);
    }
    if (HasThreadSanitizer()) __tsan_switch_to_fiber(scheduler_tsan_, 1);
    fiber->caller = jump_fcontext(fiber->caller, nullptr).fctx;
    // Perhaps another block's by now.
    fiber->block->EnteredFiber(fiber, false);
  }
};

thread_local Block* t_block = nullptr;
char g_ordered_by_start = 0;
char g_ordered_by_end = 0;

void RunFiber(transfer_t from) {
  auto* const fiber = static_cast<Fiber*>(from.data);
  fiber->caller = from.fctx;
  fiber->block->EnteredFiber(fiber, true);
  for (;;) {
    fiber->block->RunThreads(fiber);
    fiber->block->LeaveFiber(fiber);
  }
}

Fiber* FiberPool::Take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Fiber* const fiber = idle_.back();
      idle_.pop_back();
      return fiber;
    }
  }
  auto* const fiber = new Fiber;
  boost::context::protected_fixedsize_stack stacks(kStackBytes);
  const boost::context::stack_context stack = stacks.allocate();
  fiber->stack = static_cast<const char*>(stack.sp) - stack.size;
  if (HasThreadSanitizer()) fiber->tsan = __tsan_create_fiber(0);
  fiber->context = make_fcontext(stack.sp, stack.size, RunFiber);
  return fiber;
}

void Block::Run(uint64_t number) {
  t_block = this;
  number_ = number;
  ended_ = at_barrier_ = counted_ = 0;
  random_.seed(g_options.seed * 0x9e3779b97f4a7c15u + number);
  threads_.assign(launch_.threads, {});
  ordered_by_warp_.assign((launch_.threads + kWarp - 1) / kWarp, 0);
  runnable_.clear();
  for (uint32_t i = launch_.threads; i-- > 0;) runnable_.push_back(i);
  shared_ = std::make_unique_for_overwrite<std::byte[]>(launch_.shared_bytes);
  if (!HasThreadSanitizer()) {  // NaN, or an index that is nowhere.
    std::fill_n(shared_.get(), launch_.shared_bytes, std::byte{0xff});
  }
  if (HasThreadSanitizer()) scheduler_tsan_ = __tsan_get_current_fiber();
  ++turn_;
  Release(&ordered_by_block_[1 - turn_ % 2]);
  blockIdx = {uint32_t(number % launch_.grid.x),
              uint32_t(number / launch_.grid.x % launch_.grid.y),
              uint32_t(number / launch_.grid.x / launch_.grid.y)};
  blockDim = launch_.block;
  gridDim = launch_.grid;
  while (ended_ < launch_.threads) {
    if (runnable_.empty()) std::swap(runnable_, yielded_);
    if (runnable_.empty()) Fail("threads wait for others that never come");
    SwitchTo(TakeRunnable());
  }
  for (Fiber* const fiber : idle_) Pool().GiveBack(fiber);
  for (Fiber* const fiber : used_) Pool().GiveBack(fiber);
  idle_.clear();
  used_.clear();
  t_block = nullptr;
}

uint32_t Block::TakeRunnable() {
  if (has_seed()) {
    std::swap(runnable_[random_() % runnable_.size()], runnable_.back());
  }
  const uint32_t thread = runnable_.back();
  runnable_.pop_back();
  return thread;
}

void Block::SetIndex(uint32_t thread) {
  current_ = thread;
  const dim3& size = launch_.block;
  threadIdx = {thread % size.x, thread / size.x % size.y,
               thread / size.x / size.y};
}

void Block::SwitchTo(uint32_t thread) {
  Fiber* fiber = threads_[thread].fiber;
  if (fiber == nullptr) {
    if (idle_.empty()) idle_.push_back(Pool().Take());
    fiber = idle_.back();
    idle_.pop_back();
    fiber->block = this;
  }
  SetIndex(thread);
  g_switches.fetch_add(1, std::memory_order_relaxed);
  if (__sanitizer_start_switch_fiber != nullptr) {
    __sanitizer_start_switch_fiber(&scheduler_fake_stack_, fiber->stack,
                                   kStackBytes);
  }
  if (HasThreadSanitizer()) __tsan_switch_to_fiber(fiber->tsan, 1);
  fiber->context = jump_fcontext(fiber->context, fiber).fctx;
  if (__sanitizer_finish_switch_fiber != nullptr) {
    __sanitizer_finish_switch_fiber(scheduler_fake_stack_, nullptr, nullptr);
  }
}

void Block::RunThreads(Fiber* fiber) {
  for (;;) {
    const uint32_t mine = current_;
    threads_[mine].fiber = fiber;
    Acquire(&g_ordered_by_start);
    Acquire(&ordered_by_block_[1 - turn_ % 2]);
    (*launch_.kernel)();
    Release(&ordered_by_block_[turn_ % 2]);
    Release(&g_ordered_by_end);
    threads_[mine].state = State::kEnded;
    threads_[mine].fiber = nullptr;
    ++ended_;
    ReleaseBarrierIfDue();
    // The next one can have this stack, if it has not begun on one.
    if (OneThreadEach() || runnable_.empty() ||
        threads_[runnable_.back()].fiber != nullptr) {
      break;
    }
    SetIndex(TakeRunnable());
  }
  // To ThreadSanitizer threads on one fiber are one thread.
  (HasThreadSanitizer() ? used_ : idle_).push_back(fiber);
}

void Block::Wait() {
  const uint32_t mine = current_;
  LeaveFiber(threads_[mine].fiber);
}

void Block::GoToBack() {
  if (launch_.baton != nullptr && random_() % 2 == 0) {
    launch_.baton->Pass(worker_);
  }
  (has_seed() ? runnable_ : yielded_).push_back(current_);
  Wait();
}

void Block::MayYield() {
  const bool due = has_seed() ? random_() % kYieldOneIn == 0
                              : ++atomics_ % kAtomicsBeforeYield == 0;
  if (due) GoToBack();
}

void Block::ReleaseBarrierIfDue() {
  if (at_barrier_ == 0 || at_barrier_ + ended_ < launch_.threads) return;
  ++barriers_;
  barrier_result_ = counted_;
  at_barrier_ = counted_ = 0;
  for (uint32_t i = launch_.threads; i-- > 0;) {
    if (threads_[i].state == State::kAtBarrier) MakeRunnable(i);
  }
}

uint32_t Block::Barrier(bool counts, Where where) {
  Thread& thread = threads_[current_];
  char* const ordered = &ordered_by_barrier_[barriers_ % 2];
  Release(ordered);
  thread.state = State::kAtBarrier;
  thread.where = where;
  counted_ += counts ? 1 : 0;
  ++at_barrier_;
  ReleaseBarrierIfDue();
  Wait();
  Acquire(ordered);
  return barrier_result_;
}

uint64_t Block::Warp(WarpOp op, uint32_t mask, uint64_t value,
                     uint32_t argument, Where where) {
  const uint32_t first = current_ / kWarp * kWarp;
  Thread& thread = threads_[current_];
  char* const ordered = &ordered_by_warp_[current_ / kWarp];
  if (op == WarpOp::kSync) Release(ordered);
  thread.state = State::kAtWarp;
  thread.op = op;
  thread.mask = mask;
  thread.value = value;
  thread.argument = argument;
  thread.where = where;
  if ((mask >> (current_ - first) & 1) == 0) Fail("its mask is without itself");
  if (CompleteWarp(first, thread)) {
    thread.state = State::kRunnable;
  } else {
    Wait();
  }
  if (op == WarpOp::kSync) Acquire(ordered);
  return threads_[current_].result;
}

// Whether all lanes have come; then all but the caller are made runnable.
bool Block::CompleteWarp(uint32_t first, const Thread& caller) {
  uint64_t ballot = 0;
  uint64_t sum = 0;
  uint64_t most = 0;
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    if ((caller.mask >> lane & 1) == 0) continue;
    if (first + lane >= launch_.threads) Fail("its mask has lanes beyond");
    const Thread& other = threads_[first + lane];
    if (other.state == State::kEnded) Fail("its mask has a lane that ended");
    if (other.state != State::kAtWarp) return false;
    if (other.op != caller.op || other.mask != caller.mask) {
      Fail("a lane of its mask makes another call, or has another mask");
    }
    ballot |= uint64_t{other.value != 0} << lane;
    sum += other.value;
    most = std::max(most, other.value);
  }
  for (uint32_t lane = kWarp; lane-- > 0;) {
    if ((caller.mask >> lane & 1) == 0) continue;
    Thread& other = threads_[first + lane];
    switch (caller.op) {
      case WarpOp::kSync:
        break;
      case WarpOp::kBallot:
        other.result = ballot;
        break;
      case WarpOp::kAdd:
        other.result = sum & UINT32_MAX;
        break;
      case WarpOp::kMax:
        other.result = most;
        break;
      case WarpOp::kShuffle:
        // Of a lane that takes no part CUDA promises nothing.
        other.result = (caller.mask >> other.argument % kWarp & 1) != 0
                           ? threads_[first + other.argument % kWarp].value
                           : 0xdeaddeaddeaddeadu;
        break;
      case WarpOp::kMatch:
        other.result = 0;
        for (uint32_t i = 0; i < kWarp; ++i) {
          if ((caller.mask >> i & 1) != 0 &&
              threads_[first + i].value == other.value) {
            other.result |= uint64_t{1} << i;
          }
        }
        break;
    }
    if (&other != &caller) MakeRunnable(first + lane);
  }
  return true;
}

void Block::Fail(const char* what) const {
  std::fprintf(stderr, "simt: block %lu, thread %u: %s\n",
               static_cast<unsigned long>(number_), current_, what);
  int shown = 0;
  for (uint32_t i = 0; i < launch_.threads && shown < 40; ++i) {
    const Thread& thread = threads_[i];
    if (thread.state != State::kAtBarrier && thread.state != State::kAtWarp) {
      continue;
    }
    ++shown;
    std::fprintf(stderr, "  thread %u waits at %s:%d%s, mask %08x\n", i,
                 thread.where.file, thread.where.line,
                 thread.state == State::kAtBarrier ? " (block)" : " (warp)",
                 thread.state == State::kAtBarrier ? ~0u : thread.mask);
  }
  std::fprintf(stderr, "  %u of %u threads have ended\n", ended_,
               launch_.threads);
  std::abort();
}

void Work(LaunchState* launch, uint32_t worker) {
  if (launch->baton != nullptr) launch->baton->Wait(worker);
  Block block(launch, worker);
  if (HasThreadSanitizer()) {  // So that no OS thread has them all.
    for (uint64_t b = worker; b < launch->blocks; b += launch->workers) {
      block.Run(b);
    }
  } else {
    for (uint64_t b; (b = launch->next_block++) < launch->blocks;) {
      block.Run(b);
    }
  }
  if (launch->baton != nullptr) launch->baton->Leave(worker);
}

}  // namespace

void SetOptions(const Options& options) { g_options = options; }
uint64_t NumSwitches() { return g_switches; }

void Launch(const dim3& grid, const dim3& block, size_t shared_bytes,
            const std::function<void()>& kernel) {
  const std::lock_guard lock(g_one_launch);
  LaunchState launch{.grid = grid,
                     .block = block,
                     .shared_bytes = shared_bytes,
                     .kernel = &kernel,
                     .threads = block.x * block.y * block.z,
                     .blocks = uint64_t{grid.x} * grid.y * grid.z};
  uint32_t workers = std::max<uint32_t>(
      1, std::min<uint64_t>(g_options.blocks_at_once, launch.blocks));
  // __shared__ arrays are plain static ones then.
  if (__sanitizer_start_switch_fiber != nullptr) workers = 1;
  launch.workers = workers;
  Pool();  // Before there are threads.
  std::unique_ptr<Baton> baton;
  if (workers > 1 && g_options.seed != 0) {
    baton = std::make_unique<Baton>(workers, g_options.seed);
    launch.baton = baton.get();
  }
  Release(&g_ordered_by_start);
  if (workers == 1) {
    Work(&launch, 0);
  } else {
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < workers; ++i) {
      threads.emplace_back(Work, &launch, i);
    }
    for (std::thread& thread : threads) thread.join();
  }
  Acquire(&g_ordered_by_end);
}

uint32_t ThreadInBlock() { return t_block->current(); }
uint32_t BlockBarrier(bool counts, Where where) {
  return t_block->Barrier(counts, where);
}
uint64_t WarpCall(WarpOp op, uint32_t mask, uint64_t value, uint32_t argument,
                  Where where) {
  return t_block->Warp(op, mask, value, argument, where);
}
void Yield() { t_block->GoToBack(); }
void MayYield() { t_block->MayYield(); }
void* DynamicShared() { return t_block->shared(); }

}  // namespace fgnn::simt
