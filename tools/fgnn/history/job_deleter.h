// Deletes jobs of a state folder, whether its service runs or not.
#ifndef FGNN_TOOLS_FGNN_HISTORY_JOB_DELETER_H_
#define FGNN_TOOLS_FGNN_HISTORY_JOB_DELETER_H_

#include <string>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "fgnn/v1/job_service.pb.h"
#include "scheduler/host/book/state_lock.h"
#include "scheduler/store/job_store.h"
#include "tools/fgnn/service/service_client.h"

namespace fgnn {

// Thread-compatible.
class JobDeleter {
 public:
  // Has the service of `place` delete. Where none runs on this machine, takes
  // the folder's lock, which keeps a service from starting there meanwhile.
  // Unavailable: no service has run there yet. Also the other errors of
  // ServiceClient::Connect(), StateLock::Take() and JobStore::Open().
  static absl::StatusOr<JobDeleter> Open(const ServicePlace& place);

  // Returns the id of the job that `name` names.
  absl::StatusOr<std::string> FindId(const std::string& name);
  // Deletes the job with this id; errors as those of the service's DeleteJob.
  absl::StatusOr<v1::DeleteJobResponse> Delete(const std::string& job_id);

 private:
  // The store of a folder without a service.
  struct HeldStore {
    StateLock lock;  // Declared first: released once the store is closed.
    JobStore store;
  };
  using Source = std::variant<ServiceClient, HeldStore>;
  explicit JobDeleter(Source source) : source_(std::move(source)) {}

  Source source_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_HISTORY_JOB_DELETER_H_
