#include "scheduler/run/hosts/member_run.h"

#include <memory>
#include <utility>

#include "scheduler/executors/job_evaluation.h"
#include "scheduler/executors/shortage_wait.h"
#include "scheduler/run/hosts/preflight.h"
#include "scheduler/run/hosts/run_hosts.h"
#include "scheduler/run/prepare_run.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/queue/job_shape.h"

namespace fgnn {
namespace {

// Returns the job of the order, as far as a member knows it.
Job JobOf(const MemberJobOrder& order) {
  Job job;
  job.id = order.job_id;
  job.spec = std::make_shared<const JobSpec>(order.spec);
  job.progress.dataset_content = order.dataset_content;
  return job;
}

}  // namespace

void OpenAsOrdered(const std::vector<MemberOpening>& openings,
                   JobSegment& segment) {
  const uint64_t version = segment.board().version().value_or(0);
  for (const MemberOpening& opening : openings) {
    segment.queue().OpenForSampling(BatchSeq(opening.sampling_limit));
    // Steps of an epoch before are made at that epoch's factor.
    if (version < opening.first_step) break;
    segment.SetRateFactor(opening.rate_factor);
    segment.board().OpenForTraining(StepNumber(opening.training_limit));
  }
}

MemberRun::MemberRun(const MemberJobOrder& order,
                     const JobEnvironment& environment, KeepGoing keep_going)
    : clock_start_(static_cast<double>(UnixMilliseconds()) * 1e-3 -
                   static_cast<double>(MonotonicNanoseconds()) * 1e-9),
      run_(JobOf(order), environment, std::move(keep_going),
           order.hosts.all[order.hosts.self].name),
      planner_(order.job_id, run_.spec, environment.host->options().state_dir),
      memory_(&run_) {}

MemberRun::~MemberRun() {
  run_.executors.Release();
  run_.environment.memory->Forget(run_.job.id);
}

absl::Status MemberRun::Prepare(absl::FunctionRef<void()> tell, AskOrder ask) {
  FGNN_RETURN_IF_ERROR(run_.executors.Start());
  FGNN_ASSIGN_OR_RETURN(run_.dataset, OpenDataset(run_));
  tell();  // Which rows it has.
  FGNN_RETURN_IF_ERROR(run_.executors.WaitUntilRegistered());
  FGNN_ASSIGN_OR_RETURN(PlanInput measured, MeasureExecutors(run_, planner_));
  tell();
  FGNN_RETURN_IF_ERROR(WaitForPlaces(ask));
  if (run_.peers.seeds.are_own()) {
    FGNN_RETURN_IF_ERROR(CheckSameBook(
        run_.peers.seeds, run_.dataset->validated.book, run_.spec.dataset));
  }
  FGNN_ASSIGN_OR_RETURN(SegmentOptions segment,
                        PlanSegment(run_, std::move(measured), memory_));
  FGNN_ASSIGN_OR_RETURN(segment.rank_order_key,
                        RankForCaches(run_, segment, [] {}));
  // The exchange gets the weights of that version from another host.
  segment.first_version = first_version_;
  FGNN_RETURN_IF_ERROR(AttachAll(run_, planner_, segment));
  return WaitForOthers(tell);
}

absl::Status MemberRun::WaitForPlaces(AskOrder ask) {
  while (true) {
    FGNN_ASSIGN_OR_RETURN(const MemberJobOrder order, ask());
    if (order.has_places()) {
      first_version_ = order.first_version;
      run_.peers = order.hosts;
      for (size_t i = 0; i < run_.hosts.size(); ++i) {
        run_.hosts[i].num_places = order.hosts.all[i].num_places;
      }
      return absl::OkStatus();
    }
    FGNN_RETURN_IF_ERROR(run_.executors.Tick());
  }
}

absl::Status MemberRun::WaitForOthers(absl::FunctionRef<void()> tell) {
  bool has_weights = false;
  while (true) {
    FGNN_RETURN_IF_ERROR(run_.executors.Tick());
    const bool does_reach_all = ReachesAll(run_.findings, run_.hosts.size());
    if (has_weights && does_reach_all) return absl::OkStatus();
    if (!does_reach_all) {
      FGNN_ASSIGN_OR_RETURN(run_.findings.reaches,
                            run_.executors.calls().ReadReach());
      tell();
    }
    // No step can be made yet, so that the next version is a tick's wait.
    const uint64_t awaited = first_version_ + (has_weights ? 1 : 0);
    FGNN_ASSIGN_OR_RETURN(const bool is_there, run_.board().WaitForVersion(
                                                   awaited, DeadlineIn(kTick)));
    has_weights = has_weights || is_there;
  }
}

absl::Status MemberRun::Evaluate(const MemberEvaluation& evaluation,
                                 const std::function<bool()>& is_ordered) {
  if (run_.board().version().value_or(0) < evaluation.version) {
    return absl::OkStatus();
  }
  const HostEvaluation over = {
      .division = DivisionOf(run_, evaluation.number),
      .goes_on = [&is_ordered]() -> absl::Status {
        if (is_ordered()) return absl::OkStatus();
        return absl::CancelledError("the evaluation is over");
      },
      .serves_others = true};
  ShortageWait wait(run_.job.id, "the evaluation", run_.environment.clock,
                    [&]() -> absl::Status {
                      FGNN_RETURN_IF_ERROR(over.goes_on());
                      return run_.executors.Tick();
                    });
  absl::Status ended;
  while (ended.ok()) {
    ended = wait.BeforeNextTry(run_.executors.evaluation()
                                   .Evaluate("", evaluation.splits, &over)
                                   .status());
  }
  return is_ordered() ? ended : absl::OkStatus();
}

absl::Status MemberRun::Follow(const std::vector<MemberOpening>& openings) {
  OpenAsOrdered(openings, run_.executors.segment());
  planner_.ReplanIfDevicesChanged();
  memory_.MeasureIfDue();
  FGNN_RETURN_IF_ERROR(run_.executors.Tick());
  GradientBoard& board = run_.board();
  const uint64_t version = board.version().value_or(0);
  const bool trains = version < board.training_limit().value();
  const Stopwatch watch;
  const absl::Status waited =
      board.WaitForVersion(version + 1, DeadlineIn(kTick)).status();
  epochs_.Follow(run_.executors.segment(), trains ? watch.Seconds() : 0);
  return waited;
}

}  // namespace fgnn
