// The other hosts of a run: the head prepares them, opens epochs on them, and
// lets them go.
#ifndef FGNN_SCHEDULER_RUN_HOSTS_RUN_HOSTS_H_
#define FGNN_SCHEDULER_RUN_HOSTS_RUN_HOSTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/members/member_messages.h"
#include "scheduler/run/hosts/preflight.h"
#include "scheduler/run/run_context.h"
#include "shared/executors/chunk_division.h"

namespace fgnn {

// Returns how the run's hosts divide an evaluation, as this one sees it.
ChunkDivision DivisionOf(const RunContext& run, uint64_t evaluation);

// kHost: no further step can be made. kRows: nor can a trainer read some rows
// of features, which that host alone has.
enum class HostLoss : uint8_t { kNone, kHost, kRows };

// For a job of one host no function does anything. Not thread-safe: for the
// job's thread.
class RunHosts {
 public:
  // Borrows the run, which is the head's. Take() and TakeOver() ask
  // `keep_going`.
  RunHosts(RunContext* run, KeepGoing keep_going)
      : run_(*run), keep_going_(std::move(keep_going)) {}

  // Gives the hosts to the job. If one has gone meanwhile, it counts as lost,
  // and the error is that of `keep_going`.
  absl::Status Take();
  // Orders the hosts to measure, and waits for that. This host has measured.
  // Returns what each host of the job has found, for one host what this one
  // has. Errors as those of WaitUntilPrepared().
  absl::StatusOr<std::vector<HostFindings>> Measure();
  // Orders the hosts to prepare. Does not wait for them. `dataset_content`: see
  // ValidatedDataset; `first_version`: see SegmentOptions.
  void Prepare(uint64_t dataset_content, uint64_t first_version);
  // Waits until all hosts have prepared and reach each other, or one is lost.
  // Errors as those of Check() and of `keep_going`.
  absl::Status WaitUntilPrepared();
  // Goes on with hosts that have the job since before this scheduler started.
  // Waits a minute at most for those that have not joined yet. If one does not
  // have the job any more, it counts as lost. Errors are those of `keep_going`.
  absl::Status TakeOver(uint64_t dataset_content, uint64_t first_version);
  // Tells the hosts how far the job is open.
  void Open(const MemberOpening& opening);
  // Scores as JobEvaluation does: the newest weights on all hosts where
  // hosts.evaluation wants that and none is lost, else on this one alone.
  absl::StatusOr<Evaluation> Evaluate(const std::string& checkpoint,
                                      const std::vector<std::string>& splits);
  // Returns OK if the hosts have the rows of all vertices between them, as far
  // as they have told. Else the job lets go of its devices and waits for more
  // hosts, with the error of `keep_going`. FailedPrecondition: it may not have
  // more.
  absl::Status CheckRows();
  // Returns OK while the hosts work. Else returns why one cannot go on; the
  // message names the host. A host that is lost, or that the job can go on
  // without, is no error: loss() tells it.
  absl::Status Check();
  // What the run lacks since a host has gone that was ordered to prepare.
  HostLoss loss() const { return loss_; }
  // Takes the job from the hosts. They let go of it by themselves.
  void Release();

 private:
  bool are_others() const { return run_.hosts.size() > 1; }
  MemberTable& members() const { return *run_.environment.members; }
  JobHosts HostsFor(uint32_t self) const;
  // Begins an attempt, unless one has begun.
  void Begin(uint64_t dataset_content);
  // `has_places`: whether the hosts are told their places, and so go on.
  void OrderAll(bool has_places = true);
  // Says once who evaluates, and why.
  bool DoAllEvaluate();
  void SetPeers();
  // Waits for the hosts of a run that was taken over.
  absl::Status WaitForJoins();
  void TakeFindings(const std::string& host, const HostFindings& findings);
  void SayWhoIsUnreached();
  // Lets the job go on without a host that has this error. Returns the error if
  // too few hosts would be left.
  absl::Status LeaveOutIfMay(const std::string& host, const absl::Status& why);
  // Returns whether all hosts are prepared. Notes a host that is lost. Returns
  // the error of a host that cannot go on.
  absl::StatusOr<bool> ArePrepared();
  // `host`: which host is lost; empty: another one than was ordered to prepare.
  void NoteLoss(const absl::Status& why, const std::string& host = "");

  RunContext& run_;
  const KeepGoing keep_going_;
  uint64_t attempt_ = 0;  // Number of this run; 0: nothing was ordered.
  uint64_t dataset_content_ = 0;
  uint64_t first_version_ = 0;
  std::vector<MemberOpening> openings_;         // See MemberJobOrder.
  std::optional<MemberEvaluation> evaluation_;  // See MemberJobOrder.
  uint64_t num_evaluations_ = 0;  // Evaluations by all hosts so far.
  // Whether all hosts evaluate; nullopt: it was not chosen yet.
  std::optional<bool> do_all_evaluate_;
  HostLoss loss_ = HostLoss::kNone;
  Preflight preflight_ = Preflight({});
  std::string
      unreached_;  // What clients were told of hosts that are not reached.
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_RUN_HOSTS_RUN_HOSTS_H_
