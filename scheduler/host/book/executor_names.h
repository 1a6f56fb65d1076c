// Which name each executor of a job has on a host where other jobs have theirs.
// Pure.
#ifndef FGNN_SCHEDULER_HOST_BOOK_EXECUTOR_NAMES_H_
#define FGNN_SCHEDULER_HOST_BOOK_EXECUTOR_NAMES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/planning/placement.h"

namespace fgnn {

// Whether the devices have a core in common: one work at a time there.
bool ShareCores(const std::string& device, const std::string& other);
bool AnySharesCores(const std::vector<std::string>& devices,
                    const std::string& other);

struct JobExecutor {
  ExecutorPlacement placement;  // With its name on the host.
  uint32_t number = 0;          // In the job: of sampler.<i> or trainer.<i>, i.
};

// An executor that is on the host.
struct NamedExecutor {
  ExecutorPlacement placement;
  bool is_free = false;  // For the job to have as it is.
  // It gives its name away, on a device of the job: it is stopped.
  bool gives_way = false;
  // Already the job's: its number there.
  std::optional<uint32_t> number = std::nullopt;
};

// `job`: as PlaceExecutors() numbers them, and in its order. `there`: by name.
// An executor that is the job's keeps its name; of others the sampler and the
// trainer of a number have one number in their names: where most of them are
// there and free, then the lowest.
std::vector<JobExecutor> NameExecutors(
    const std::vector<ExecutorPlacement>& job,
    const std::map<std::string, NamedExecutor>& there);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_HOST_BOOK_EXECUTOR_NAMES_H_
