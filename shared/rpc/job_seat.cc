#include "shared/rpc/job_seat.h"

#include <chrono>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr std::chrono::seconds kLongestSeatWait{1};

}  // namespace

absl::StatusOr<bool> JobSeat::Reserve(const AttachJobRequest& attachment) {
  const MutexLock lock(&mutex_);
  // A repeated call. One of another scheduler speaks of another segment.
  if (attachment_.job_id == attachment.job_id &&
      attachment_.scheduler_generation == attachment.scheduler_generation) {
    return false;
  }
  if (!attachment_.job_id.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        daemon_, " is attached to job ", attachment_.job_id,
        " by scheduler generation ", attachment_.scheduler_generation,
        "; detach it before job ", attachment.job_id));
  }
  if (attachment.scheduler_generation < least_generation_) {
    return absl::FailedPreconditionError(
        absl::StrCat("scheduler generation ", attachment.scheduler_generation,
                     " has been succeeded"));
  }
  reserved_ = true;
  SetLogJob(attachment.job_id);
  return true;
}

void JobSeat::Take(const AttachJobRequest& attachment,
                   std::unique_ptr<ExecutorJob> job, UniqueFd segment) {
  const MutexLock lock(&mutex_);
  job_ = std::move(job);
  attachment_ = attachment;
  segment_ = std::move(segment);
  reserved_ = false;
}

std::unique_ptr<ExecutorJob> JobSeat::BeginToLeave() {
  MutexLock lock(&mutex_);
  if (job_ == nullptr) return nullptr;
  leaving_ = true;
  job_->Stop();
  while (!unused_.WaitUntil(&lock, DeadlineIn(kLongestSeatWait),
                            [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                              return num_users_ == 0;
                            })) {
    LogInfo("waiting for {} calls to end", num_users_);
  }
  before_.batches += job_->batches();
  before_.progress += job_->progress();
  return std::move(job_);
}

void JobSeat::Free() {
  const MutexLock lock(&mutex_);
  reserved_ = false;
  if (job_ != nullptr) return;
  attachment_ = {};
  SetLogJob("");
  segment_.Reset();
  leaving_ = false;
}

bool JobSeat::IsOf(const std::string& job_id) const {
  const MutexLock lock(&mutex_);
  return attachment_.job_id == job_id;
}

void JobSeat::Stop() {
  const MutexLock lock(&mutex_);
  if (job_ != nullptr) job_->Stop();
}

std::optional<absl::Status> JobSeat::Use(
    const std::string& job_id,
    absl::FunctionRef<absl::Status(ExecutorJob&)> use) {
  ExecutorJob* job = nullptr;
  {
    const MutexLock lock(&mutex_);
    if (job_ == nullptr || leaving_ || attachment_.job_id != job_id) {
      return std::nullopt;
    }
    job = job_.get();
    ++num_users_;
  }
  const absl::Cleanup end = [this] {
    const MutexLock lock(&mutex_);
    --num_users_;
    unused_.NotifyAll();
  };
  return use(*job);
}

absl::StatusOr<std::optional<JobStanding>> JobSeat::Standing(
    uint64_t generation) {
  const MutexLock lock(&mutex_);
  if (reserved_ || leaving_) {
    return absl::UnavailableError(
        absl::StrCat("a job is being ", reserved_ ? "attached" : "left"));
  }
  least_generation_ = generation + 1;
  if (job_ == nullptr) return std::nullopt;
  return JobStanding{attachment_.job_id, attachment_.owner, attachment_.device,
                     Duplicate(segment_.get()), job_->SharedTable()};
}

WorkReport JobSeat::Report() const {
  const MutexLock lock(&mutex_);
  WorkReport report = before_;
  // While the daemon leaves a job, its loops end, but calls may still use the
  // job.
  report.working = job_ != nullptr && !leaving_;
  if (job_ != nullptr) {
    report.progress += job_->progress();
    report.batches += job_->batches();
    report.evaluated_permille = job_->evaluated_permille();
  }
  return report;
}

}  // namespace fgnn
