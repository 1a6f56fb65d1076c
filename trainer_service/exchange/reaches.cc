#include "trainer_service/exchange/reaches.h"

#include <utility>

#include "shared/base/status.h"

namespace fgnn {

bool Reaches::Note(uint32_t host, const absl::StatusOr<LinkQuality>& probed) {
  HostReach reach = {.host = host, .error = MessageOf(probed.status())};
  if (probed.ok()) reach.link = *probed;
  const MutexLock lock(&mutex_);
  const auto [noted, is_new] = by_host_.try_emplace(host);
  const bool is_other =
      is_new || noted->second.error.empty() != reach.error.empty();
  noted->second = std::move(reach);
  return is_other;
}

std::vector<HostReach> Reaches::All() const {
  const MutexLock lock(&mutex_);
  std::vector<HostReach> all;
  for (const auto& [host, reach] : by_host_) all.push_back(reach);
  return all;
}

}  // namespace fgnn
