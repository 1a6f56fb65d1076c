#include "scheduler/run/hosts/member_loop.h"

#include <chrono>
#include <utility>

#include "absl/memory/memory.h"
#include "scheduler/run/hosts/member_dataset.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/threads/exceptions.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// Time between two calls of a head that does not answer.
constexpr std::chrono::milliseconds kCallAgainAfter{200};

// Returns whether the head will give the same answer again.
bool IsRefusal(const absl::Status& status) {
  return absl::IsInvalidArgument(status) ||
         absl::IsFailedPrecondition(status) || absl::IsAlreadyExists(status) ||
         absl::IsPermissionDenied(status) || absl::IsUnauthenticated(status);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MemberLoop>> MemberLoop::Start(
    MemberFacts facts, HeadCall head, const JobEnvironment& environment) {
  auto loop = absl::WrapUnique(
      new MemberLoop(std::move(facts), std::move(head), environment));
  const absl::Status joined = loop->ReportOnce();
  if (IsRefusal(joined)) return joined;
  if (joined.ok()) {
    LogInfo("joined the head as {}", loop->facts_.name);
  } else {
    LogWarning("the head does not answer: {}; it is called again",
               MessageOf(joined));
  }
  MemberLoop* const raw = loop.get();
  loop->works_ = Thread("member-work", [raw] { raw->Work(); });
  loop->reports_ = Thread("member-report", [raw, is_there = joined.ok()] {
    raw->ReportOften(is_there);
  });
  return loop;
}

MemberLoop::MemberLoop(MemberFacts facts, HeadCall head,
                       const JobEnvironment& environment)
    : facts_(std::move(facts)),
      head_(std::move(head)),
      environment_(environment),
      logs_(environment.host->options().state_dir) {
  environment_.memory = &memory_;
}

MemberLoop::~MemberLoop() {
  {
    const MutexLock lock(&mutex_);
    is_ending_ = true;
    changed_.NotifyAll();
  }
  // So the head knows it before the daemons are gone. A head that does not
  // answer finds out by itself.
  reports_.Join();
  MemberReport last = {.facts = facts_, .leaves = true};
  const absl::Status told = head_(last).status();
  if (!told.ok()) LogInfo("the head was not told: {}", MessageOf(told));
}

absl::Status MemberLoop::ReportOnce() {
  MemberReport report = {.facts = facts_};
  {
    const MutexLock lock(&mutex_);
    report.job = told_;
    report.revision = orders_.revision;
  }
  report.log = logs_.Next();
  FGNN_ASSIGN_OR_RETURN(MemberOrders orders, head_(report));
  if (report.log.has_value() && orders.log_bytes.has_value()) {
    logs_.NoteTaken(report.log->name, *orders.log_bytes);
  }
  const MutexLock lock(&mutex_);
  if (orders.revision == report.revision) return absl::OkStatus();
  orders_ = std::move(orders);
  changed_.NotifyAll();
  return absl::OkStatus();
}

// A head that is gone ends nothing here: the job stays open as far as it was.
void MemberLoop::ReportOften(bool is_there) {
  while (true) {
    const absl::Status reported = ReportOnce();
    if (reported.ok() != is_there) {
      is_there = reported.ok();
      if (is_there) LogInfo("the head answers again");
      if (!is_there) {
        LogWarning(
            "the head {}: {}; it is called again",
            IsRefusal(reported) ? "refuses this host" : "does not answer",
            MessageOf(reported));
      }
    }
    MutexLock lock(&mutex_);
    const Deadline again =
        reported.ok() ? Deadline::min() : DeadlineIn(kCallAgainAfter);
    changed_.WaitUntil(&lock, again, [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return is_ending_;
    });
    if (is_ending_) return;
  }
}

void MemberLoop::Work() {
  uint64_t done = 0;  // Attempt that has ended here.
  while (true) {
    std::optional<MemberJobOrder> order;
    {
      MutexLock lock(&mutex_);
      changed_.WaitUntil(
          &lock, DeadlineIn(kTick), [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
            return is_ending_ ||
                   (orders_.job.has_value() && orders_.job->attempt() != done);
          });
      if (is_ending_) return;
      if (!orders_.job.has_value()) {
        told_.reset();
        done = 0;
      }
      if (orders_.job.has_value() && orders_.job->attempt() != done) {
        order = orders_.job;
      }
    }
    if (!order.has_value()) continue;
    const LogJob about(order->job_id);
    RunJob(*order);
    done = order->attempt();
  }
}

void MemberLoop::RunJob(const MemberJobOrder& order) {
  LogInfo("job {}: takes part as {}", order.job_id, facts_.name);
  const absl::Status ended = CatchExceptions([&] { return RunOrdered(order); });
  if (WorkOf(order.attempt()).ok()) {
    LogError("job {}: {}", order.job_id, MessageOf(ended));
    Tell(order, {.error = ended});
    return;
  }
  LogInfo("job {}: let go", order.job_id);
  const MutexLock lock(&mutex_);
  told_.reset();
}

absl::Status MemberLoop::RunOrdered(const MemberJobOrder& order) {
  Tell(order, {});
  MemberJobOrder here = order;
  const PathRules* const paths = environment_.paths;
  FGNN_ASSIGN_OR_RETURN(here.spec.dataset,
                        FindDatasetHere(paths == nullptr ? PathRules() : *paths,
                                        order.spec.dataset));
  MemberRun run(here, environment_, [this, attempt = order.attempt()] {
    return WorkOf(attempt).status();
  });
  const auto tell = [&](bool is_prepared) {
    Tell(order, {.is_prepared = is_prepared,
                 .findings = run.findings(),
                 .executors = run.executors()});
  };
  FGNN_RETURN_IF_ERROR(
      run.Prepare([&] { tell(/*is_prepared=*/false); },
                  [&] { return AskOrderOf(order.attempt()); }));
  while (true) {
    tell(/*is_prepared=*/true);
    FGNN_ASSIGN_OR_RETURN(const MemberJobOrder work, WorkOf(order.attempt()));
    if (work.evaluation.has_value()) {
      FGNN_RETURN_IF_ERROR(run.Evaluate(*work.evaluation, [&] {
        const absl::StatusOr<MemberJobOrder> now = WorkOf(order.attempt());
        return now.ok() && now->evaluation.has_value() &&
               now->evaluation->number == work.evaluation->number;
      }));
    }
    FGNN_RETURN_IF_ERROR(run.Follow(work.openings));
  }
}

absl::StatusOr<MemberJobOrder> MemberLoop::OrderOf(uint64_t attempt) const {
  if (is_ending_ || !orders_.job.has_value() ||
      orders_.job->attempt() != attempt) {
    return absl::CancelledError("the head does not order it any more");
  }
  return *orders_.job;
}

absl::StatusOr<MemberJobOrder> MemberLoop::WorkOf(uint64_t attempt) {
  const MutexLock lock(&mutex_);
  return OrderOf(attempt);
}

absl::StatusOr<MemberJobOrder> MemberLoop::AskOrderOf(uint64_t attempt) {
  MutexLock lock(&mutex_);
  changed_.WaitUntil(
      &lock, DeadlineIn(kTick), [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        const absl::StatusOr<MemberJobOrder> order = OrderOf(attempt);
        return !order.ok() || order->has_places();
      });
  return OrderOf(attempt);
}

void MemberLoop::Tell(const MemberJobOrder& order, MemberJobReport report) {
  report.job_id = order.job_id;
  report.attempt = order.attempt();
  const MutexLock lock(&mutex_);
  told_ = std::move(report);
}

}  // namespace fgnn
