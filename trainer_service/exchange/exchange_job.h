// A job over several hosts, as the exchange of one of them works for it.
#ifndef FGNN_TRAINER_SERVICE_EXCHANGE_EXCHANGE_JOB_H_
#define FGNN_TRAINER_SERVICE_EXCHANGE_EXCHANGE_JOB_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shared/base/threads/loop_rounds.h"
#include "shared/base/threads/notification.h"
#include "shared/base/threads/thread.h"
#include "shared/base/types.h"
#include "shared/executors/executor_messages.h"
#include "shared/queue/segment.h"
#include "shared/queue/segment_options.h"
#include "shared/rpc/job_seat.h"
#include "trainer_service/exchange/board_seat.h"
#include "trainer_service/exchange/entry_source.h"
#include "trainer_service/exchange/host_follower.h"
#include "trainer_service/exchange/host_links.h"
#include "trainer_service/exchange/reaches.h"
#include "trainer_service/features/hosts/served_rows.h"

namespace fgnn {

// Returns the hosts beside `hosts.self`, with their places of a step.
// InvalidArgument: there are no hosts, or their places are not those of the
// segment.
absl::StatusOr<std::vector<OtherHost>> OthersOf(const JobHosts& hosts,
                                                const SegmentOptions& segment);

// What an exchange has done for all its jobs.
struct ExchangeTotals {
  std::atomic<uint64_t> entries = 0;  // Entries that came from other hosts.
  std::atomic<uint64_t> breaks = 0;   // See HostFollower::num_breaks().
  SentRows rows;  // Rows of features that were sent to other hosts.
};

struct ExchangeJobOptions {
  std::string job_id;
  OwnerIndex owner = kNoOwner;
  JobHosts hosts;
  // Rows that are served to other hosts.
  std::shared_ptr<const ServedRows> rows = nullptr;
  ExchangeTotals* totals = nullptr;  // Borrowed; null: nothing is added up.
  // Called once, on a loop's thread, when the job cannot go on here.
  std::function<void(const absl::Status&)> on_failure;
};

// Probes each other host, then follows it, on a thread of its own, until the
// job is stopped, or
// fails here, or the host's entries are all here. Serves the board to the other
// hosts until it is stopped. Thread-safe.
class ExchangeJob : public ExecutorJob {
 public:
  // Starts at once. `seat`, which is empty, is borrowed. Errors: those of
  // OthersOf(). Internal: the system starts no further thread.
  static absl::StatusOr<std::unique_ptr<ExchangeJob>> Start(
      ExchangeJobOptions options, std::unique_ptr<HostLinks> links,
      std::unique_ptr<Segment> segment, BoardSeat* seat);
  // Calls Stop(), then waits for the loops, and for calls of other hosts.
  ~ExchangeJob() override;
  ExchangeJob(const ExchangeJob&) = delete;
  ExchangeJob& operator=(const ExchangeJob&) = delete;

  // Ends the loops within half a second, and calls of other hosts soon.
  void Stop() override;
  uint64_t progress() const override;
  // Returns the number of entries that came from other hosts.
  uint64_t batches() const override { return entries_; }
  // Returns which other hosts it reaches, as far as it knows by now.
  std::vector<HostReach> reaches() const { return reaches_.All(); }
  const JobHosts& hosts() const { return options_.hosts; }
  bool is_stopped() const { return stopped_.HasBeenNotified(); }

 private:
  struct Loop {
    OtherHost host;  // The host that is followed.
    HostFollower follower;
    std::atomic<uint64_t> progress = 0;
    Thread thread = {};  // Last: it uses the fields above.
  };

  ExchangeJob(ExchangeJobOptions options, std::unique_ptr<HostLinks> links,
              std::unique_ptr<Segment> segment, BoardSeat* seat,
              const std::vector<OtherHost>& others);
  void Run(Loop& loop);
  absl::Status Follow(Loop& loop);
  // Returns whether the job has made a step here.
  bool HasBegun() const;
  // Probes the loop's host until it is reached, or the job is stopped.
  void Reach(Loop& loop);
  // Gets the weights that the job goes on from from the loop's host, unless
  // they are here by now.
  absl::Status FetchWeights(Loop& loop);
  // Follows for a round. Returns as HostFollower::Follow().
  absl::StatusOr<bool> FollowOnce(HostFollower& follower);

  const ExchangeJobOptions options_;
  const std::unique_ptr<HostLinks> links_;
  const std::unique_ptr<Segment> segment_;
  BoardSeat* const seat_;
  OthersVersions versions_;
  Reaches reaches_;
  std::atomic<uint64_t> entries_ = 0;
  std::atomic<bool> has_failed_ = false;
  mutable LoopRounds rounds_;
  Notification stopped_;
  // Last: their threads use the fields above.
  std::vector<std::unique_ptr<Loop>> loops_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_EXCHANGE_EXCHANGE_JOB_H_
