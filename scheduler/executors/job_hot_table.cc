#include "scheduler/executors/job_hot_table.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

// A disk's queue runs empty at the end of each chunk, so chunks are large.
// There are enough of them for all threads of all trainers.
constexpr uint64_t kMostRowsPerChunk = 8192;
constexpr uint64_t kFewestRowsPerChunk = 64;
constexpr uint64_t kChunksOfASmallTable = 64;

HotTableShape ShapeFor(const CachePlan& plan, const SegmentOptions& options) {
  return {.job_key = options.job_key,
          .number = plan.table,
          .rank_order_key = plan.rank_order_key,
          .rows = plan.rows,
          .row_bytes = options.shared_row_bytes,
          .rows_per_chunk = std::clamp(plan.rows / kChunksOfASmallTable,
                                       kFewestRowsPerChunk, kMostRowsPerChunk)};
}

// Asks the kernel, which seals no memory against writing that a process has
// mapped to write to.
bool IsMapped(const UniqueFd& table) {
  return ::fcntl(table.get(), F_ADD_SEALS, F_SEAL_WRITE) != 0 && errno == EBUSY;
}

}  // namespace

uint64_t TouchedBytes(int fd) {
  constexpr uint64_t kBlockBytes = 512;
  struct stat status = {};
  if (::fstat(fd, &status) != 0) return 0;
  return static_cast<uint64_t>(status.st_blocks) * kBlockBytes;
}

absl::Status JobHotTable::Make(const CachePlan& plan,
                               const SegmentOptions& options) {
  FGNN_ASSIGN_OR_RETURN(UniqueFd fd, HotTable::Create(ShapeFor(plan, options)));
  FGNN_ASSIGN_OR_RETURN(
      std::unique_ptr<HotTable> table,
      HotTable::Open(std::move(fd), options.job_key, HotTablePart::kWords));
  if (table_ != nullptr) {
    UniqueFd before = Duplicate(table_->fd());
    if (!before.valid()) return ErrnoToStatus(errno, "keep a hot table");
    before_.push_back(std::move(before));
  }
  table_ = std::move(table);
  return absl::OkStatus();
}

bool JobHotTable::TakeOver(UniqueFd fd, const CachePlan& plan,
                           const SegmentOptions& options) {
  if (!fd.valid()) return false;
  absl::StatusOr<std::unique_ptr<HotTable>> table =
      HotTable::Open(std::move(fd), options.job_key, HotTablePart::kWords);
  if (!table.ok()) {
    LogWarning("a trainer returned no table: {}", MessageOf(table.status()));
    return false;
  }
  if ((*table)->shape() != ShapeFor(plan, options)) return false;
  table_ = *std::move(table);
  return true;
}

uint64_t JobHotTable::number() const {
  return table_ == nullptr ? 0 : table_->shape().number;
}

bool JobHotTable::Fits(const CachePlan& plan) const {
  return table_ != nullptr && table_->shape().rows == plan.rows &&
         table_->shape().rank_order_key == plan.rank_order_key;
}

absl::StatusOr<UniqueFd> JobHotTable::Descriptor() {
  if (table_ == nullptr) return absl::NotFoundError("there is no hot table");
  std::erase_if(before_,
                [](const UniqueFd& table) { return !IsMapped(table); });
  if (!before_.empty()) {
    return absl::UnavailableError(absl::StrCat(
        "table ", number(), ": a trainer still has the table before it"));
  }
  UniqueFd copy = Duplicate(table_->fd());
  if (!copy.valid()) return ErrnoToStatus(errno, "hand over a hot table");
  return copy;
}

uint64_t JobHotTable::ReclaimChunksOf(OwnerIndex dead_owner) {
  return table_ == nullptr ? 0 : table_->ReclaimChunksOf(dead_owner);
}

uint64_t JobHotTable::bytes() const {
  uint64_t bytes = table_ == nullptr ? 0 : TouchedBytes(table_->fd());
  for (const UniqueFd& table : before_) bytes += TouchedBytes(table.get());
  return bytes;
}

}  // namespace fgnn
