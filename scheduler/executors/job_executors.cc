#include "scheduler/executors/job_executors.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "scheduler/executors/shortage_wait.h"
#include "scheduler/planning/placement.h"
#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr minutes kAttachTimeout{10};  // A trainer fills its cache meanwhile.
constexpr seconds kDetachTimeout{15};
constexpr seconds kKillTimeout{10};
// Part of the time to register that a job waits before it says so.
constexpr int kUntold = 12;

// Returns the first of the overflow blocks that a sampler owns, one for each
// part of a batch. The job's sampler number 3 owns those from 3 P on, whichever
// daemon it is.
std::optional<uint32_t> OverflowBlockOf(const AttachTicket& ticket,
                                        const SegmentOptions& options) {
  const uint64_t first = ticket.number * options.parts;
  if (ticket.role != ExecutorRole::kSampler ||
      first >= options.num_overflow_blocks) {
    return std::nullopt;
  }
  return static_cast<uint32_t>(first);
}

// Returns the `missing` daemons, given as "sampler.0 on cpu:0", in one text.
// Where there is a `start_command` (HostTerms), each has its own behind it:
// "sampler.0 on cpu:0 ('systemctl start fgnn-sampler@cpu:0')". `views` are the
// job's daemons.
std::string DescribeMissing(const std::vector<std::string>& missing,
                            const std::vector<ExecutorView>& views,
                            const std::string& start_command) {
  std::vector<std::string> items;
  for (const ExecutorView& view : views) {
    const ExecutorPlacement& placement = view.placement;
    std::string item =
        absl::StrCat(placement.name, " on ", placement.device.name);
    if (std::find(missing.begin(), missing.end(), item) == missing.end()) {
      continue;
    }
    if (!start_command.empty()) {
      absl::StrAppend(
          &item, " ('",
          absl::StrReplaceAll(start_command,
                              {{"{role}", std::string(NameOf(placement.role))},
                               {"{device}", placement.device.name}}),
          "')");
    }
    items.push_back(std::move(item));
  }
  return absl::StrJoin(items, ", ");
}

}  // namespace

JobExecutors::JobExecutors(std::unique_ptr<JobDaemons> daemons,
                           ExecutorCalls* calls, ExecutorsOfJob job,
                           KeepGoing keep_going)
    : daemons_(std::move(daemons)),
      caller_(daemons_.get(), calls, std::move(job), std::move(keep_going),
              [this] { return Tick(); }),
      dataset_check_(&caller_),
      complete_(MonotonicClock::now()) {}

JobExecutors::~JobExecutors() { Release(); }

absl::Status JobExecutors::WaitForSurvivors() {
  while (!daemons_->WaitForSurvivors(DeadlineIn(kTick))) {
    FGNN_RETURN_IF_ERROR(caller_.KeepsGoing());
  }
  return absl::OkStatus();
}

absl::Status JobExecutors::Start() {
  // Until survivors have registered, it is not known which devices they use.
  FGNN_RETURN_IF_ERROR(WaitForSurvivors());
  complete_ = MonotonicClock::now();
  // A segment that exists by now was kept by an earlier scheduler's daemons.
  const bool goes_on = segment_ != nullptr;
  return daemons_->Want(
      caller_.job().placements, caller_.job().spec.limits.restarts,
      goes_on ? segment_->devices().lost() : std::vector<uint32_t>());
}

absl::StatusOr<JobSegment*> JobExecutors::FindKeptSegment() {
  FGNN_RETURN_IF_ERROR(WaitForSurvivors());
  std::optional<ReturnedMemory> returned = daemons_->TakeReturned();
  if (!returned.has_value()) return nullptr;
  const std::string& job_id = caller_.job().job_id;
  absl::StatusOr<std::unique_ptr<JobSegment>> segment = JobSegment::TakeOver(
      job_id, std::move(returned->segment), std::move(returned->table));
  if (!segment.ok()) {
    LogWarning("job {}: {}", job_id, MessageOf(segment.status()));
    return nullptr;
  }
  segment_ = *std::move(segment);
  return segment_.get();
}

absl::Status JobExecutors::TakeOver(JobHosts hosts) {
  hosts_ = std::move(hosts);
  FGNN_RETURN_IF_ERROR(Start());
  daemons_->TakeOverSegment(segment_.get());
  return Tick();
}

absl::Status JobExecutors::WaitUntilRegistered() {
  while (!daemons_->Unregistered(DeadlineIn(kTick)).empty()) {
    FGNN_RETURN_IF_ERROR(Tick());
  }
  return absl::OkStatus();
}

absl::StatusOr<ValidatedDataset> JobExecutors::ValidateDataset() {
  return dataset_check_.Validate();
}

absl::Status JobExecutors::OpenSegment(const SegmentOptions& options,
                                       JobHosts hosts) {
  hosts_ = std::move(hosts);
  FGNN_ASSIGN_OR_RETURN(segment_,
                        JobSegment::Create(caller_.job().job_id, options));
  daemons_->OpenSegment(segment_.get());
  return absl::OkStatus();
}

absl::Status JobExecutors::Tick() {
  FGNN_RETURN_IF_ERROR(caller_.MayGoOn());
  FGNN_RETURN_IF_ERROR(LoseTheOverdue());
  const std::vector<std::string> attachable = daemons_->Attachable();
  if (attachable.empty()) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(const bool as_before, dataset_check_.IsAsBefore());
  if (!as_before) return absl::OkStatus();
  for (const std::string& name : attachable) {
    FGNN_RETURN_IF_ERROR(Attach(name));
  }
  return absl::OkStatus();
}

absl::Status JobExecutors::LoseTheOverdue() {
  const Deadline now = MonotonicClock::now();
  const std::vector<std::string> missing = daemons_->Unregistered(now);
  if (missing.empty()) {
    complete_ = now;
    waiting_for_.clear();
    return absl::OkStatus();
  }
  const HostTerms& terms = daemons_->terms();
  const auto longest = terms.register_within * 2;
  if (now - complete_ < terms.register_within / kUntold) {
    return absl::OkStatus();
  }
  const std::string daemons =
      DescribeMissing(missing, daemons_->Views(), terms.start_command);
  if (now - complete_ < longest) {
    waiting_for_ = absl::StrCat(
        "waits at most ", std::chrono::duration_cast<seconds>(longest).count(),
        " s for ", daemons);
    return absl::OkStatus();
  }
  const std::string why = absl::StrCat(
      daemons, " did not register within ",
      std::chrono::duration_cast<seconds>(now - complete_).count(), " s");
  if (daemons_->LoseUnregistered(why)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(why, "; start it, or lower samplers and trainers"));
}

absl::Status JobExecutors::Attach(const std::string& name) {
  const absl::StatusOr<AttachTicket> ticket = daemons_->BeginAttach(name);
  if (absl::IsNotFound(ticket.status())) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(ticket.status());
  absl::Status status = CallAttach(*ticket);
  ShortageWait wait(caller_.job().job_id, absl::StrCat("attaching ", name),
                    caller_.job().clock, [this] { return caller_.MayGoOn(); });
  // What is missing on a GPU does not come back by itself: it is told at once.
  while (absl::IsResourceExhausted(status) &&
         ticket->daemon.device.kind == DeviceKind::kCpu) {
    status = wait.BeforeNextTry(status);
    if (!status.ok()) break;
    status = CallAttach(*ticket);
  }
  if (status.ok()) {
    daemons_->EndAttach(*ticket);
    LogInfo("attached {} to job {} as owner {}", name, caller_.job().job_id,
            PlainIndex(ticket->owner));
    return absl::OkStatus();
  }
  FGNN_RETURN_IF_ERROR(caller_.MayGoOn());
  if (ExecutorCaller::IsLost(status) || absl::IsDeadlineExceeded(status)) {
    // The daemon's state is unknown, so it is killed and another one is
    // started.
    LogWarning("attach {}: {}", name, MessageOf(status));
    daemons_->Kill(ticket->daemon, "did not answer AttachJob");
    return absl::OkStatus();
  }
  return Annotate(status, name);
}

absl::Status JobExecutors::CallAttach(const AttachTicket& ticket) {
  ExecutorCalls& calls = caller_.calls();
  const std::string& socket = ticket.daemon.socket;
  // The daemon may still be in a segment that this scheduler did not take over.
  for (const std::string& job_id : daemons_->terms().interrupted_jobs) {
    FGNN_RETURN_IF_ERROR(calls.Detach(
        socket, job_id, {.timeout = kDetachTimeout, .keep_going = [this] {
                           return caller_.KeepsGoing();
                         }}));
  }
  FGNN_RETURN_IF_ERROR(caller_.Open(ticket.daemon));
  return calls.Attach(
      socket,
      {.job_id = caller_.job().job_id,
       .owner = ticket.owner,
       .overflow_block = OverflowBlockOf(ticket, segment_->options()),
       .scheduler_generation = daemons_->terms().generation,
       .device = ticket.number,
       .hosts = hosts_},
      {.timeout = kAttachTimeout,
       .keep_going = [this] { return caller_.MayGoOn(); }});
}

void JobExecutors::Release() {
  if (segment_ != nullptr) LetGoOfSegment();
  daemons_->Leave();
}

void JobExecutors::LetGoOfSegment() {
  segment_->queue().Stop();
  const std::string& job_id = caller_.job().job_id;
  for (const DaemonAddress& daemon : daemons_->Attached()) {
    const absl::Status status = caller_.calls().Detach(
        daemon.socket, job_id,
        {.timeout = kDetachTimeout, .keep_going = nullptr});
    if (status.ok()) {
      daemons_->EndDetach(daemon);
    } else {
      LogWarning("detach {}: {}", daemon.name, MessageOf(status));
      daemons_->Kill(daemon, "did not let go of its job");
    }
  }
  if (!daemons_->WaitUntilDetached(DeadlineIn(kKillTimeout))) {
    LogError("job {}: a killed daemon has not ended yet", job_id);
  }
  daemons_->CloseSegment();
  segment_.reset();
}

}  // namespace fgnn
