// How a trainer reaches the hosts that have rows of features, and what it got
// of them.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_HOSTS_LINKED_HOSTS_H_
#define FGNN_TRAINER_SERVICE_FEATURES_HOSTS_LINKED_HOSTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "shared/base/threads/mutex.h"
#include "shared/executors/executor_messages.h"
#include "trainer_service/features/hosts/row_links.h"

namespace fgnn {

// What came from a host.
struct RowTotals {
  uint64_t rows = 0;
  uint64_t bytes = 0;  // Bytes of these rows.
  // Seconds of all requests, from the question to the last row. Requests may
  // overlap.
  double seconds = 0;
};

// Thread-safe.
class RemoteTotals {
 public:
  void Add(const std::string& host, const RowTotals& more) {
    const MutexLock lock(&mutex_);
    RowTotals& totals = of_hosts_[host];
    totals.rows += more.rows;
    totals.bytes += more.bytes;
    totals.seconds += more.seconds;
  }
  // Returns the totals of each host, by its name.
  std::map<std::string, RowTotals> OfHosts() const {
    const MutexLock lock(&mutex_);
    return of_hosts_;
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, RowTotals> of_hosts_ ABSL_GUARDED_BY(mutex_);
};

struct LinkedHosts {
  std::unique_ptr<RowLinks> links;
  JobHosts hosts;
  RemoteTotals* totals = nullptr;  // Borrowed; null: nothing is added up.
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_HOSTS_LINKED_HOSTS_H_
