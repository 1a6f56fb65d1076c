// WatchJob, HoldLink, and the calls of methods that no service has. They reach
// this service with their headers, before their request is read.
#ifndef FGNN_SCHEDULER_RPC_WATCH_SERVICE_H_
#define FGNN_SCHEDULER_RPC_WATCH_SERVICE_H_

#include <grpcpp/generic/async_generic_service.h>

#include <memory>
#include <utility>

#include "scheduler/rpc/callers/callers.h"
#include "scheduler/rpc/job_watchers.h"
#include "scheduler/rpc/members/held_links.h"

namespace fgnn {

// Thread-safe.
class WatchService final : public grpc::CallbackGenericService {
 public:
  // `callers` is shared by the services of one server. Borrows `watchers` and
  // `links`. nullptr: no member may call here.
  WatchService(std::shared_ptr<Callers> callers, JobWatchers* watchers,
               HeldLinks* links = nullptr)
      : callers_(std::move(callers)), watchers_(watchers), links_(links) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;

 private:
  const std::shared_ptr<Callers> callers_;
  JobWatchers* const watchers_;
  HeldLinks* const links_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RPC_WATCH_SERVICE_H_
