#include "scheduler/host/job_executors.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/exceptions.h"
#include "shared/base/notification.h"
#include "shared/base/status.h"
#include "shared/base/thread.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr milliseconds kTick{100};
constexpr minutes kAttachTimeout{10};  // A trainer fills its cache.
constexpr seconds kDetachTimeout{15};
constexpr seconds kKillTimeout{10};
// Calls of one kind that are lost to deaths before the job is given up; the
// restart limit usually comes first.
constexpr int kMaxLostCalls = 10;

const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& status_or) {
  return status_or.status();
}

// The job's sampler 3 owns overflow block 3, whoever that is.
std::optional<uint32_t> OverflowBlockOf(const AttachTicket& ticket,
                                        const SegmentOptions& options) {
  if (ticket.role != ExecutorRole::kSampler ||
      ticket.number >= options.num_overflow_blocks) {
    return std::nullopt;
  }
  return ticket.number;
}

}  // namespace

std::optional<SplitScore> Evaluation::ScoreOf(const std::string& split) const {
  for (const SplitScore& score : scores) {
    if (score.split == split && score.num_vertices > 0) return score;
  }
  return std::nullopt;
}

JobExecutors::JobExecutors(DaemonHost* host, ExecutorCalls* calls,
                           ExecutorsOfJob job, KeepGoing keep_going)
    : host_(host),
      calls_(calls),
      job_(std::move(job)),
      keep_going_(std::move(keep_going)),
      dataset_{.state = 0, .content = job_.dataset_content, .warning = ""},
      complete_(MonotonicClock::now()) {}

JobExecutors::~JobExecutors() { Release(); }

absl::Status JobExecutors::WaitForSurvivors() {
  while (!host_->WaitForSurvivors(DeadlineIn(kTick))) {
    FGNN_RETURN_IF_ERROR(keep_going_());
  }
  return absl::OkStatus();
}

absl::Status JobExecutors::Start() {
  // Before that it is not known where they are, and so who is in the way.
  FGNN_RETURN_IF_ERROR(WaitForSurvivors());
  complete_ = MonotonicClock::now();
  has_daemons_ = true;
  // A segment that is there by now is one to go on with.
  const bool goes_on = segment_ != nullptr;
  return host_->Want(
      job_.job_id, job_.placements, job_.restarts,
      goes_on ? segment_->devices().lost() : std::vector<uint32_t>());
}

absl::StatusOr<JobSegment*> JobExecutors::FindKeptSegment() {
  FGNN_RETURN_IF_ERROR(WaitForSurvivors());
  std::optional<UniqueFd> fd = host_->ReturnedSegment(job_.job_id);
  if (!fd.has_value()) return nullptr;
  absl::StatusOr<std::unique_ptr<JobSegment>> segment =
      JobSegment::TakeOver(job_.job_id, *std::move(fd));
  if (!segment.ok()) {
    LogWarning("job {}: {}", job_.job_id, MessageOf(segment.status()));
    return nullptr;
  }
  segment_ = *std::move(segment);
  return segment_.get();
}

absl::Status JobExecutors::TakeOver() {
  FGNN_RETURN_IF_ERROR(Start());
  host_->TakeOverSegment(segment_.get());
  return Tick();
}

absl::Status JobExecutors::MayGoOn() {
  FGNN_RETURN_IF_ERROR(keep_going_());
  return host_->Failure(job_.job_id);
}

absl::Status JobExecutors::WaitUntilRegistered() {
  while (!host_->WaitUntilRegistered(job_.job_id, DeadlineIn(kTick))) {
    FGNN_RETURN_IF_ERROR(Tick());
  }
  return absl::OkStatus();
}

absl::Status JobExecutors::Tick() {
  FGNN_RETURN_IF_ERROR(MayGoOn());
  const Deadline now = MonotonicClock::now();
  const std::vector<std::string> missing = host_->Unregistered(job_.job_id);
  if (missing.empty()) {
    complete_ = now;
  } else if (now - complete_ >= host_->options().register_within * 2) {
    const std::string why = absl::StrCat(
        absl::StrJoin(missing, ", "), " did not register within ",
        std::chrono::duration_cast<seconds>(now - complete_).count(), " s");
    if (!host_->LoseUnregistered(job_.job_id, why)) {
      return absl::UnavailableError(
          absl::StrCat(why, "; start it, or lower samplers and trainers"));
    }
  }
  const std::vector<std::string> attachable = host_->Attachable(job_.job_id);
  if (attachable.empty()) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(const bool as_before, IsDatasetAsBefore());
  if (!as_before) return absl::OkStatus();
  for (const std::string& name : attachable) {
    FGNN_RETURN_IF_ERROR(Attach(name));
  }
  return absl::OkStatus();
}

absl::Status JobExecutors::Attach(const std::string& name) {
  const absl::StatusOr<AttachTicket> ticket =
      host_->BeginAttach(job_.job_id, name);
  if (absl::IsNotFound(ticket.status())) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(ticket.status());
  const DaemonAddress& daemon = ticket->daemon;
  for (const std::string& job_id : host_->options().interrupted_jobs) {
    // An answer other than OK shows in the attach that follows.
    calls_
        ->Detach(daemon.socket, job_id,
                 {.timeout = kDetachTimeout, .keep_going = keep_going_})
        .IgnoreError();
  }
  const absl::Status status = calls_->Attach(
      daemon.socket,
      {.job_id = job_.job_id,
       .spec_bytes = job_.spec_bytes,
       .owner = ticket->owner,
       .overflow_block = OverflowBlockOf(*ticket, segment_->options()),
       .scheduler_generation = host_->options().generation,
       .device = ticket->number},
      {.timeout = kAttachTimeout, .keep_going = [this] { return MayGoOn(); }});
  if (status.ok()) {
    host_->EndAttach(*ticket);
    LogInfo("attached {} to job {} as owner {}", name, job_.job_id,
            ticket->owner);
    return absl::OkStatus();
  }
  FGNN_RETURN_IF_ERROR(MayGoOn());
  if (IsLost(status) || absl::IsDeadlineExceeded(status)) {
    // Its state is unknown, so it is ended; another one takes its place.
    LogWarning("attach {}: {}", name, MessageOf(status));
    host_->Kill(daemon, "did not answer AttachJob");
    return absl::OkStatus();
  }
  return Annotate(status, name);
}

absl::StatusOr<std::vector<DaemonAddress>> JobExecutors::WaitForSome(
    ExecutorRole role, bool attached) {
  while (true) {
    FGNN_RETURN_IF_ERROR(Tick());
    std::vector<DaemonAddress> found = host_->Find(job_.job_id, role, attached);
    if (!found.empty()) return found;
    host_->WaitUntilRegistered(job_.job_id, DeadlineIn(kTick));
  }
}

template <typename Result>
Result JobExecutors::CallAny(
    ExecutorRole role, bool attached,
    const std::function<Result(const DaemonAddress&)>& call) {
  pid_t unreachable = 0;  // It lived on after the call before.
  for (int lost = 0;; ++lost) {
    FGNN_ASSIGN_OR_RETURN(const std::vector<DaemonAddress> daemons,
                          WaitForSome(role, attached));
    Result result = call(daemons.front());
    if (StatusOf(result).ok()) return result;
    FGNN_RETURN_IF_ERROR(
        AfterLoss(daemons.front(), StatusOf(result), lost, &unreachable));
  }
}

absl::Status JobExecutors::AfterLoss(const DaemonAddress& daemon,
                                     const absl::Status& status, int lost,
                                     pid_t* unreachable) {
  if (!IsLost(status) || lost >= kMaxLostCalls) {
    FGNN_RETURN_IF_ERROR(MayGoOn());
    return Annotate(status, daemon.name);
  }
  LogWarning("{} was lost on the way: {}; trying again", daemon.name,
             MessageOf(status));
  // Usually it died. One that lives and cannot be reached twice is of no use:
  // its socket may have been removed.
  if (host_->WaitUntilGone(daemon, DeadlineIn(seconds(1)))) {
    return absl::OkStatus();
  }
  if (daemon.pid == *unreachable) host_->Kill(daemon, "cannot be reached");
  *unreachable = daemon.pid;
  return absl::OkStatus();
}

absl::Status JobExecutors::CallTogether(
    size_t count, const std::function<void(size_t, const KeepGoing&)>& call,
    const KeepGoing& goes_on) {
  absl::Status stopped;
  std::atomic<bool> is_over = false;
  const KeepGoing keep_going = [&is_over]() -> absl::Status {
    if (!is_over) return absl::OkStatus();
    return absl::CancelledError("the job does not go on");
  };
  // All there are before a thread looks at one.
  std::vector<Notification> done(count);
  std::vector<absl::Status> thrown(count);
  std::vector<Thread> threads;
  for (size_t i = 0; i < count; ++i) {
    absl::StatusOr<Thread> thread = Thread::Start("fgnn-call", [&, i] {
      thrown[i] = CatchExceptions([&] {
        call(i, keep_going);
        return absl::OkStatus();
      });
      if (!thrown[i].ok()) is_over = true;
      done[i].Notify();
    });
    if (thread.ok()) {
      threads.push_back(*std::move(thread));
      continue;
    }
    stopped.Update(thread.status());
    is_over = true;
    done[i].Notify();
  }
  for (Notification& notification : done) {
    while (!notification.WaitUntil(DeadlineIn(kTick))) {
      stopped.Update(goes_on());
      if (!stopped.ok()) is_over = true;
    }
  }
  for (const absl::Status& status : thrown) stopped.Update(status);
  return stopped;
}

// For job_dataset_check.cc and job_ranking.cc.
template absl::StatusOr<ValidatedDataset> JobExecutors::CallAny(
    ExecutorRole, bool,
    const std::function<
        absl::StatusOr<ValidatedDataset>(const DaemonAddress&)>&);
template absl::Status JobExecutors::CallAny(
    ExecutorRole, bool,
    const std::function<absl::Status(const DaemonAddress&)>&);
template absl::StatusOr<RankedVertices> JobExecutors::CallAny(
    ExecutorRole, bool,
    const std::function<absl::StatusOr<RankedVertices>(const DaemonAddress&)>&);

absl::StatusOr<SamplingProfile> JobExecutors::ProfileSampling(
    uint32_t num_batches) {
  return CallAny<absl::StatusOr<SamplingProfile>>(
      ExecutorRole::kSampler, /*attached=*/false,
      [&](const DaemonAddress& sampler) {
        return calls_->ProfileSampling(
            sampler.socket, job_.spec_bytes, num_batches,
            {.timeout = kLongCall, .keep_going = [this] { return MayGoOn(); }});
      });
}

absl::StatusOr<TrainingProfile> JobExecutors::ProfileTraining(
    const std::vector<HopSize>& hops) {
  return CallAny<absl::StatusOr<TrainingProfile>>(
      ExecutorRole::kTrainer, /*attached=*/false,
      [&](const DaemonAddress& trainer) {
        return calls_->ProfileTraining(
            trainer.socket, job_.spec_bytes, hops,
            {.timeout = kLongCall, .keep_going = [this] { return MayGoOn(); }});
      });
}

absl::Status JobExecutors::OpenSegment(const SegmentOptions& options) {
  FGNN_ASSIGN_OR_RETURN(segment_, JobSegment::Create(job_.job_id, options));
  host_->OpenSegment(segment_.get());
  return absl::OkStatus();
}

absl::Status JobExecutors::SaveCheckpoint(const std::filesystem::path& path,
                                          uint64_t version,
                                          uint32_t epochs_done,
                                          const std::string& run_state) {
  const SaveCheckpointCall request = {.job_id = job_.job_id,
                                      .path = path,
                                      .version = version,
                                      .epochs_done = epochs_done,
                                      .run_state = run_state};
  return CallAny<absl::Status>(
      ExecutorRole::kTrainer, /*attached=*/true,
      [&](const DaemonAddress& trainer) {
        return calls_->SaveCheckpoint(
            trainer.socket, request,
            {.timeout = kLongCall, .keep_going = [this] { return Tick(); }});
      });
}

absl::StatusOr<CheckpointProfile> JobExecutors::DescribeCheckpoint(
    const std::filesystem::path& path) {
  return CallAny<absl::StatusOr<CheckpointProfile>>(
      ExecutorRole::kTrainer, /*attached=*/false,
      [&](const DaemonAddress& trainer) {
        return calls_->DescribeCheckpoint(
            trainer.socket, path,
            {.timeout = kLongCall, .keep_going = [this] { return MayGoOn(); }});
      });
}

absl::Status JobExecutors::LoadCheckpoint(const std::filesystem::path& path) {
  return CallAny<absl::Status>(
      ExecutorRole::kTrainer, /*attached=*/true,
      [&](const DaemonAddress& trainer) {
        return calls_->LoadCheckpoint(
            trainer.socket, job_.job_id, path,
            {.timeout = kLongCall, .keep_going = [this] { return Tick(); }});
      });
}

void JobExecutors::Release() {
  if (segment_ != nullptr) LetGoOfSegment();
  // Once: the job may have been started again by then.
  if (std::exchange(has_daemons_, false)) host_->Leave(job_.job_id);
}

void JobExecutors::LetGoOfSegment() {
  segment_->queue().Stop();
  for (const DaemonAddress& daemon : host_->AttachedDaemons(job_.job_id)) {
    const absl::Status status =
        calls_->Detach(daemon.socket, job_.job_id,
                       {.timeout = kDetachTimeout, .keep_going = nullptr});
    if (status.ok()) {
      host_->EndDetach(daemon);
    } else {
      LogWarning("detach {}: {}", daemon.name, MessageOf(status));
      host_->Kill(daemon, "did not let go of its job");
    }
  }
  if (!host_->WaitUntilDetached(job_.job_id, DeadlineIn(kKillTimeout))) {
    LogError("job {}: a killed daemon has not ended yet", job_.job_id);
  }
  host_->CloseSegment(job_.job_id);
  segment_.reset();
}

}  // namespace fgnn
