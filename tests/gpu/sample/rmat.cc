#include "tests/gpu/sample/rmat.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "shared/base/philox.h"

namespace fgnn {
namespace {

struct Pair {
  uint32_t from;
  uint32_t to;
};

// Edge number e: a quadrant for each bit of the ids, 16 random bits each.
Pair EdgeOf(uint64_t e, uint32_t scale) {
  constexpr uint64_t kA = 65536 * 57 / 100;
  constexpr uint64_t kAb = 65536 * 76 / 100;
  constexpr uint64_t kAbc = 65536 * 95 / 100;
  uint32_t from = 0;
  uint32_t to = 0;
  uint64_t bits = 0;
  for (uint32_t level = 0; level < scale; ++level) {
    if (level % 4 == 0) bits = Mix64(e * 8 + level / 4);
    const uint64_t die = bits & 0xffff;
    bits >>= 16;
    from = 2 * from + (die >= kAb ? 1 : 0);
    to = 2 * to + ((die >= kA && die < kAb) || die >= kAbc ? 1 : 0);
  }
  // An odd factor permutes the ids.
  const uint32_t mask = static_cast<uint32_t>((uint64_t{1} << scale) - 1);
  return {from * 0x9e3779b1u & mask, to * 0x9e3779b1u & mask};
}

void InParallel(uint64_t size, uint32_t num_threads,
                const std::function<void(uint64_t begin, uint64_t end)>& work) {
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < num_threads; ++t) {
    threads.emplace_back(work, size * t / num_threads,
                         size * (t + 1) / num_threads);
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

RmatGraph::RmatGraph(uint32_t scale, uint32_t edge_factor,
                     uint32_t num_threads) {
  const uint64_t num_nodes = uint64_t{1} << scale;
  const uint64_t num_drawn = num_nodes * edge_factor;
  std::vector<uint32_t> degrees(num_nodes);
  const auto next = [&](uint32_t v) {
    return std::atomic_ref<uint32_t>(degrees[v])
        .fetch_add(1, std::memory_order_relaxed);
  };
  InParallel(num_drawn, num_threads, [&](uint64_t begin, uint64_t end) {
    for (uint64_t e = begin; e < end; ++e) {
      const Pair edge = EdgeOf(e, scale);
      next(edge.from);
      next(edge.to);
    }
  });
  indptr_.resize(num_nodes + 1);
  for (uint64_t v = 0; v < num_nodes; ++v) {
    indptr_[v + 1] = indptr_[v] + degrees[v];
    if (degrees[v] > 0 && v % 10 == 0) {
      train_.push_back(static_cast<int64_t>(v));
    }
  }
  std::fill(degrees.begin(), degrees.end(), 0);
  indices_.resize(2 * num_drawn);
  const auto put = [&](uint32_t to, uint32_t from) {
    indices_[static_cast<uint64_t>(indptr_[to]) + next(to)] = from;
  };
  InParallel(num_drawn, num_threads, [&](uint64_t begin, uint64_t end) {
    for (uint64_t e = begin; e < end; ++e) {
      const Pair edge = EdgeOf(e, scale);
      put(edge.to, edge.from);
      put(edge.from, edge.to);
    }
  });
  // Threads take turns at random: their order must not be the graph's.
  InParallel(num_nodes, num_threads, [&](uint64_t begin, uint64_t end) {
    for (uint64_t v = begin; v < end; ++v) {
      std::sort(indices_.begin() + indptr_[v],
                indices_.begin() + indptr_[v + 1]);
    }
  });
}

CscView RmatGraph::wide_view() {
  if (wide_.empty()) wide_.assign(indices_.begin(), indices_.end());
  return {indptr_, absl::Span<const int64_t>(wide_)};
}

}  // namespace fgnn
