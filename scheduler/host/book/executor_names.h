// Chooses the name of each executor of a job on a host where other jobs have
// executors too. Pure.
#ifndef FGNN_SCHEDULER_HOST_BOOK_EXECUTOR_NAMES_H_
#define FGNN_SCHEDULER_HOST_BOOK_EXECUTOR_NAMES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/planning/placement.h"

namespace fgnn {

// Returns whether one of the devices shares a resource with `other`, so that
// only one of them may work at a time.
bool AnyShares(const std::vector<Device>& devices, const Device& other);

struct JobExecutor {
  ExecutorPlacement placement;  // Placement with the name on the host.
  uint32_t number = 0;          // Number in the job: i of sampler.<i>.
};

// An executor that the host has already.
struct NamedExecutor {
  ExecutorPlacement placement;
  bool is_free = false;  // Whether the job may have it as it is.
  // Whether its name may be given away: it runs on a device of the job and is
  // to be stopped.
  bool gives_way = false;
  // Number in the job if it is the job's already; nullopt: it is not.
  std::optional<uint32_t> number = std::nullopt;
};

// Returns the executors of `job` with their names on the host. `job` has the
// numbers and the order of PlaceExecutors(); `there` has the host's executors
// by name. An executor that is the job's keeps its name. Otherwise the
// executors of a number get the same number in their names. It is the one
// for which most executors are there and free, then the lowest.
std::vector<JobExecutor> NameExecutors(
    const std::vector<ExecutorPlacement>& job,
    const std::map<std::string, NamedExecutor>& there);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_EXECUTOR_NAMES_H_
