// Which other hosts of a job this host reaches.
#ifndef FGNN_TRAINER_SERVICE_EXCHANGE_REACHES_H_
#define FGNN_TRAINER_SERVICE_EXCHANGE_REACHES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/threads/mutex.h"
#include "shared/measured/host_reach.h"

namespace fgnn {

// Thread-safe.
class Reaches {
 public:
  // Notes what a probe of the host with that index returned. Returns whether
  // the host was not probed before, or is reached now and was not, or the other
  // way round.
  bool Note(uint32_t host, const absl::StatusOr<LinkQuality>& probed);
  // Returns the newest answer of each host that was probed, by its index.
  std::vector<HostReach> All() const;

 private:
  mutable Mutex mutex_;
  std::map<uint32_t, HostReach> by_host_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_EXCHANGE_REACHES_H_
