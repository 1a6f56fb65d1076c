// Compares what the hosts of a job have found out about themselves, before the
// job trains.
#ifndef FGNN_SCHEDULER_RUN_HOSTS_PREFLIGHT_H_
#define FGNN_SCHEDULER_RUN_HOSTS_PREFLIGHT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/members/member_messages.h"

namespace fgnn {

// Not thread-safe.
class Preflight {
 public:
  explicit Preflight(const JobHosts& hosts);

  // Takes the newest findings of the host of this name, which is one of the
  // job's. Any of them may be missing yet.
  void Take(const std::string& host, const HostFindings& findings);
  // FailedPrecondition, naming two hosts, what each has found and the way out:
  // they cannot train this job together.
  absl::Status Check() const;

 private:
  struct Host {
    JobHost host;
    HostFindings findings = {};
  };

  // The findings of all hosts whose trainers have measured.
  absl::Status CheckArithmetic() const;

  std::vector<Host> hosts_;  // In the order of the job's.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_HOSTS_PREFLIGHT_H_
