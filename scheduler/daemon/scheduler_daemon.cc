#include "scheduler/daemon/scheduler_daemon.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scheduler/daemon/host_part.h"
#include "scheduler/daemon/member_daemon.h"
#include "scheduler/figures/refusal_counts.h"
#include "scheduler/figures/run_totals.h"
#include "scheduler/host/book/state_lock.h"
#include "scheduler/host/daemon_host.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/metrics/service_metrics.h"
#include "scheduler/rpc/control_server.h"
#include "scheduler/rpc/grpc_executor_calls.h"
#include "scheduler/rpc/idle_end.h"
#include "scheduler/rpc/members/service_hosts.h"
#include "scheduler/run/job_runner.h"
#include "scheduler/status_page/status_page.h"
#include "scheduler/store/job_store.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/threads/end_limit.h"
#include "shared/config/socket_group.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "shared/http/http_handler.h"
#include "shared/http/http_server.h"
#include "shared/rpc/sockets/descriptors.h"
#include "shared/rpc/sockets/host_port.h"
#include "shared/rpc/sockets/socket_name.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kIdleWithoutJobs{60};
// Time for a client to fetch how its job ended.
constexpr seconds kLingerForClients{5};
// Limit for running jobs to write their checkpoints when a signal ends the
// service. A service manager waits for ten seconds at least.
constexpr seconds kPreemptionLimit{8};

// Returns the server of the service's pages; nullptr: none are asked for.
absl::StatusOr<std::unique_ptr<HttpServer>> StartHttp(
    const std::optional<HostPort>& address, HttpHandlers pages) {
  if (!address.has_value()) return nullptr;
  absl::StatusOr<std::unique_ptr<HttpServer>> server =
      HttpServer::Start(*address, std::move(pages));
  if (!server.ok()) return Annotate(server.status(), "--http");
  LogInfo("serves pages on http://{}", (*server)->address().Text());
  return server;
}

std::unique_ptr<StatusPage> MakePage(const SchedulerOptions& options,
                                     const std::vector<Device>& devices,
                                     JobTable* table, DaemonHost* host,
                                     const MemberTable* members) {
  return std::make_unique<StatusPage>(
      StatusPageFacts{.version = options.version,
                      .state_dir = options.state_dir.string(),
                      .started_ms = UnixMilliseconds(),
                      .devices = devices,
                      .members = members},
      table, host);
}

}  // namespace

// The parts in the order of their dependence; they are destroyed from the last
// to the first.
struct SchedulerDaemon::Parts {
  Parts(SchedulerOptions of_service, StateLock held)
      : options(std::move(of_service)),
        lock(std::move(held)),
        idle_end(options.exit_when_idle) {}

  const SchedulerOptions options;
  StateLock lock;
  IdleEnd idle_end;
  std::unique_ptr<JobTable> table;
  std::unique_ptr<MemberTable> members;
  RunTotals totals;
  RefusalCounts refusals;
  const std::unique_ptr<ExecutorCalls> calls = NewGrpcExecutorCalls();
  std::unique_ptr<DaemonHost> host;
  std::unique_ptr<DescriptorServer> descriptors;
  // These are nullptr if no pages are served.
  std::unique_ptr<ServiceMetrics> metrics;
  std::unique_ptr<StatusPage> page;
  std::unique_ptr<HttpServer> http;
  std::unique_ptr<ControlServer> server;
  std::unique_ptr<JobRunner> runner;
};

SchedulerDaemon::SchedulerDaemon(std::unique_ptr<Parts> parts)
    : parts_(std::move(parts)) {}

SchedulerDaemon::~SchedulerDaemon() { Stop(/*keeps_jobs=*/false); }

absl::StatusOr<std::unique_ptr<SchedulerDaemon>> SchedulerDaemon::Start(
    const SchedulerOptions& options, const SignalWaiter* stop) {
  const std::vector<Device>& devices = options.devices;
  // gRPC ends a program that has none left for it.
  FGNN_RETURN_IF_ERROR(
      CheckServiceDescriptors(devices.size(), /*is_started=*/false));
  FGNN_RETURN_IF_ERROR(MakeStateDir(options.state_dir));
  FGNN_ASSIGN_OR_RETURN(StateLock lock, StateLock::Take(options.state_dir));
  FGNN_RETURN_IF_ERROR(SetSocketGroup(options.state_dir, options.socket_group));
  std::error_code ignored;  // Counts that a killed service left are of no use.
  std::filesystem::remove_all(CountsFolder(options.state_dir), ignored);
  auto parts = std::make_unique<Parts>(options, std::move(lock));
  FGNN_ASSIGN_OR_RETURN(JobStore store,
                        JobStore::Open(JobStorePath(options.state_dir)));
  FGNN_ASSIGN_OR_RETURN(const uint64_t generation, store.NextGeneration());
  FGNN_ASSIGN_OR_RETURN(
      parts->table, JobTable::Open(std::move(store), options.state_dir,
                                   {.max_of_user = options.max_jobs_per_user,
                                    .devices = devices,
                                    .hosts = [parts = parts.get()] {
                                      return HostsOf(parts->members.get());
                                    }}));
  MemberTerms terms = {
      .head = FactsOf(options),
      .interrupted_jobs = parts->table->interrupted(),
      .lost_after = std::chrono::seconds(
          options.exchange.value_or(ExchangeOptions()).timeout_seconds)};
  terms.head.generation = generation;
  parts->members = std::make_unique<MemberTable>(std::move(terms));
  // Interrupted jobs go on with the daemons that are left.
  FGNN_ASSIGN_OR_RETURN(
      HostPart host,
      HostPart::Start(options,
                      {.generation = generation,
                       .interrupted_jobs = parts->table->interrupted(),
                       .expect_survivors =
                           parts->table->dispatcher().resumes_interrupted()},
                      parts->calls.get()));
  parts->host = std::move(host.host);
  parts->descriptors = std::move(host.descriptors);
  HttpHandlers pages;
  if (options.http.has_value()) {
    parts->metrics = std::make_unique<ServiceMetrics>(
        options.state_dir.string(),
        MetricSources{.table = parts->table.get(),
                      .host = parts->host.get(),
                      .calls = parts->calls.get(),
                      .totals = &parts->totals,
                      .refusals = &parts->refusals,
                      .members = parts->members.get()});
    parts->page = MakePage(options, devices, parts->table.get(),
                           parts->host.get(), parts->members.get());
    pages = parts->page->Handlers();
    pages.merge(parts->metrics->Pages());
  }
  FGNN_ASSIGN_OR_RETURN(parts->http, StartHttp(options.http, std::move(pages)));
  FGNN_ASSIGN_OR_RETURN(
      parts->server,
      ControlServer::Start(
          {.version = options.version,
           .state_dir = options.state_dir.string(),
           .socket_group = options.socket_group,
           .paths = options.paths,
           .started_ms = UnixMilliseconds(),
           .devices = devices,
           .http = parts->http == nullptr ? "" : parts->http->address().Text(),
           .idle_end = &parts->idle_end,
           .shut_down = [stop] { stop->RequestStop(); },
           .gate = options.program_dir / "fgnn-gate",
           .members = parts->members.get(),
           .port = options.port,
           .refusals = &parts->refusals},
          parts->table.get(), parts->host.get()));
  // A service that ends when idle starts daemons only for its jobs.
  const bool keeps_daemons = options.spawn_daemons && !options.exit_when_idle;
  JobRunnerOptions runner;
  runner.environment.dispatcher = &parts->table->dispatcher();
  runner.environment.host = parts->host.get();
  runner.environment.calls = parts->calls.get();
  runner.environment.members = parts->members.get();
  runner.environment.paths = &parts->options.paths;
  runner.environment.totals = &parts->totals;
  if (keeps_daemons) runner.kept = PairPerDevice(devices);
  parts->runner = std::make_unique<JobRunner>(std::move(runner));
  // What was opened is known by now, pages and port included.
  FGNN_RETURN_IF_ERROR(
      CheckServiceDescriptors(devices.size(), /*is_started=*/true));
  LogInfo("serves {} on {}, start {}", options.state_dir.string(),
          absl::StrJoin(NamesOf(devices), " "), generation);
  return std::unique_ptr<SchedulerDaemon>(
      new SchedulerDaemon(std::move(parts)));
}

bool SchedulerDaemon::IsIdle() const {
  const JobTable::Counts counts = parts_->table->counts();
  if (counts.queued + counts.paused + counts.running > 0) return false;
  const auto idle_for = MonotonicClock::now() - counts.last_change;
  if (!counts.any_submitted) return idle_for >= kIdleWithoutJobs;
  return counts.ended_unseen == 0 || idle_for >= kLingerForClients;
}

absl::Status SchedulerDaemon::ServeUntil(const SignalWaiter& stop) {
  const auto ends = [this] {
    // A table whose lock is held for ever ends the messages to the watchdog.
    parts_->table->counts();
    return parts_->idle_end.Begin(
        [this] { return IsIdle() && parts_->table->CloseIfEmpty(); });
  };
  fgnn::ServeUntil(stop, parts_->options.state_dir, parts_->lock, ends);
  Stop(/*keeps_jobs=*/stop.has_signal());
  return absl::OkStatus();
}

void SchedulerDaemon::Stop(bool keeps_jobs) {
  if (parts_ == nullptr) return;
  LogInfo("stops{}",
          keeps_jobs ? "; running jobs go on at the next start" : "");
  const EndLimit limit(kEndLimit, [] {
    LogError("did not end within {} s; leaves at once", kEndLimit.count());
  });
  // The service refuses new work, ends running jobs, then the daemons, then the
  // sockets.
  parts_->table->Close(keeps_jobs);
  std::optional<EndLimit> preemption;
  if (keeps_jobs) {
    preemption.emplace(kPreemptionLimit, [] {
      LogWarning(
          "jobs have not let go of their devices within {} s; they go on "
          "from their newest checkpoints",
          kPreemptionLimit.count());
    });
  } else {
    parts_->table->CancelRunning(
        absl::CancelledError("the service was stopped while the job ran"));
  }
  parts_->runner.reset();
  preemption.reset();
  EndDaemons(parts_->options, parts_->lock, *parts_->host);
  parts_->server->Shutdown(kServerGrace);
  parts_.reset();
}

}  // namespace fgnn
