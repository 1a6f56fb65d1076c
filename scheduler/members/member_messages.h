// What a member reports to the head, and what it is ordered.
#ifndef FGNN_SCHEDULER_MEMBERS_MEMBER_MESSAGES_H_
#define FGNN_SCHEDULER_MEMBERS_MEMBER_MESSAGES_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/executors/executor_view.h"
#include "shared/config/job_spec.h"
#include "shared/device/device.h"
#include "shared/executors/executor_messages.h"
#include "shared/graph/host_rows.h"
#include "shared/measured/host_reach.h"
#include "shared/measured/profiles.h"

namespace fgnn {

struct MemberFacts {
  std::string name;      // Name of the host.
  std::string exchange;  // Where other hosts reach its exchange: HOST:PORT.
  std::string version;   // Version of the program.
  uint32_t segment_layout_version = 0;
  std::vector<Device> devices = {};  // As the member names them.
  uint64_t generation = 0;  // Another one for each start of its scheduler.
};

// What a host finds out about itself while it prepares a job.
struct HostFindings {
  Arithmetic arithmetic = {};  // Its kind is empty: not known yet.
  // Which other hosts of the job its exchange reaches; none of a host that was
  // not tried yet.
  std::vector<HostReach> reaches = {};
  // Batches of the job that its devices sample and train in a second, known
  // with `arithmetic`; 0: not known.
  double batches_per_second = 0;
  // Which rows of the features its dataset has; nullopt: not known yet.
  std::optional<HostRows> rows = std::nullopt;

  bool has_measured() const { return !arithmetic.kind.empty(); }
};

// The executors of a job on one host.
struct HostExecutors {
  std::vector<ExecutorView> views = {};
  uint32_t restarts = 0;  // Number of times that they were started again.
  // Unix seconds, by the host's clock, at which MonotonicNanoseconds() was 0
  // there. The times of their batches count from then.
  double clock_start = 0;
};

struct MemberJobReport {
  std::string job_id = {};
  uint64_t attempt = 0;
  bool is_prepared = false;  // Whether its daemons are attached.
  absl::Status error = {};   // Why it failed; OK: it did not.
  HostFindings findings = {};
  HostExecutors executors = {};
};

// Bytes of the log of a member's daemon.
struct LogPart {
  std::string name;     // Name of the log: "sampler.0".
  uint64_t offset = 0;  // Number of the log's bytes before them.
  std::string bytes;
};

struct MemberReport {
  MemberFacts facts;
  bool leaves = false;  // Whether the member ends, and reports no more.
  // nullopt: it has none.
  std::optional<MemberJobReport> job = std::nullopt;
  uint64_t revision = 0;  // Revision of the orders that it has; 0: none.
  // nullopt: the head has all of the logs.
  std::optional<LogPart> log = std::nullopt;
};

// How far an epoch is open.
struct MemberOpening {
  uint64_t sampling_limit = 0;  // Batches below it may be sampled.
  // Steps [first_step, training_limit) may be made, at this factor of the
  // learning rate. The first one is the epoch's.
  uint64_t first_step = 0;
  uint64_t training_limit = 0;
  double rate_factor = 1;
};

// An evaluation by all hosts of the job.
struct MemberEvaluation {
  uint64_t number = 0;   // Another one for each evaluation; never 0.
  uint64_t version = 0;  // Version of the weights after which it comes.
  std::vector<std::string> splits = {};
};

struct MemberJobOrder {
  std::string job_id;
  JobSpec spec = {};  // Effective spec of the whole job.
  // No host has places: the member measures, and waits for an order with them.
  JobHosts hosts = {};
  uint64_t dataset_content = 0;  // See ValidatedDataset.
  uint64_t first_version = 0;    // See SegmentOptions.
  // The open epoch, and before it the one before: a member may be an epoch
  // behind the head, and no further. Empty: nothing is open.
  std::vector<MemberOpening> openings = {};
  // The evaluation that is under way; nullopt: there is none.
  std::optional<MemberEvaluation> evaluation = std::nullopt;

  uint64_t attempt() const { return hosts.attempt; }
  bool has_places() const {
    return std::any_of(hosts.all.begin(), hosts.all.end(),
                       [](const JobHost& host) { return host.num_places > 0; });
  }
};

struct MemberOrders {
  uint64_t revision = 0;  // Other orders have another revision; never 0.
  // nullopt: the member is to have none.
  std::optional<MemberJobOrder> job = std::nullopt;
  // Bytes that the head has of the log of the report; nullopt: it took none.
  std::optional<uint64_t> log_bytes = std::nullopt;
};

// Reports to the head, and returns the orders in force. If their revision is
// that of the report, they have no job and are as before. Returns within some
// seconds. Any thread, one call at a time.
using HeadCall =
    std::function<absl::StatusOr<MemberOrders>(const MemberReport& report)>;

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_MEMBERS_MEMBER_MESSAGES_H_
