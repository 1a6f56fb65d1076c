#include "trainer_service/exchange/exchange_job.h"

#include <chrono>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"
#include "trainer_service/exchange/first_weights.h"

namespace fgnn {
namespace {

// A loop looks whether it is stopped, and tells the other host of this host's
// version again, once in that time.
constexpr std::chrono::milliseconds kRound{500};

std::vector<uint32_t> IndicesOf(const std::vector<OtherHost>& hosts) {
  std::vector<uint32_t> indices;
  for (const OtherHost& host : hosts) indices.push_back(host.index);
  return indices;
}

}  // namespace

absl::StatusOr<std::vector<OtherHost>> OthersOf(const JobHosts& hosts,
                                                const SegmentOptions& segment) {
  if (hosts.self >= hosts.all.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("an exchange cannot be host ", hosts.self, " of ",
                     hosts.all.size(), " hosts"));
  }
  std::vector<OtherHost> others;
  uint64_t places = 0;
  for (uint32_t i = 0; i < hosts.all.size(); ++i) {
    const JobHost& host = hosts.all[i];
    if (i != hosts.self) {
      others.push_back({.index = i,
                        .name = host.name,
                        .first_place = places,
                        .num_places = host.num_places});
    } else if (places != segment.places_before) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the hosts before ", host.name, " have ", places,
          " places of a step, by its segment ", segment.places_before));
    }
    places += host.num_places;
  }
  const JobHost& self = hosts.all[hosts.self];
  if (places != segment.batches_per_step) {
    return absl::InvalidArgumentError(
        absl::StrCat("the hosts have ", places, " places of a step, by the ",
                     "segment of ", self.name, " ", segment.batches_per_step));
  }
  if (self.num_places != segment.own_places()) {
    return absl::InvalidArgumentError(absl::StrCat(
        self.name, " has ", self.num_places,
        " places of a step, by its segment ", segment.own_places()));
  }
  if (hosts.all.size() != segment.num_hosts) {
    return absl::InvalidArgumentError(
        absl::StrCat("the job has ", hosts.all.size(),
                     " hosts, by its segment ", segment.num_hosts));
  }
  return others;
}

absl::StatusOr<std::unique_ptr<ExchangeJob>> ExchangeJob::Start(
    ExchangeJobOptions options, std::unique_ptr<HostLinks> links,
    std::unique_ptr<Segment> segment, BoardSeat* seat) {
  const absl::StatusOr<std::vector<OtherHost>> others =
      OthersOf(options.hosts, segment->options());
  FGNN_RETURN_IF_ERROR(
      Annotate(others.status(), absl::StrCat("job ", options.job_id)));
  std::unique_ptr<ExchangeJob> job = absl::WrapUnique(new ExchangeJob(
      std::move(options), std::move(links), std::move(segment), seat, *others));
  for (const std::unique_ptr<Loop>& loop : job->loops_) {
    FGNN_ASSIGN_OR_RETURN(
        loop->thread,
        Thread::Start("fgnn-follow",
                      [raw = job.get(), one = loop.get()] { raw->Run(*one); }));
  }
  return job;
}

ExchangeJob::ExchangeJob(ExchangeJobOptions options,
                         std::unique_ptr<HostLinks> links,
                         std::unique_ptr<Segment> segment, BoardSeat* seat,
                         const std::vector<OtherHost>& others)
    : options_(std::move(options)),
      links_(std::move(links)),
      segment_(std::move(segment)),
      seat_(seat),
      versions_(segment_.get(), IndicesOf(others)) {
  for (const OtherHost& other : others) {
    loops_.push_back(absl::WrapUnique(new Loop{
        other,
        HostFollower(segment_.get(), options_.owner, links_.get(), other)}));
  }
  seat_->Put({.job_id = options_.job_id,
              .attempt = options_.hosts.attempt,
              .segment = segment_.get(),
              .versions = &versions_,
              .rows = options_.rows.get()});
}

ExchangeJob::~ExchangeJob() {
  Stop();
  seat_->Clear();
}

void ExchangeJob::Stop() {
  stopped_.Notify();
  seat_->Cancel();
}

uint64_t ExchangeJob::progress() const {
  std::vector<uint64_t> progress;
  for (const std::unique_ptr<Loop>& loop : loops_) {
    progress.push_back(loop->progress.load(std::memory_order_relaxed));
  }
  return rounds_.Look(progress);
}

void ExchangeJob::Run(Loop& loop) {
  const absl::Status status = Follow(loop);
  const bool is_stopped = absl::IsCancelled(status);
  if (!status.ok() && !is_stopped && !has_failed_.exchange(true)) {
    LogError("job {}: {}; it cannot go on here", options_.job_id,
             MessageOf(status));
    options_.on_failure(status);
  }
  // The daemon belongs to the job until the scheduler detaches it. The
  // heartbeat goes on until then, and other hosts are served.
  while (!stopped_.WaitUntil(DeadlineIn(kTick))) {
    loop.progress.fetch_add(1, std::memory_order_relaxed);
  }
}

void ExchangeJob::Reach(Loop& loop) {
  const auto is_stopped = [&] {
    loop.progress.fetch_add(1, std::memory_order_relaxed);
    return stopped_.HasBeenNotified();
  };
  const std::string address = options_.hosts.all[loop.host.index].exchange;
  while (!is_stopped()) {
    const absl::StatusOr<LinkQuality> probed =
        links_->Probe(loop.host.index, is_stopped);
    if (is_stopped()) return;
    const bool is_news = reaches_.Note(loop.host.index, probed);
    if (probed.ok()) {
      return LogInfo("reaches {} at {}: {:.2f} ms, {:.0f} MB/s", loop.host.name,
                     address, probed->round_trip_seconds * 1e3,
                     probed->bytes_per_second / 1e6);
    }
    if (is_news) {
      LogWarning("cannot reach {} at {}: {}; it is called again",
                 loop.host.name, address, MessageOf(probed.status()));
    }
    stopped_.WaitUntil(DeadlineIn(kTick));
  }
}

bool ExchangeJob::HasBegun() const {
  return GradientBoard(segment_.get(), kNoOwner).version().value_or(0) >
         segment_->options().first_version;
}

absl::Status ExchangeJob::Follow(Loop& loop) {
  // All hosts reached each other before the first step. An exchange that is
  // started again does not let the others wait for a measurement.
  if (!HasBegun()) Reach(loop);
  // The head's trainers load them from a checkpoint.
  if (options_.hosts.self != 0) FGNN_RETURN_IF_ERROR(FetchWeights(loop));
  bool is_through = false;
  while (!is_through && !stopped_.HasBeenNotified()) {
    loop.progress.fetch_add(1, std::memory_order_relaxed);
    FGNN_ASSIGN_OR_RETURN(is_through, FollowOnce(loop.follower));
  }
  return absl::OkStatus();
}

absl::Status ExchangeJob::FetchWeights(Loop& loop) {
  GradientBoard board(segment_.get(), kNoOwner);
  while (NeedsFirstWeights(segment_.get())) {
    loop.progress.fetch_add(1, std::memory_order_relaxed);
    const uint32_t seen = board.changes();
    const absl::Status fetched = FetchFirstWeights(
        segment_.get(), options_.owner, links_.get(), loop.host.index, [&] {
          loop.progress.fetch_add(1);
          return stopped_.HasBeenNotified();
        });
    if (!absl::IsUnavailable(fetched)) FGNN_RETURN_IF_ERROR(fetched);
    // A trainer may load them. A host that does not have them is asked again.
    if (!fetched.ok() && stopped_.WaitUntil(DeadlineIn(kTick))) break;
    FGNN_RETURN_IF_ERROR(board.WaitForChange(seen, MonotonicClock::now()));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> ExchangeJob::FollowOnce(HostFollower& follower) {
  const uint64_t entries = follower.num_entries();
  const uint64_t breaks = follower.num_breaks();
  absl::StatusOr<bool> is_through = follower.Follow(DeadlineIn(kRound));
  entries_ += follower.num_entries() - entries;
  if (options_.totals != nullptr) {
    options_.totals->entries += follower.num_entries() - entries;
    options_.totals->breaks += follower.num_breaks() - breaks;
  }
  return is_through;
}

}  // namespace fgnn
