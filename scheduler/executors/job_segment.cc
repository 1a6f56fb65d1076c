#include "scheduler/executors/job_segment.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/queue/meeting_table.h"

namespace fgnn {
namespace {

// Number of crashes after which a batch is to blame. A single crash may be the
// machine's fault.
constexpr int kMostCrashes = 2;

}  // namespace

absl::StatusOr<std::unique_ptr<JobSegment>> JobSegment::Create(
    std::string job_id, const SegmentOptions& options) {
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<Segment> segment,
                        Segment::Create(options));
  std::unique_ptr<JobSegment> made(
      new JobSegment(std::move(job_id), std::move(segment)));
  FGNN_RETURN_IF_ERROR(made->SetCachePlan(made->cache_plan()));
  return made;
}

absl::StatusOr<std::unique_ptr<JobSegment>> JobSegment::TakeOver(
    std::string job_id, UniqueFd fd, UniqueFd table) {
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<Segment> segment,
                        Segment::Attach(std::move(fd), HashString(job_id)));
  std::unique_ptr<JobSegment> taken(
      new JobSegment(std::move(job_id), std::move(segment)));
  const CachePlan plan = taken->cache_plan();
  {
    const MutexLock lock(&taken->mutex_);
    taken->last_number_ = plan.table;
    if (taken->table_.TakeOver(std::move(table), plan, taken->options())) {
      return taken;
    }
  }
  FGNN_RETURN_IF_ERROR(taken->SetCachePlan(plan));
  return taken;
}

JobSegment::JobSegment(std::string job_id, std::unique_ptr<Segment> segment)
    : job_id_(std::move(job_id)),
      segment_(std::move(segment)),
      queue_(segment_.get(), kNoOwner),
      board_(segment_.get(), kNoOwner),
      devices_(segment_.get()) {}

absl::Status JobSegment::SetCachePlan(CachePlan plan) {
  const MutexLock lock(&mutex_);
  plan.table = 0;
  if (options().shared_row_bytes > 0 && plan.rank_order_key != 0 &&
      plan.rows > 0) {
    if (!table_.Fits(plan)) {
      plan.table = last_number_ + 1;
      FGNN_RETURN_IF_ERROR(table_.Make(plan, options()));
      last_number_ = plan.table;
    }
    plan.table = table_.number();
  } else {
    table_ = JobHotTable();  // Trainers that have it mapped free the pages.
  }
  segment_->SetCachePlan(plan);
  return absl::OkStatus();
}

std::optional<uint64_t> JobSegment::HoldVersion() {
  if (!holder_.has_value()) {
    const absl::StatusOr<OwnerIndex> owner = TakeOwner();
    if (!owner.ok()) return std::nullopt;
    holder_index_ = *owner;
    holder_.emplace(segment_.get(), *owner);
  }
  held_ = holder_->HoldVersion();
  if (!held_.has_value()) {
    LetVersionGo();
    return std::nullopt;
  }
  return held_->new_version() - 1;
}

void JobSegment::LetVersionGo() {
  held_.reset();
  if (!holder_.has_value()) return;
  holder_.reset();
  ReleaseOwner(holder_index_);
}

absl::StatusOr<uint64_t> JobSegment::OpenScratch(
    const ChunkDivision& division) {
  UniqueFd scratch(
      ::memfd_create("fgnn-scratch", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  // The seal keeps every process from taking pages away from processes that
  // have the memory mapped.
  if (!scratch.valid() ||
      ::fcntl(scratch.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    return ErrnoToStatus(errno, "make shared memory for an evaluation");
  }
  if (division.is_divided()) {
    FGNN_RETURN_IF_ERROR(WriteChunkDivision(scratch.get(), division));
  }
  const MutexLock lock(&mutex_);
  scratch_ = {std::move(scratch), ++last_number_};
  return scratch_.number;
}

void JobSegment::CloseScratch() {
  const MutexLock lock(&mutex_);
  scratch_.fd.Reset();
}

absl::StatusOr<UniqueFd> JobSegment::Scratch(uint64_t number) {
  const MutexLock lock(&mutex_);
  if (number != 0 && number == table_.number()) return table_.Descriptor();
  if (!scratch_.fd.valid() || number != scratch_.number) {
    return absl::NotFoundError(absl::StrCat("shared memory ", number,
                                            " of job ", job_id_, " is closed"));
  }
  UniqueFd copy = Duplicate(scratch_.fd.get());
  if (!copy.valid()) return ErrnoToStatus(errno, "hand over shared memory");
  return copy;
}

uint64_t JobSegment::touched_bytes() const { return TouchedBytes(fd()); }

uint64_t JobSegment::scratch_bytes() const {
  const MutexLock lock(&mutex_);
  return TouchedBytes(scratch_.fd.get());
}

uint64_t JobSegment::table_bytes() const {
  const MutexLock lock(&mutex_);
  return table_.bytes();
}

absl::StatusOr<OwnerIndex> JobSegment::TakeOwner() {
  const MutexLock lock(&mutex_);
  for (uint32_t tried = 0; tried < kMaxOwners; ++tried) {
    last_ = static_cast<OwnerIndex>(PlainIndex(last_) % kMaxOwners + 1);
    if (taken_[PlainIndex(last_)]) continue;
    taken_[PlainIndex(last_)] = true;
    return last_;
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("job ", job_id_, ": all ", kMaxOwners,
                   " owner indices of its segment are taken"));
}

void JobSegment::ReleaseOwner(OwnerIndex owner) {
  const MutexLock lock(&mutex_);
  taken_[PlainIndex(owner)] = false;
}

JobSegment::Reclaimed JobSegment::ReclaimDead(OwnerIndex owner, bool crashed) {
  Reclaimed reclaimed;
  const std::vector<BatchPart> held = queue_.ReclaimSlotsOf(owner);
  reclaimed.slots = static_cast<uint32_t>(held.size());
  if (crashed) {
    const MutexLock lock(&mutex_);
    // Trainers hold the other parts of the same batch nearly always. So a part
    // is counted alone: two deaths with two parts say nothing of either.
    for (const BatchPart& task : held) {
      const int crashes = ++crashes_[segment_->shape().NumberOf(task)];
      const bool is_named =
          !reclaimed.poison.empty() && reclaimed.poison.back() == task.seq;
      if (crashes >= kMostCrashes && !is_named) {
        reclaimed.poison.push_back(task.seq);
      }
    }
  }
  reclaimed.lease = board_.ReclaimLeaseOf(owner);
  MeetingTable(segment_.get(), kNoOwner).ReclaimPlaceOf(owner);
  {
    const MutexLock lock(&mutex_);
    reclaimed.chunks = table_.ReclaimChunksOf(owner);
  }
  // The slices come last: the daemon that takes the next one finds all that the
  // dead one held.
  devices_.table().ReclaimSlicesOf(owner);
  ReleaseOwner(owner);
  return reclaimed;
}

uint32_t JobSegment::ReclaimAllBut(const std::vector<OwnerIndex>& living) {
  {
    const MutexLock lock(&mutex_);
    for (const OwnerIndex owner : living) taken_[PlainIndex(owner)] = true;
  }
  uint32_t slots = 0;
  for (uint32_t owner = 1; owner <= kMaxOwners; ++owner) {
    const auto index = static_cast<OwnerIndex>(owner);
    if (std::find(living.begin(), living.end(), index) != living.end()) {
      continue;
    }
    slots += ReclaimDead(index, /*crashed=*/false).slots;
  }
  return slots;
}

}  // namespace fgnn
