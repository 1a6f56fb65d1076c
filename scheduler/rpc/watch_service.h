// WatchJob, and the calls of methods that no service has. Both reach this
// service with their headers, before their request is read.
#ifndef FGNN_SCHEDULER_RPC_WATCH_SERVICE_H_
#define FGNN_SCHEDULER_RPC_WATCH_SERVICE_H_

#include <grpcpp/generic/async_generic_service.h>

#include <memory>
#include <utility>

#include "scheduler/rpc/callers/callers.h"
#include "scheduler/rpc/job_watchers.h"

namespace fgnn {

// Thread-safe.
class WatchService final : public grpc::CallbackGenericService {
 public:
  // `callers` is shared by the services of one server. Borrows `watchers`.
  WatchService(std::shared_ptr<Callers> callers, JobWatchers* watchers)
      : callers_(std::move(callers)), watchers_(watchers) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

 private:
  const std::shared_ptr<Callers> callers_;
  JobWatchers* const watchers_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_WATCH_SERVICE_H_
