// Tells clients of the progress of their jobs. A watching client costs a few
// hundred bytes and no thread. One thread looks at the watched jobs ten times a
// second, and at once when one of them ends.
#ifndef FGNN_SCHEDULER_RPC_JOB_WATCHERS_H_
#define FGNN_SCHEDULER_RPC_JOB_WATCHERS_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/rpc/callers/callers.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/threads/thread.h"

namespace fgnn {

// Limits of the number of clients that watch at the same time.
struct WatchLimits {
  size_t per_user = 1'000;
  size_t in_all = 4'000;
};

// Thread-safe.
class JobWatchers {
 public:
  // Borrows `table`.
  explicit JobWatchers(JobTable* table, WatchLimits limits = {});
  // The servers of the streams have to be shut down before.
  ~JobWatchers();
  JobWatchers(const JobWatchers&) = delete;
  JobWatchers& operator=(const JobWatchers&) = delete;

  // Makes the stream of a call of WatchJob. It reads the request, sends the job
  // as it is now, then its changes; the last one is its end. gRPC owns the
  // stream. A slow client gets fewer messages, but always the newest one.
  grpc::ServerGenericBidiReactor* Watch(AdmittedCall call);
  // Ends all streams with UNAVAILABLE and refuses new ones: the service ends.
  void EndAll();

 private:
  class Stream;
  struct WatchedJob {
    uint64_t change = 0;  // Number of the last change that clients were told.
    std::vector<std::shared_ptr<Stream>> streams;
  };

  absl::Status CheckRoomLocked(uid_t user) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Tells the stream of the job that the word names for its user.
  absl::Status Join(const std::shared_ptr<Stream>& stream,
                    const std::string& word);
  void Run();
  // Returns, for each watched job, the last change that its clients were told.
  std::map<std::string, uint64_t> Seen();
  void Tell(const std::string& id, const absl::StatusOr<JobVersion>& version);
  void Forget(const Stream& stream);

  JobTable* const table_;
  const WatchLimits limits_;
  mutable Mutex mutex_;
  CondVar changed_;
  // Watched jobs by whole id.
  std::map<std::string, WatchedJob> jobs_ ABSL_GUARDED_BY(mutex_);
  // Number of streams of each user.
  std::map<uid_t, size_t> num_of_ ABSL_GUARDED_BY(mutex_);
  size_t num_streams_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  Thread thread_;  // Declared last: it uses the above.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_JOB_WATCHERS_H_
