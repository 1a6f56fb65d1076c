// The pages of the service for Prometheus:
//
//   /metrics                  the scheduler
//   /metrics/daemon?name=N    the daemon N, asked over its socket
//   /metrics/targets          both, for http_sd_configs of Prometheus
//
// A daemon needs no port and no network: the scheduler asks it.
#ifndef FGNN_SCHEDULER_METRICS_SERVICE_METRICS_H_
#define FGNN_SCHEDULER_METRICS_SERVICE_METRICS_H_

#include <string>

#include "scheduler/executors/executor_calls.h"
#include "scheduler/figures/refusal_counts.h"
#include "scheduler/figures/run_totals.h"
#include "scheduler/host/daemon_host.h"
#include "scheduler/jobs/job_table.h"
#include "scheduler/members/member_table.h"
#include "shared/http/http_handler.h"
#include "shared/metrics/metric_page.h"

namespace fgnn {

// The sources of the figures. All are borrowed and thread-safe.
struct MetricSources {
  JobTable* table = nullptr;
  DaemonHost* host = nullptr;
  ExecutorCalls* calls = nullptr;
  const RunTotals* totals = nullptr;
  const RefusalCounts* refusals = nullptr;
  const MemberTable* members = nullptr;  // nullptr: no host has joined.
};

// Thread-safe.
class ServiceMetrics {
 public:
  // `service`: the label of the service's targets, e.g. its state folder.
  ServiceMetrics(std::string service, const MetricSources& sources)
      : service_(std::move(service)), sources_(sources) {}

  // Returns the pages, which borrow this object.
  HttpHandlers Pages();

  HttpResponse OfScheduler() const;
  // Status 404: there is no such daemon. 503: it does not answer.
  HttpResponse OfDaemon(const std::string& name) const;
  // `host`: "HOST:PORT" by which the client reaches the scheduler.
  HttpResponse Targets(const std::string& host) const;

 private:
  void AddJobs(MetricPage& page) const;
  void AddWork(MetricPage& page) const;
  void AddQueue(MetricPage& page) const;
  void AddDaemons(MetricPage& page) const;
  void AddHosts(MetricPage& page) const;
  void AddFaults(MetricPage& page) const;
  void AddRefusals(MetricPage& page) const;

  const std::string service_;
  const MetricSources sources_;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_METRICS_SERVICE_METRICS_H_
