// The members of a service, as the head knows them.
#ifndef FGNN_SCHEDULER_MEMBERS_MEMBER_TABLE_H_
#define FGNN_SCHEDULER_MEMBERS_MEMBER_TABLE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/members/host_pairs.h"
#include "scheduler/members/member_messages.h"
#include "shared/base/clock.h"
#include "shared/base/threads/mutex.h"

namespace fgnn {

struct MemberTerms {
  MemberFacts head;  // Facts about the head's own host.
  // Ids of the jobs that an earlier scheduler left running. A member keeps such
  // a job until its run takes it over or leaves it, for a minute at most.
  std::vector<std::string> interrupted_jobs = {};
  // Silence after which a member counts as lost.
  std::chrono::milliseconds lost_after{5'000};
  std::function<Deadline()> clock = MonotonicClock::now;
};

// A member as users see it.
struct MemberView {
  MemberFacts facts;
  std::string job_id;         // Id of the job that has it; empty: none.
  bool is_lost = false;       // Whether it has left, or is silent for too long.
  bool has_left = false;      // Whether it has said that it leaves.
  double silent_seconds = 0;  // Seconds since it was heard last.
};

// Thread-safe. A member that is lost stays in the table.
class MemberTable {
 public:
  explicit MemberTable(MemberTerms terms);

  const MemberFacts& head() const { return terms_.head; }
  // The links between the hosts, as far as jobs have measured them.
  HostPairs& pairs() { return pairs_; }
  const HostPairs& pairs() const { return pairs_; }

  // ---- For rpc/.

  // Takes a member's report, and returns its orders once their revision is not
  // that of the report, or at the deadline. FailedPrecondition: the member has
  // another version of the program or of segments. AlreadyExists: another host
  // has its name. InvalidArgument: its name is none.
  absl::StatusOr<MemberOrders> Report(const MemberReport& report,
                                      Deadline deadline);
  // Notes that a call of the member broke. The member counts as lost unless it
  // reports again within 750 ms.
  void NoteBreak(const std::string& name);
  std::vector<MemberView> Views() const;
  // InvalidArgument: one of the devices is of a host that never joined, or that
  // has not lent it.
  absl::Status CheckHosts(const std::vector<Device>& devices) const;

  // ---- For the run of a job.

  // Gives the job all these members, or none of them. NotFound: one has not
  // joined, or is lost. Unavailable: another job has one. The message names the
  // host.
  absl::Status Take(const std::string& job_id,
                    const std::vector<std::string>& names);
  // Returns the facts of a member that the job has.
  MemberFacts FactsOf(const std::string& name) const;
  // Sets what the member is ordered; it belongs to the job of the order.
  void Order(const std::string& name, MemberJobOrder order);
  // Returns what the member reported of this job and attempt; nullopt: nothing
  // yet. Unavailable: it is lost, or its scheduler has started again since the
  // order.
  absl::StatusOr<std::optional<MemberJobReport>> ReportOf(
      const std::string& name, const std::string& job_id,
      uint64_t attempt) const;
  // Returns the attempt of the job that the member has; nullopt: it does not
  // have the job.
  std::optional<uint64_t> AttemptOf(const std::string& name,
                                    const std::string& job_id) const;
  // Takes the job from all members that have it, or were left with it.
  void Leave(const std::string& job_id);

 private:
  struct Member {
    MemberFacts facts;
    Deadline heard;
    bool has_left = false;
    std::string taken_by;  // Id of the job that has it; empty: none.
    MemberOrders orders;
    std::optional<MemberJobReport> report;
    // Time until which it keeps a job that an earlier scheduler of the head
    // ordered; nullopt: it has no such job.
    std::optional<Deadline> keeps_until;
  };

  absl::Status CheckFacts(const MemberFacts& facts) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsLost(const Member& member) const {
    return member.has_left || terms_.clock() - member.heard > terms_.lost_after;
  }
  // Returns the names of all members, with commas.
  std::string Names() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetOrder(Member& member, std::optional<MemberJobOrder> order)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives first orders to a member whose scheduler has just started, or the
  // head's own.
  void Begin(Member& member, const MemberReport& report)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const MemberTerms terms_;
  HostPairs pairs_;
  mutable Mutex mutex_;
  CondVar changed_;  // Signals other orders.
  std::map<std::string, Member> members_ ABSL_GUARDED_BY(mutex_);  // By name.
  // Revisions of each start of the head are others.
  uint64_t last_revision_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_MEMBERS_MEMBER_TABLE_H_
