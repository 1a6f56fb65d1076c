#include "sampler_service/order/matched_path.h"

#include <numeric>
#include <utility>

namespace fgnn {
namespace {

// Returns the batch of `left` that shares fewest input nodes with the heads of
// the chains so far.
uint32_t NextHead(const OverlapMatrix& overlap,
                  absl::Span<const uint32_t> heads,
                  const std::vector<uint32_t>& left) {
  uint32_t best = left.front();
  uint64_t fewest = UINT64_MAX;
  for (const uint32_t batch : left) {
    uint64_t shared = 0;
    for (const uint32_t head : heads) shared += overlap.Shared(head, batch);
    if (shared < fewest) {
      fewest = shared;
      best = batch;
    }
  }
  return best;
}

// Returns the batch of `left` that shares most input nodes with `batch`.
uint32_t NextAfter(const OverlapMatrix& overlap, uint32_t batch,
                   const std::vector<uint32_t>& left) {
  uint32_t best = left.front();
  for (const uint32_t other : left) {
    if (overlap.Shared(batch, other) > overlap.Shared(batch, best)) {
      best = other;
    }
  }
  return best;
}

std::vector<uint32_t> PathFrom(uint32_t first, const OverlapMatrix& overlap,
                               uint32_t chains) {
  std::vector<uint32_t> left(overlap.size());
  std::iota(left.begin(), left.end(), 0);
  std::vector<uint32_t> path = {first};
  std::erase(left, first);
  while (!left.empty()) {
    const size_t place = path.size();
    const uint32_t next = place < chains
                              ? NextHead(overlap, path, left)
                              : NextAfter(overlap, path[place - chains], left);
    path.push_back(next);
    std::erase(left, next);  // `left` stays in drawn order.
  }
  return path;
}

}  // namespace

std::vector<uint32_t> MatchedPath(const OverlapMatrix& overlap,
                                  uint32_t chains) {
  std::vector<uint32_t> best(overlap.size());
  std::iota(best.begin(), best.end(), 0);
  uint64_t most = SharedAlong(overlap, best, chains);
  for (uint32_t first = 0; first < overlap.size(); ++first) {
    std::vector<uint32_t> path = PathFrom(first, overlap, chains);
    const uint64_t shared = SharedAlong(overlap, path, chains);
    if (shared > most) {
      most = shared;
      best = std::move(path);
    }
  }
  return best;
}

uint64_t SharedAlong(const OverlapMatrix& overlap,
                     absl::Span<const uint32_t> order, uint32_t chains) {
  uint64_t shared = 0;
  for (size_t place = chains; place < order.size(); ++place) {
    shared += overlap.Shared(order[place - chains], order[place]);
  }
  return shared;
}

}  // namespace fgnn
