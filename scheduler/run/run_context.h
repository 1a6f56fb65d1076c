// The state that the parts of one job's run share.
#ifndef FGNN_SCHEDULER_RUN_RUN_CONTEXT_H_
#define FGNN_SCHEDULER_RUN_RUN_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/executors/executor_calls.h"
#include "scheduler/executors/job_executors.h"
#include "scheduler/executors/shortage_wait.h"
#include "scheduler/figures/run_totals.h"
#include "scheduler/files/access/path_rules.h"
#include "scheduler/files/job_dataset.h"
#include "scheduler/files/run_folder.h"
#include "scheduler/host/daemon_host.h"
#include "scheduler/jobs/job_dispatcher.h"
#include "scheduler/members/member_table.h"
#include "scheduler/planning/job_plan.h"
#include "scheduler/planning/memory_ledger.h"
#include "scheduler/store/job.h"
#include "shared/base/clock.h"
#include "shared/config/job_hosts.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/segment.h"

namespace fgnn {

// The objects that all runs of jobs share. All are borrowed and thread-safe.
struct JobEnvironment {
  JobDispatcher* dispatcher = nullptr;
  DaemonHost* host = nullptr;
  ExecutorCalls* calls = nullptr;
  MemoryLedger* memory = nullptr;
  MemberTable* members = nullptr;    // nullptr: this host is a member itself.
  const PathRules* paths = nullptr;  // nullptr: jobs may name any file.
  RunTotals* totals = nullptr;       // nullptr: nothing is added up.
  ShortageClock clock = MonotonicClock::now;
};

// The dataset of a run, as a sampler has validated it.
struct RunDataset {
  ValidatedDataset validated;
  DatasetFacts facts;
};

// A run that has its folder.
struct StartedRun {
  RunFolder folder;
  SegmentOptions segment;
  double seconds_before = 0;  // Seconds that jobs before this one spent on it.
  uint32_t epochs_done = 0;   // Number of epochs with a line in the metrics.
};

// Returns the job's spec with the devices that it was given, if it was given
// some, in the place of those asked for: those of all its hosts.
JobSpec WholeSpecOf(const Job& job);

// Not thread-safe: for the job's thread.
struct RunContext {
  // `keep_going`: see KeepGoing in executors/executor_calls.h. `own_host`: name
  // of this host in the job's spec; empty: it is the head.
  RunContext(Job job_to_run, const JobEnvironment& of_all_jobs,
             KeepGoing keep_going, const std::string& own_host = "");
  RunContext(const RunContext&) = delete;
  RunContext& operator=(const RunContext&) = delete;

  GradientBoard& board() { return executors.segment().board(); }
  // Returns whether something is due after this epoch (from 0). It is due every
  // `every` epochs (0: none of these), and always after the last one.
  bool IsDue(uint32_t every, uint32_t epoch) const;

  // Return the executors of all hosts, and how often they were started again.
  // The names of other hosts' executors begin with the host's: host1/sampler.0.
  std::vector<ExecutorView> Views() const;
  uint32_t restarts() const;

  // Numbers of places of each step that other hosts have, before this host's
  // and after them.
  uint64_t places_before() const;
  uint64_t places_after() const;
  // Returns false if the shares of the hosts have yet to be found.
  bool has_places() const;

  const Job job;
  std::vector<HostShare> hosts;  // All hosts of the job; empty: no devices.
  const size_t self;             // Index of this host among them.
  // The hosts as the daemons see them; all are empty: one host, or not known
  // yet.
  JobHosts peers;
  // Spec of the job, with the devices that it has on this host.
  const JobSpec spec;
  const JobEnvironment environment;
  JobExecutors executors;

  // Executors of the other hosts by the host's name, as reported last.
  std::map<std::string, HostExecutors> others;
  // What this host finds out about itself; the hosts of a job compare it.
  HostFindings findings;
  // What the run was planned by; nullopt: it was taken over, or is not planned
  // yet.
  std::optional<PlanInput> planned_by;
  // Dataset of the run; nullopt: it is not validated yet.
  std::optional<RunDataset> dataset;
  // The run in its folder; nullopt: it has none yet. A start that fails later
  // leaves it here, for the summary.
  std::optional<StartedRun> started;
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_RUN_CONTEXT_H_
