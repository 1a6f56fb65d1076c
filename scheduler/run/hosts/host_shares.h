// What each host of a run has of a step: its places, and the train vertices
// that their seeds are drawn from.
#ifndef FGNN_SCHEDULER_RUN_HOSTS_HOST_SHARES_H_
#define FGNN_SCHEDULER_RUN_HOSTS_HOST_SHARES_H_

#include "absl/status/status.h"
#include "scheduler/run/hosts/run_hosts.h"
#include "scheduler/run/run_context.h"

namespace fgnn {

// Finds the places of a job that shares by speed, unless it has those of these
// hosts. The run has measured its own devices. Errors: those of
// RunHosts::Measure().
absl::Status ShareBySpeed(RunContext& run, RunHosts& hosts);

// Takes the shares of training.seeds own from the run's folder, if they are
// there.
void KeepSeedShares(RunContext& run);
// Takes or makes these shares, by the places of the hosts and by the rows that
// they have. FailedPrecondition: see CheckSameBook(). InvalidArgument: those of
// the folder are of another number of batches of a step. Other errors: those of
// RunHosts::Measure().
absl::Status ShareSeeds(RunContext& run, RunHosts& hosts);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_HOSTS_HOST_SHARES_H_
