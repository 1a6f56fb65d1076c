#include "scheduler/rpc/members/service_hosts.h"

#include <utility>

namespace fgnn {

std::vector<ServiceHost> HostsOf(const MemberTable* members) {
  std::vector<ServiceHost> hosts;
  if (members == nullptr) return hosts;
  for (MemberView& member : members->Views()) {
    hosts.push_back({.name = std::move(member.facts.name),
                     .devices = std::move(member.facts.devices),
                     .silent_seconds = member.has_left  ? kHasLeft
                                       : member.is_lost ? member.silent_seconds
                                                        : 0});
  }
  return hosts;
}

}  // namespace fgnn
