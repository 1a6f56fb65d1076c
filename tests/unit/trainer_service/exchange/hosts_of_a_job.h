// The hosts of a job in one process, each with a segment and actors of its own.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_EXCHANGE_HOSTS_OF_A_JOB_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_EXCHANGE_HOSTS_OF_A_JOB_H_

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/threads/thread.h"
#include "tests/unit/shared/queue/exact_job.h"
#include "tests/unit/trainer_service/exchange/fake_host_links.h"
#include "trainer_service/exchange/host_follower.h"

namespace fgnn {

inline constexpr OwnerIndex kSampler{1};
inline constexpr OwnerIndex kTrainer{2};
inline constexpr OwnerIndex kExchange{3};

// The hosts of a job: a segment each, with a sampler, a trainer, and followers
// of the others.
class Hosts {
 public:
  // Makes the links of host `self`.
  using LinksMaker = std::function<std::unique_ptr<HostLinks>(uint32_t self)>;

  // `shares` are the hosts' numbers of places; they sum to W.
  // Without `links`, the links are fakes with this fault.
  Hosts(const SegmentOptions& options, const std::vector<uint64_t>& shares,
        const EntryFault& fault = {}, const LinksMaker& links = {}) {
    std::vector<OtherHost> all;
    uint64_t first = 0;
    for (const uint64_t share : shares) {
      SegmentOptions own = options;
      own.num_hosts = shares.size();
      own.places_before = first;
      own.places_after = options.batches_per_step - first - share;
      segments_.push_back(MakeSegment(own));
      const auto index = static_cast<uint32_t>(all.size());
      all.push_back({.index = index,
                     .name = absl::StrCat("host", index),
                     .first_place = first,
                     .num_places = share});
      first += share;
    }
    for (uint32_t host = 0; host < shares.size(); ++host) {
      Segment* const segment = segments_[host].get();
      std::vector<uint32_t> others;
      for (const OtherHost& other : all) {
        if (other.index != host) others.push_back(other.index);
      }
      far_.push_back({segment, &versions_.emplace_back(segment, others)});
      links_.push_back(
          links ? links(host)
                : std::make_unique<FakeHostLinks>(host, &far_, fault));
      GlobalQueue(segment, kNoOwner)
          .OpenForSampling(segment->shape().num_batches());
      GradientBoard(segment, kNoOwner)
          .OpenForTraining(StepNumber(segment->shape().num_steps()));
      Host& made = hosts_.emplace_back(
          Host{.segment = segment,
               .sampler = GlobalQueue(segment, kSampler, /*overflow_block=*/0),
               .trainer = GlobalQueue(segment, kTrainer),
               .board = GradientBoard(segment, kTrainer)});
      for (const OtherHost& other : all) {
        if (other.index == host) continue;
        made.followers.emplace_back(segment, kExchange, links_.back().get(),
                                    other);
      }
    }
  }

  size_t size() const { return hosts_.size(); }
  size_t num_actors() const { return 2 + hosts_.front().followers.size(); }
  Segment* segment(size_t host) { return hosts_[host].segment; }
  OthersVersions* versions(size_t host) { return &versions_[host]; }
  uint64_t num_breaks() const {
    uint64_t breaks = 0;
    for (const Host& host : hosts_) {
      for (const HostFollower& one : host.followers) breaks += one.num_breaks();
    }
    return breaks;
  }

  // Lets one actor of a host do what it can, and wait until the deadline.
  // Returns whether the actor has no work left in this job, or an error.
  absl::StatusOr<bool> Act(size_t host, size_t actor,
                           Deadline deadline = NoWait()) {
    Host& of = hosts_[host];
    const SegmentOptions& options = of.segment->options();
    if (actor >= 2) return of.followers[actor - 2].Follow(deadline);
    const uint32_t seen = of.board.changes();
    FGNN_ASSIGN_OR_RETURN(const Turn turn,
                          actor == 0
                              ? SamplerTurn(&of.sampler, NoWait())
                              : TrainerTurn(&of.trainer, &of.board, options));
    if (turn == Turn::kNothingToDo) {
      FGNN_RETURN_IF_ERROR(of.board.WaitForChange(seen, deadline));
    }
    return actor == 0 || turn == Turn::kFinished;
  }

  bool AreDone() {
    for (Host& host : hosts_) {
      if (host.board.version() != LastVersion(host.segment->options())) {
        return false;
      }
    }
    return true;
  }

 private:
  struct Host {
    Segment* segment;
    GlobalQueue sampler;
    GlobalQueue trainer;
    GradientBoard board;
    std::deque<HostFollower> followers = {};
  };

  std::vector<std::unique_ptr<Segment>> segments_;
  std::deque<OthersVersions> versions_;
  std::vector<FakeFarHost> far_;
  std::vector<std::unique_ptr<HostLinks>> links_;
  std::deque<Host> hosts_;
};

// 10 batches an epoch in steps of 4, 4 and 2: some hosts have no batch in the
// last step of an epoch.
inline SegmentOptions StepsOfFour() {
  SegmentOptions options = SmallOptions();
  options.batches_per_step = 4;
  return options;
}

// Actors of a host without its followers.
inline constexpr size_t kSamplerAndTrainer = 2;

// Runs the first actors of all hosts to the job's end, each in a thread.
inline void RunInThreads(Hosts& hosts, size_t num_actors) {
  const Deadline end = FarDeadline();
  std::vector<Thread> threads;
  for (size_t host = 0; host < hosts.size(); ++host) {
    for (size_t actor = 0; actor < num_actors; ++actor) {
      const auto act = [&hosts, host, actor, end] {
        while (!hosts.AreDone()) {
          ASSERT_LT(MonotonicClock::now(), end) << "the job does not end";
          FGNN_ASSERT_OK(hosts.Act(host, actor, DeadlineIn(kTick)).status());
        }
      };
      threads.push_back(Thread::Start("actor", act).value());
    }
  }
}
inline void RunInThreads(Hosts& hosts) {
  RunInThreads(hosts, hosts.num_actors());
}

// Expects that every host has the weights of one, and that each record of the
// last epoch names the host whose batch it is.
inline void ExpectResultsOfOne(Hosts& hosts) {
  for (size_t host = 0; host < hosts.size(); ++host) {
    ExpectExactResult(hosts.segment(host));
    const GradientBoard board(hosts.segment(host), kNoOwner);
    const JobShape& shape = hosts.segment(host)->shape();
    const uint64_t in_epoch = hosts.segment(host)->options().batches_per_epoch;
    for (BatchSeq seq = shape.num_batches() - in_epoch;
         seq < shape.num_batches(); ++seq) {
      for (size_t of = 0; of < hosts.size(); ++of) {
        if (!hosts.segment(of)->shape().IsLocal(seq)) continue;
        EXPECT_EQ(board.record({seq})->other_host, of == host ? 0 : of + 1)
            << "batch " << seq.value() << " on host " << host;
      }
    }
  }
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_EXCHANGE_HOSTS_OF_A_JOB_H_
