#include "scheduler/members/host_pairs.h"

namespace fgnn {

void HostPairs::Note(HostPair pair) {
  const MutexLock lock(&mutex_);
  HostPair& noted = pairs_[{pair.from, pair.to}];
  noted = std::move(pair);
}

std::vector<HostPair> HostPairs::All() const {
  const MutexLock lock(&mutex_);
  std::vector<HostPair> all;
  for (const auto& [names, pair] : pairs_) all.push_back(pair);
  return all;
}

}  // namespace fgnn
