// Who is next: among the threads of a block, and among blocks under way.
//
// Containers have element types of the emulator's own. ThreadSanitizer's build
// would otherwise take instrumented functions of the same containers from other
// objects, and see the emulator's memory.
#ifndef FGNN_TESTS_SIMT_TURNS_H_
#define FGNN_TESTS_SIMT_TURNS_H_

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace fgnn::simt {

// Numbers that a seed chooses: splitmix64.
class Choices {
 public:
  Choices(uint64_t seed, uint64_t stream)
      : state_(seed * 0x9e3779b97f4a7c15u ^ stream * 0xd1342543de82ef95u) {}
  // Returns a number of [0, below).
  uint64_t Draw(uint64_t below) {
    uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (x ^ (x >> 31)) % below;
  }

 private:
  uint64_t state_;
};

// The threads of a block that can go on. One OS thread calls.
class Turns {
 public:
  // Begins with all threads of [0, count). Later calls allocate nothing: they
  // come from fibers, and ThreadSanitizer would see it.
  void Reset(uint32_t count, uint64_t seed, uint64_t block) {
    has_seed_ = seed != 0;
    choices_ = Choices(seed, block);
    atomics_ = 0;
    ready_.clear();
    later_.clear();
    ready_.reserve(count);
    later_.reserve(count);
    for (uint32_t thread = count; thread-- > 0;) Add(thread);
  }
  bool empty() const { return ready_.empty() && later_.empty(); }
  // Returns the thread that Take() returns if there is no seed.
  uint32_t next() {
    if (ready_.empty()) std::swap(ready_, later_);
    return ready_.back().thread;
  }
  uint32_t Take() {
    next();
    if (has_seed_) {
      std::swap(ready_[choices_.Draw(ready_.size())], ready_.back());
    }
    const uint32_t thread = ready_.back().thread;
    ready_.pop_back();
    return thread;
  }
  void Add(uint32_t thread) { ready_.push_back({thread}); }
  // Without a seed it comes after all others, so that a loop that waits for one
  // of them ends.
  void AddLast(uint32_t thread) {
    (has_seed_ ? ready_ : later_).push_back({thread});
  }
  // Returns whether a thread at an atomic lets others go on.
  bool YieldsAtAtomic() {
    constexpr uint64_t kOneOf = 4;
    constexpr uint64_t kOneOfWithoutSeed = 1024;
    return has_seed_ ? choices_.Draw(kOneOf) == 0
                     : ++atomics_ % kOneOfWithoutSeed == 0;
  }
  bool PassesBaton() { return choices_.Draw(2) == 0; }

 private:
  struct Ready {
    uint32_t thread;
  };
  bool has_seed_ = false;
  uint64_t atomics_ = 0;
  Choices choices_{0, 0};
  std::vector<Ready> ready_;  // The last one is next, without a seed.
  std::vector<Ready> later_;  // Next when none of those is left.
};

// The turn of the OS threads of a launch with a seed. Only who has the turn
// calls anything but Wait().
class Baton {
 public:
  Baton(uint32_t workers, uint64_t seed)
      : choices_(seed, workers), workers_(workers, Worker{true}) {}

  void Wait(uint32_t worker) {
    for (uint32_t now; (now = turn_.load()) != worker;) turn_.wait(now);
  }
  // Gives the turn to any worker, and waits to get it back.
  void Pass(uint32_t worker) {
    Give();
    Wait(worker);
  }
  // For the last time.
  void Leave(uint32_t worker) {
    workers_[worker].active = false;
    Give();
  }

 private:
  struct Worker {
    bool active;
  };

  void Give() {
    uint64_t active = 0;
    for (const Worker& worker : workers_) active += worker.active ? 1 : 0;
    if (active == 0) return;
    uint64_t chosen = choices_.Draw(active);
    uint32_t next = 0;
    while (!workers_[next].active || chosen-- > 0) ++next;
    turn_.store(next);
    turn_.notify_all();
  }

  Choices choices_;
  std::vector<Worker> workers_;
  std::atomic<uint32_t> turn_ = 0;
};

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_SIMT_TURNS_H_
