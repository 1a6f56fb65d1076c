#include "scheduler/daemon/member_daemon.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/daemon/host_part.h"
#include "scheduler/host/book/state_lock.h"
#include "scheduler/rpc/grpc_executor_calls.h"
#include "scheduler/rpc/host_service.h"
#include "scheduler/rpc/members/head_link.h"
#include "scheduler/run/hosts/member_loop.h"
#include "scheduler/store/job_store.h"
#include "shared/base/clock.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/base/threads/end_limit.h"
#include "shared/config/socket_group.h"
#include "shared/config/state_dir.h"
#include "shared/queue/segment_layout.h"
#include "shared/rpc/server.h"
#include "shared/telemetry/log.h"

namespace fgnn {

MemberFacts FactsOf(const SchedulerOptions& options) {
  return {.name = options.host_name,
          .exchange = options.exchange.has_value()
                          ? options.exchange->address.Text()
                          : "",
          .version = options.version,
          .segment_layout_version = kSegmentLayoutVersion,
          .devices = options.devices};
}

// The parts in the order of their dependence; they are destroyed from the last
// to the first.
struct MemberDaemon::Parts {
  Parts(SchedulerOptions of_service, StateLock held)
      : options(std::move(of_service)), lock(std::move(held)) {}

  const SchedulerOptions options;
  StateLock lock;
  const std::unique_ptr<ExecutorCalls> calls = NewGrpcExecutorCalls();
  HostPart part;
  std::unique_ptr<HostServiceAdapter> host_service;
  std::unique_ptr<RpcServer> for_daemons;
  std::unique_ptr<MemberLoop> loop;
};

MemberDaemon::MemberDaemon(std::unique_ptr<Parts> parts)
    : parts_(std::move(parts)) {}

absl::StatusOr<std::unique_ptr<MemberDaemon>> MemberDaemon::Start(
    const SchedulerOptions& options) {
  FGNN_RETURN_IF_ERROR(
      CheckServiceDescriptors(options.devices.size(), /*is_started=*/false));
  FGNN_RETURN_IF_ERROR(MakeStateDir(options.state_dir));
  FGNN_ASSIGN_OR_RETURN(StateLock lock, StateLock::Take(options.state_dir));
  FGNN_RETURN_IF_ERROR(SetSocketGroup(options.state_dir, options.socket_group));
  auto parts = std::make_unique<Parts>(options, std::move(lock));
  // A member has no jobs. Its store counts its starts alone.
  FGNN_ASSIGN_OR_RETURN(JobStore store,
                        JobStore::Open(JobStorePath(options.state_dir)));
  FGNN_ASSIGN_OR_RETURN(const uint64_t generation, store.NextGeneration());
  FGNN_ASSIGN_OR_RETURN(HeadCall head,
                        MakeHeadLink(*options.join, options.exchange->tls_dir));
  FGNN_ASSIGN_OR_RETURN(
      parts->part,
      HostPart::Start(options, {.generation = generation}, parts->calls.get()));
  parts->host_service =
      std::make_unique<HostServiceAdapter>(parts->part.host.get());
  FGNN_ASSIGN_OR_RETURN(parts->for_daemons,
                        RpcServer::Start(DaemonsSocketPath(options.state_dir),
                                         {parts->host_service.get()}));
  MemberFacts facts = FactsOf(options);
  // The state folder may be a new one at each start, as in a container.
  facts.generation = HashString(
      absl::StrCat(generation, ".", UnixMilliseconds(), ".", ::getpid()));
  JobEnvironment environment;
  environment.host = parts->part.host.get();
  environment.calls = parts->calls.get();
  environment.paths = &parts->options.paths;
  FGNN_ASSIGN_OR_RETURN(
      parts->loop,
      MemberLoop::Start(std::move(facts), std::move(head), environment));
  LogInfo("serves {} of {} to the head at {}, start {}",
          absl::StrJoin(NamesOf(options.devices), " "), options.host_name,
          options.join->Text(), generation);
  return std::unique_ptr<MemberDaemon>(new MemberDaemon(std::move(parts)));
}

absl::Status MemberDaemon::ServeUntil(const SignalWaiter& stop) {
  fgnn::ServeUntil(stop, parts_->options.state_dir, parts_->lock,
                   [] { return false; });
  LogInfo("stops");
  return absl::OkStatus();
}

MemberDaemon::~MemberDaemon() {
  if (parts_->loop == nullptr) return;
  const EndLimit limit(kEndLimit, [] {
    LogError("did not end within {} s; leaves at once", kEndLimit.count());
  });
  parts_->loop.reset();
  EndDaemons(parts_->options, parts_->lock, *parts_->part.host);
  parts_->for_daemons->Shutdown(kServerGrace);
}

}  // namespace fgnn
