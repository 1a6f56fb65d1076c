#include "shared/hot_table/hot_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <type_traits>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/crc32c.h"
#include "shared/base/status.h"
#include "shared/base/threads/futex.h"
#include "shared/base/units.h"
#include "shared/queue/slot_word.h"

namespace fgnn {
namespace {

constexpr uint64_t kMagic = 0x3142'4154'4e4e'4746;  // "FGNNTAB1"
constexpr uint32_t kLayoutVersion = 1;
constexpr uint64_t kPageBytes = 4096;
// Offset of the first chunk's word. The header and the counters are before it.
constexpr uint64_t kWordsOffset = 256;
constexpr uint64_t kCountersOffset = 128;
// With these seals no access within the size can end in SIGBUS. The scheduler
// seals an old table against writing too, to learn whether it is still mapped.
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

enum class ChunkState : uint8_t {
  kFree = 0,
  kFilling = 1,  // The owner writes the rows.
  kFilled = 2,   // For good; the word has no owner.
};
using ChunkWord = OwnedWord<ChunkState>;

constexpr uint64_t kFreeWord = 0;
constexpr uint64_t kFilledWord =
    ChunkWord{ChunkState::kFilled, kNoOwner, 0}.Pack();

uint64_t FillingWord(OwnerIndex owner) {
  return ChunkWord{ChunkState::kFilling, owner, 0}.Pack();
}

uint64_t WordsBytes(const HotTableShape& shape) {
  const uint64_t bytes = kWordsOffset + shape.num_chunks() * sizeof(uint64_t);
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

// Fields are below 2^32, so that no product here is beyond 2^64.
uint64_t TotalBytes(const HotTableShape& shape) {
  return WordsBytes(shape) + shape.rows * shape.row_bytes;
}

absl::Status CheckShape(const HotTableShape& shape) {
  for (const auto& [name, value] :
       {std::pair<const char*, uint64_t>{"rows", shape.rows},
        {"row_bytes", shape.row_bytes},
        {"rows_per_chunk", shape.rows_per_chunk}}) {
    if (value >= 1 && value <= UINT32_MAX) continue;
    return absl::InvalidArgumentError(absl::StrCat("hot table: ", name, " is ",
                                                   value, ", must be in [1, ",
                                                   UINT32_MAX, "]"));
  }
  return absl::OkStatus();
}

absl::Status CheckSealed(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals >= 0 && (seals & kSeals) == kSeals) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "hot table is not a memfd sealed against changes of its size");
}

}  // namespace

struct HotTable::Header {
  uint64_t magic;
  uint32_t layout_version;
  uint32_t crc;  // CRC32C of this header with this field zero.
  uint64_t job_key;
  uint64_t number;
  uint64_t rank_order_key;
  uint64_t rows;
  uint64_t row_bytes;
  uint64_t rows_per_chunk;

  uint32_t Crc() const {
    Header copy = *this;
    copy.crc = 0;
    return ExtendCrc32c(0, &copy, sizeof(copy));
  }
};

struct HotTable::Counters {
  alignas(64) uint32_t changes;  // A futex.
  uint32_t reclaims;
};

HotTable::Header HotTable::HeaderOf(const HotTableShape& shape) {
  static_assert(std::has_unique_object_representations_v<Header>);
  static_assert(sizeof(Header) <= kCountersOffset);
  static_assert(kCountersOffset + sizeof(Counters) <= kWordsOffset);
  Header header = {.magic = kMagic,
                   .layout_version = kLayoutVersion,
                   .crc = 0,
                   .job_key = shape.job_key,
                   .number = shape.number,
                   .rank_order_key = shape.rank_order_key,
                   .rows = shape.rows,
                   .row_bytes = shape.row_bytes,
                   .rows_per_chunk = shape.rows_per_chunk};
  header.crc = header.Crc();
  return header;
}

absl::StatusOr<UniqueFd> HotTable::Create(const HotTableShape& shape) {
  FGNN_RETURN_IF_ERROR(CheckShape(shape));
  const std::string what =
      absl::StrCat("make a hot table of ", FormatBytes(TotalBytes(shape)));
  UniqueFd fd(
      ::memfd_create("fgnn-hot-table", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const Header header = HeaderOf(shape);
  if (!fd.valid() ||
      ::ftruncate(fd.get(), static_cast<off_t>(TotalBytes(shape))) != 0 ||
      ::pwrite(fd.get(), &header, sizeof(header), 0) !=
          static_cast<ssize_t>(sizeof(header)) ||
      ::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) {
    return ErrnoToStatus(errno, what);
  }
  return fd;
}

absl::StatusOr<HotTable::Header> HotTable::ReadHeader(int fd) {
  Header header;
  if (::pread(fd, &header, sizeof(header), 0) !=
      static_cast<ssize_t>(sizeof(header))) {
    return absl::InvalidArgumentError("hot table is too small for its header");
  }
  if (header.magic != kMagic || header.layout_version != kLayoutVersion) {
    return absl::InvalidArgumentError(
        "hot table is none of this program's; run daemons of the scheduler's "
        "version");
  }
  if (header.crc != header.Crc()) {
    return absl::InvalidArgumentError(
        "hot table: its header does not match its checksum");
  }
  return header;
}

absl::StatusOr<std::unique_ptr<HotTable>> HotTable::Open(UniqueFd fd,
                                                         uint64_t job_key,
                                                         HotTablePart part) {
  FGNN_RETURN_IF_ERROR(CheckSealed(fd.get()));
  FGNN_ASSIGN_OR_RETURN(const Header header, ReadHeader(fd.get()));
  if (header.job_key != job_key) {
    return absl::InvalidArgumentError("hot table belongs to another job");
  }
  const HotTableShape shape = {.job_key = header.job_key,
                               .number = header.number,
                               .rank_order_key = header.rank_order_key,
                               .rows = header.rows,
                               .row_bytes = header.row_bytes,
                               .rows_per_chunk = header.rows_per_chunk};
  FGNN_RETURN_IF_ERROR(CheckShape(shape));
  struct stat file = {};
  if (::fstat(fd.get(), &file) != 0) {
    return ErrnoToStatus(errno, "look at a hot table");
  }
  if (static_cast<uint64_t>(file.st_size) != TotalBytes(shape)) {
    return absl::InvalidArgumentError(
        absl::StrCat("hot table: its header needs ", TotalBytes(shape),
                     " bytes, the file has ", file.st_size));
  }
  auto table = absl::WrapUnique(new HotTable(std::move(fd), shape));
  FGNN_RETURN_IF_ERROR(table->Map(part));
  return table;
}

absl::Status HotTable::Map(HotTablePart part) {
  mapped_bytes_ =
      part == HotTablePart::kAll ? TotalBytes(shape_) : WordsBytes(shape_);
  void* const address = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_NORESERVE, fd_.get(), 0);
  if (address == MAP_FAILED) return ErrnoToStatus(errno, "map a hot table");
  base_ = static_cast<std::byte*>(address);
  if (part == HotTablePart::kAll) {
    rows_ = base_ + WordsBytes(shape_);
    // Advice only: kernels give shared memory huge pages if they are set so.
    ::madvise(base_, mapped_bytes_, MADV_HUGEPAGE);
  }
  return absl::OkStatus();
}

HotTable::~HotTable() {
  if (base_ != nullptr) ::munmap(base_, mapped_bytes_);
}

std::atomic_ref<uint64_t> HotTable::Word(uint64_t chunk) const {
  return SharedWord(reinterpret_cast<uint64_t*>(base_ + kWordsOffset)[chunk]);
}

HotTable::Counters& HotTable::counters() const {
  return *reinterpret_cast<Counters*>(base_ + kCountersOffset);
}

uint64_t HotTable::filled_rows() const {
  uint64_t filled = filled_chunks_.load(std::memory_order_acquire);
  const uint64_t before = filled;
  while (filled < shape_.num_chunks() &&
         Word(filled).load(std::memory_order_acquire) == kFilledWord) {
    ++filled;
  }
  // A thread that stores fewer than another one only looks again.
  if (filled > before) filled_chunks_.store(filled, std::memory_order_release);
  return std::min(filled * shape_.rows_per_chunk, shape_.rows);
}

std::optional<HotTable::Chunk> HotTable::TryTake(OwnerIndex owner) {
  const uint64_t filling = FillingWord(owner);
  const auto take_from = [&](uint64_t first,
                             uint64_t last) -> std::optional<Chunk> {
    for (uint64_t chunk = first; chunk < last; ++chunk) {
      uint64_t expected = kFreeWord;
      if (Word(chunk).load(std::memory_order_relaxed) == kFreeWord &&
          Word(chunk).compare_exchange_strong(expected, filling,
                                              std::memory_order_acq_rel)) {
        next_chunk_.store(chunk + 1, std::memory_order_relaxed);
        return Chunk(this, chunk, owner);
      }
    }
    return std::nullopt;
  };
  const uint64_t next = next_chunk_.load(std::memory_order_relaxed);
  std::optional<Chunk> taken = take_from(next, shape_.num_chunks());
  // Chunks that were given back lie before those that were never taken.
  if (!taken.has_value()) return take_from(0, next);
  return taken;
}

bool HotTable::GiveBack(uint64_t chunk, OwnerIndex owner) {
  uint64_t expected = FillingWord(owner);
  return Word(chunk).compare_exchange_strong(expected, kFreeWord,
                                             std::memory_order_acq_rel);
}

uint64_t HotTable::ReclaimChunksOf(OwnerIndex dead_owner) {
  uint64_t reclaimed = 0;
  for (uint64_t chunk = 0; chunk < shape_.num_chunks(); ++chunk) {
    reclaimed += GiveBack(chunk, dead_owner) ? 1 : 0;
  }
  // Announced even if no chunk was given back: an earlier reaper may have died
  // before its announcement.
  std::atomic_ref(counters().reclaims).fetch_add(1, std::memory_order_acq_rel);
  AnnounceOn(&counters().changes);
  return reclaimed;
}

uint32_t HotTable::num_reclaims() const {
  return std::atomic_ref(counters().reclaims).load(std::memory_order_acquire);
}

uint32_t HotTable::changes() const { return ReadCounter(&counters().changes); }

void HotTable::WaitForChange(uint32_t seen, Deadline deadline) const {
  WaitOn(&counters().changes, seen, deadline);
}

HotTable::Chunk::~Chunk() {
  if (table_ == nullptr) return;
  table_->GiveBack(index_, owner_);
  std::atomic_ref(table_->counters().reclaims)
      .fetch_add(1, std::memory_order_acq_rel);
  AnnounceOn(&table_->counters().changes);
}

uint64_t HotTable::Chunk::first_row() const {
  return index_ * table_->shape_.rows_per_chunk;
}

uint64_t HotTable::Chunk::num_rows() const {
  return std::min(table_->shape_.rows_per_chunk,
                  table_->shape_.rows - first_row());
}

absl::Span<std::byte> HotTable::Chunk::bytes() const {
  const uint64_t row_bytes = table_->shape_.row_bytes;
  return {table_->base_ + WordsBytes(table_->shape_) + first_row() * row_bytes,
          num_rows() * row_bytes};
}

void HotTable::Chunk::Done() && {
  // What was written before is there for those who read this word.
  table_->Word(index_).store(kFilledWord, std::memory_order_release);
  AnnounceOn(&table_->counters().changes);
  table_ = nullptr;
}

}  // namespace fgnn
