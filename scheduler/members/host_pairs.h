// The links between the hosts of a service, as their exchanges measured them.
#ifndef FGNN_SCHEDULER_MEMBERS_HOST_PAIRS_H_
#define FGNN_SCHEDULER_MEMBERS_HOST_PAIRS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "shared/base/threads/mutex.h"
#include "shared/measured/host_reach.h"

namespace fgnn {

// A link in one direction.
struct HostPair {
  std::string from;        // Name of the host that measured.
  std::string to;          // Name of the host that it called.
  std::string error = {};  // Why it was not reached; empty: it was.
  LinkQuality link = {};

  friend bool operator==(const HostPair&, const HostPair&) = default;
};

// The newest measurement of each pair. Thread-safe.
class HostPairs {
 public:
  void Note(HostPair pair);
  // Returns the pairs that were measured, by their names.
  std::vector<HostPair> All() const;

 private:
  mutable Mutex mutex_;
  std::map<std::pair<std::string, std::string>, HostPair> pairs_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_MEMBERS_HOST_PAIRS_H_
