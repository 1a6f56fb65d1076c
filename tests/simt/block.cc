#include "tests/simt/block.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "tests/simt/scheduler.h"

namespace fgnn::simt {
namespace {

std::atomic<uint64_t> g_switches = 0;
constexpr int kThreadsInReport = 40;

}  // namespace

char g_launch_begins = 0;
char g_launch_ends = 0;

uint64_t NumSwitches() { return g_switches; }

Fiber* FiberPool::Take() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>());
    idle_.reserve(fibers_.size());
    used_.reserve(fibers_.size());
    return fibers_.back().get();
  }
  Fiber* const fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

void FiberPool::GiveBack(Fiber* fiber) {
  (HasThreadSanitizer() ? used_ : idle_).push_back(fiber);
}

void FiberPool::NextBlock() {
  idle_.insert(idle_.end(), used_.begin(), used_.end());
  used_.clear();
}

Block::Block(const LaunchShape& launch, uint32_t worker, FiberPool* pool)
    : launch_(launch),
      worker_(worker),
      pool_(pool),
      threads_(launch.threads()) {}

void Block::Begin(uint64_t number) {
  number_ = number;
  ++num_begun_;
  ended_ = at_barrier_ = counted_ = 0;
  threads_.assign(launch_.threads(), {});
  turns_.Reset(launch_.threads(), launch_.seed, number);
  pool_->NextBlock();
  places_.warps.assign((launch_.threads() + kWarp - 1) / kWarp, Place{});
  shared_ = std::make_unique_for_overwrite<std::byte[]>(launch_.shared_bytes);
  // ThreadSanitizer would take it for a store of this block that others race
  // with.
  if (!HasThreadSanitizer()) {
    std::fill_n(shared_.get(), launch_.shared_bytes, std::byte{0xff});
  }
  const dim3& grid = launch_.grid;
  blockIdx = {static_cast<unsigned>(number % grid.x),
              static_cast<unsigned>(number / grid.x % grid.y),
              static_cast<unsigned>(number / grid.x / grid.y)};
  blockDim = launch_.block;
  gridDim = launch_.grid;
  // All of this, and the block before, which had the same __shared__ arrays.
  Release(&places_.block[num_begun_ % 2]);
}

void Block::Run(uint64_t number) {
  Begin(number);
  while (ended_ < launch_.threads()) {
    if (turns_.empty()) Fail("threads wait for others that never come");
    GiveTurn(turns_.Take());
  }
  // Its dynamic shared memory is freed behind its last access.
  Acquire(&places_.block[1 - num_begun_ % 2]);
}

void Block::SetIndex(uint32_t thread) {
  current_ = thread;
  const dim3& size = launch_.block;
  threadIdx = {thread % size.x, thread / size.x % size.y,
               thread / size.x / size.y};
}

// From the OS thread's own stack.
void Block::GiveTurn(uint32_t thread) {
  Fiber* fiber = threads_[thread].fiber;
  if (fiber == nullptr) {
    fiber = pool_->Take();
    fiber->Prepare(
        [](void* block) { static_cast<Block*>(block)->RunThreads(); }, this);
    threads_[thread].fiber = fiber;
  }
  SetIndex(thread);
  g_switches.fetch_add(1, std::memory_order_relaxed);
  fiber->Enter();
}

// On a fiber: the thread whose turn it is. If it ends, the next one may have
// the stack, unless it has begun on another one.
void Block::RunThreads() {
  Fiber* const fiber = threads_[current_].fiber;
  const bool one_thread_only = launch_.seed != 0 || HasThreadSanitizer();
  for (;;) {
    Acquire(&g_launch_begins);
    Acquire(&places_.block[num_begun_ % 2]);
    (*launch_.kernel)();
    Release(&places_.block[1 - num_begun_ % 2]);
    Release(&g_launch_ends);
    Thread& ended = threads_[current_];
    ended.state = State::kEnded;
    ended.fiber = nullptr;
    ++ended_;
    OpenBarrierIfDue();
    if (one_thread_only || turns_.empty() ||
        threads_[turns_.next()].fiber != nullptr) {
      break;
    }
    SetIndex(turns_.Take());
    threads_[current_].fiber = fiber;
  }
  pool_->GiveBack(fiber);
}

void Block::Wait() { threads_[current_].fiber->Leave(); }

void Block::Yield() {
  if (launch_.baton != nullptr && turns_.PassesBaton()) {
    launch_.baton->Pass(worker_);
  }
  turns_.AddLast(current_);
  Wait();
}

void Block::MayYield() {
  if (turns_.YieldsAtAtomic()) Yield();
}

void Block::OpenBarrierIfDue() {
  if (at_barrier_ == 0 || at_barrier_ + ended_ < launch_.threads()) return;
  ++num_barriers_;
  barrier_result_ = counted_;
  at_barrier_ = counted_ = 0;
  const Where* first = nullptr;
  for (uint32_t i = launch_.threads(); i-- > 0;) {
    if (threads_[i].state != State::kAtBarrier) continue;
    if (first == nullptr) first = &threads_[i].where;
    if (threads_[i].where.line != first->line) {
      Fail("threads wait at different barriers of the source");
    }
  }
  for (uint32_t i = launch_.threads(); i-- > 0;) {
    if (threads_[i].state != State::kAtBarrier) continue;
    threads_[i].state = State::kRunnable;
    turns_.Add(i);
  }
}

uint32_t Block::Barrier(bool counts, Where where) {
  Thread& thread = threads_[current_];
  Place* const place = &places_.barrier[num_barriers_ % 2];
  Release(place);
  thread.state = State::kAtBarrier;
  thread.where = where;
  counted_ += counts ? 1 : 0;
  ++at_barrier_;
  OpenBarrierIfDue();
  Wait();
  Acquire(place);
  return barrier_result_;
}

uint64_t Block::Call(const WarpCall& call, Where where) {
  const uint32_t first_lane = current_ / kWarp * kWarp;
  Thread& thread = threads_[current_];
  Place* const place = &places_.warps[current_ / kWarp];
  if (call.op == WarpOp::kSync) Release(place);
  thread.state = State::kInWarpCall;
  thread.call = call;
  thread.where = where;
  if ((call.mask >> (current_ - first_lane) & 1) == 0) {
    Fail("the mask is without the calling lane");
  }
  if (!CompleteCall(first_lane)) Wait();
  if (call.op == WarpOp::kSync) Acquire(place);
  return threads_[current_].result;
}

// Ends the program unless `lane` may take part in the current thread's call.
void Block::CheckLane(uint32_t first_lane, uint32_t lane) const {
  const WarpCall& mine = threads_[current_].call;
  if (first_lane + lane >= launch_.threads()) {
    Fail("the mask has lanes that the block does not have");
  }
  const Thread& other = threads_[first_lane + lane];
  if (other.state == State::kEnded) Fail("the mask has a lane that has ended");
  if (other.state == State::kInWarpCall &&
      (other.call.op != mine.op || other.call.mask != mine.mask)) {
    Fail("a lane of the mask makes another call, or has another mask");
  }
}

// Returns false unless all lanes have come. Then the others can go on.
bool Block::CompleteCall(uint32_t first_lane) {
  const WarpOp op = threads_[current_].call.op;
  const uint32_t mask = threads_[current_].call.mask;
  WarpCall calls[kWarp];
  uint64_t results[kWarp] = {};
  bool complete = true;
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    CheckLane(first_lane, lane);
    complete &= threads_[first_lane + lane].state == State::kInWarpCall;
    calls[lane] = threads_[first_lane + lane].call;
  }
  if (!complete) return false;
  ComputeWarp(op, mask, calls, results);
  for (uint32_t lane = kWarp; lane-- > 0;) {
    if ((mask >> lane & 1) == 0) continue;
    Thread& thread = threads_[first_lane + lane];
    thread.result = results[lane];
    thread.state = State::kRunnable;
    if (first_lane + lane != current_) turns_.Add(first_lane + lane);
  }
  return true;
}

void Block::Fail(const char* what) const {
  std::fprintf(stderr, "simt: block %llu, thread %u: %s\n",
               static_cast<unsigned long long>(number_), current_, what);
  int shown = 0;
  for (uint32_t i = 0; i < launch_.threads() && shown < kThreadsInReport; ++i) {
    const Thread& thread = threads_[i];
    if (thread.state == State::kAtBarrier) {
      std::fprintf(stderr, "  thread %u waits at %s:%d (block)\n", i,
                   thread.where.file, thread.where.line);
    } else if (thread.state == State::kInWarpCall) {
      std::fprintf(stderr, "  thread %u waits at %s:%d (warp), mask %08x\n", i,
                   thread.where.file, thread.where.line, thread.call.mask);
    } else {
      continue;
    }
    ++shown;
  }
  std::fprintf(stderr, "  %u of %u threads have ended\n", ended_,
               launch_.threads());
  std::abort();
}

}  // namespace fgnn::simt
