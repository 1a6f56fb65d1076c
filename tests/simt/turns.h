// Who is next: among the threads of a block, and among blocks under way.
#ifndef FGNN_TESTS_SIMT_TURNS_H_
#define FGNN_TESTS_SIMT_TURNS_H_

#include <atomic>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace fgnn::simt {

// The threads of a block that can go on. One OS thread calls.
class Turns {
 public:
  // Begins with all threads of [0, count). Allocates nothing later: that would
  // be on a fiber, and ThreadSanitizer would see it.
  void Reset(uint32_t count, uint64_t seed, uint64_t block) {
    has_seed_ = seed != 0;
    random_.seed(seed * 0x9e3779b97f4a7c15u + block);
    atomics_ = 0;
    ready_.clear();
    later_.clear();
    ready_.reserve(count);
    later_.reserve(count);
    for (uint32_t thread = count; thread-- > 0;) ready_.push_back(thread);
  }
  bool empty() const { return ready_.empty() && later_.empty(); }
  // The thread that Take() returns if there is no seed.
  uint32_t next() {
    if (ready_.empty()) std::swap(ready_, later_);
    return ready_.back();
  }
  uint32_t Take() {
    next();
    if (has_seed_) std::swap(ready_[Draw(ready_.size())], ready_.back());
    const uint32_t thread = ready_.back();
    ready_.pop_back();
    return thread;
  }
  void Add(uint32_t thread) { ready_.push_back(thread); }
  // Without a seed it comes after all others, so that a loop that waits for one
  // of them ends.
  void AddLast(uint32_t thread) {
    (has_seed_ ? ready_ : later_).push_back(thread);
  }
  // Returns whether a thread at an atomic lets others go on.
  bool YieldsAtAtomic() {
    constexpr uint64_t kOneOf = 4;
    constexpr uint64_t kOneOfWithoutSeed = 1024;
    return has_seed_ ? Draw(kOneOf) == 0 : ++atomics_ % kOneOfWithoutSeed == 0;
  }
  uint64_t Draw(uint64_t below) { return random_() % below; }

 private:
  bool has_seed_ = false;
  uint64_t atomics_ = 0;
  std::mt19937_64 random_;
  std::vector<uint32_t> ready_;  // The last one is next, without a seed.
  std::vector<uint32_t> later_;  // Next when none of those is left.
};

// The turn of the OS threads of a launch with a seed. Only who has the turn
// calls anything but Wait().
class Baton {
 public:
  Baton(uint32_t workers, uint64_t seed)
      : random_(seed), active_(workers, true) {}

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
    active_[worker] = false;
    Give();
  }

 private:
  void Give() {
    uint64_t count = 0;
    for (const bool active : active_) count += active ? 1 : 0;
    if (count == 0) return;
    uint64_t chosen = random_() % count;
    uint32_t worker = 0;
    while (!active_[worker] || chosen-- > 0) ++worker;
    turn_ = worker;
    turn_.notify_all();
  }

  std::mt19937_64 random_;
  std::vector<bool> active_;
  std::atomic<uint32_t> turn_ = 0;
};

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_SIMT_TURNS_H_
