#include "trainer_service/infer/shared_inference.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/threads/futex.h"
#include "shared/base/units.h"

namespace fgnn {
namespace {

// Page size of every machine that this runs on; a multiple works as well.
constexpr uint64_t kPageBytes = 4096;
static_assert(kPageBytes == ChunkBoard::kPageBytes);

uint64_t InPages(uint64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace

// Zero at first. It holds only counters: whatever another process writes here,
// no process leaves an array because of it.
struct SharedInference::Header {
  struct alignas(64) Loop {
    uint64_t taken;
    uint64_t done;
  };
  alignas(64) uint32_t changes;  // A futex; rises when a loop ends.
  Loop loops[kMostLoops];
};

absl::StatusOr<std::unique_ptr<SharedInference>> SharedInference::Open(
    UniqueFd memory) {
  static_assert(sizeof(Header) <= kChunkDivisionOffset);
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0) return ErrnoToStatus(errno, "look at shared memory");
  if ((seals & F_SEAL_SHRINK) == 0) {
    // Touching a page that was truncated would kill this process.
    return absl::InvalidArgumentError(
        "memory for a shared inference is not sealed against shrinking");
  }
  auto inference = absl::WrapUnique(new SharedInference(std::move(memory)));
  FGNN_ASSIGN_OR_RETURN(const absl::Span<std::byte> page,
                        inference->Reserve(sizeof(Header)));
  inference->header_ = reinterpret_cast<Header*>(page.data());
  FGNN_ASSIGN_OR_RETURN(const ChunkDivision division,
                        ReadChunkDivision(inference->memory_.get()));
  if (!division.is_divided()) return inference;
  FGNN_RETURN_IF_ERROR(inference->Reserve(ChunkBoard::kPageBytes).status());
  FGNN_ASSIGN_OR_RETURN(inference->chunks_,
                        ChunkBoard::Open(Duplicate(inference->memory_.get())));
  return inference;
}

absl::Status SharedInference::ReserveResults(uint32_t loop, uint32_t num_loops,
                                             const LoopShape& shape) {
  const uint64_t offset = reserved_bytes_;
  FGNN_RETURN_IF_ERROR(Reserve(LoopBytes(shape)).status());
  return chunks_->Publish(loop, num_loops, shape, offset);
}

SharedInference::~SharedInference() {
  for (const absl::Span<std::byte> array : mapped_) {
    ::munmap(array.data(), array.size());
  }
}

uint64_t SharedInference::FileBytes() const {
  struct stat status = {};
  return ::fstat(memory_.get(), &status) == 0
             ? static_cast<uint64_t>(status.st_size)
             : 0;
}

uint64_t SharedInference::Growth(uint64_t bytes) const {
  const uint64_t end = reserved_bytes_ + InPages(bytes);
  return end - std::min(end, std::max(FileBytes(), reserved_bytes_));
}

absl::StatusOr<absl::Span<std::byte>> SharedInference::Reserve(uint64_t bytes) {
  if (bytes == 0) return absl::Span<std::byte>();
  const uint64_t size = InPages(bytes);
  const uint64_t end = reserved_bytes_ + size;
  const std::string what =
      absl::StrCat("reserve ", FormatBytes(bytes), " of shared memory");
  // The memory is sealed against shrinking: if another process has made it
  // larger already, this call fails with EPERM.
  if (::ftruncate(memory_.get(), static_cast<off_t>(end)) != 0 &&
      (errno != EPERM || FileBytes() < end)) {
    return ErrnoToStatus(errno, what);
  }
  void* const address =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(),
             static_cast<off_t>(reserved_bytes_));
  if (address == MAP_FAILED) return ErrnoToStatus(errno, what);
  mapped_.emplace_back(static_cast<std::byte*>(address), size);
  reserved_bytes_ = end;
  return mapped_.back().subspan(0, bytes);
}

std::optional<ChunkRange> SharedInference::TakeChunks(uint32_t loop,
                                                      int64_t num_chunks,
                                                      int64_t most) {
  std::atomic_ref<uint64_t> taken(header_->loops[loop].taken);
  const auto all = static_cast<uint64_t>(num_chunks);
  const auto wanted = static_cast<uint64_t>(most);
  // Read before the addition, so that late calls do not raise it for ever.
  if (taken.load(std::memory_order_relaxed) >= all) return std::nullopt;
  const uint64_t first = taken.fetch_add(wanted, std::memory_order_relaxed);
  if (first >= all) return std::nullopt;
  return ChunkRange{
      static_cast<int64_t>(first),
      static_cast<int64_t>(first + std::min(wanted, all - first))};
}

int64_t SharedInference::ChunksDone(uint32_t loop, int64_t num_chunks,
                                    int64_t done) {
  std::atomic_ref<uint64_t> all_done(header_->loops[loop].done);
  const auto count = static_cast<uint64_t>(done);
  // The process that reads the last of these numbers sees everything that was
  // written before.
  const auto now = static_cast<int64_t>(
      all_done.fetch_add(count, std::memory_order_acq_rel) + count);
  if (now == num_chunks) AnnounceOn(&header_->changes);
  return now;
}

absl::Status SharedInference::WaitForLoop(
    uint32_t loop, int64_t num_chunks,
    const std::function<absl::Status()>& check) {
  std::atomic_ref<uint64_t> done(header_->loops[loop].done);
  while (true) {
    const uint32_t seen = ReadCounter(&header_->changes);
    if (done.load(std::memory_order_acquire) >=
        static_cast<uint64_t>(num_chunks)) {
      return absl::OkStatus();
    }
    FGNN_RETURN_IF_ERROR(check());
    WaitOn(&header_->changes, seen, DeadlineIn(kLongestFutexWait));
  }
}

}  // namespace fgnn
