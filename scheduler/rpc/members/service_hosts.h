// The members of a service as its queue of jobs knows them.
#ifndef FGNN_SCHEDULER_RPC_MEMBERS_SERVICE_HOSTS_H_
#define FGNN_SCHEDULER_RPC_MEMBERS_SERVICE_HOSTS_H_

#include <vector>

#include "scheduler/members/member_table.h"
#include "scheduler/order/host_demand.h"

namespace fgnn {

// Returns the hosts that have joined. nullptr: none may.
std::vector<ServiceHost> HostsOf(const MemberTable* members);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_MEMBERS_SERVICE_HOSTS_H_
