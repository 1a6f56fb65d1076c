// Compares what the hosts of a job have found out about themselves, before the
// job trains.
#ifndef FGNN_SCHEDULER_RUN_HOSTS_PREFLIGHT_H_
#define FGNN_SCHEDULER_RUN_HOSTS_PREFLIGHT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/members/member_messages.h"
#include "shared/base/clock.h"

namespace fgnn {

// Returns whether a host of a job of so many hosts reaches all others.
bool ReachesAll(const HostFindings& findings, size_t num_hosts);

// Not thread-safe.
class Preflight {
 public:
  explicit Preflight(const JobHosts& hosts);

  // Takes the newest findings of the host of this name, which is one of the
  // job's. Any of them may be missing yet.
  void Take(const std::string& host, const HostFindings& findings,
            Deadline now);
  // Returns the newest findings of the host with this index.
  const HostFindings& FindingsOf(size_t host) const {
    return hosts_[host].findings;
  }
  // FailedPrecondition, naming two hosts, what each has found and the way out:
  // their arithmetic differs, their folders were cut by other books or for
  // other numbers of owners, or the exchanges of both have run for ten seconds
  // and one does not reach the other. Sets `misfit` to the name of the later
  // one of the two, without which the job could go on.
  absl::Status Check(Deadline now, std::string* misfit) const;
  // Returns in words which rows of the features no host of the job has but for
  // `without`; empty: the others have all rows between them, or one of them has
  // not told yet.
  std::string Lacks(const std::string& without = "") const;
  // Returns in words which host does not reach which one; empty: none is known.
  std::string Unreached() const;

 private:
  struct Host {
    JobHost host;
    HostFindings findings = {};
    // Time since which its exchange runs; nullopt: it does not run yet.
    std::optional<Deadline> runs_since = std::nullopt;
  };

  // Compares the hosts whose trainers have measured. `misfit`: see Check().
  absl::Status CheckArithmetic(std::string* misfit) const;
  // Compares the books of hosts that have host folders. `misfit`: see Check().
  absl::Status CheckBooks(std::string* misfit) const;
  // Returns which host has not reached which one though the exchanges of both
  // run since `since`; empty: none. `misfit`: see Check().
  std::string UnreachedSince(Deadline since, std::string* misfit) const;

  std::vector<Host> hosts_;  // In the order of the job's.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_HOSTS_PREFLIGHT_H_
