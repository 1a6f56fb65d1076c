#include "trainer_service/chunks/chunk_board.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/threads/futex.h"

namespace fgnn {
namespace {

constexpr uint64_t kAlignment = 64;

uint64_t Aligned(uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

template <typename T>
T Load(T& from, std::memory_order order = std::memory_order_relaxed) {
  return std::atomic_ref<T>(from).load(order);
}
template <typename T>
void Store(T& to, T value,
           std::memory_order order = std::memory_order_relaxed) {
  std::atomic_ref<T>(to).store(value, order);
}

// The parts of a loop's memory, one behind the other.
struct Parts {
  uint64_t ends = 0;    // [hosts] u64
  uint64_t starts = 0;  // [chunks + 1] u64
  uint64_t here = 0;    // [chunks] u32, 1: the rows are here.
  uint64_t rows = 0;    // [rows, columns] f32
  uint64_t bytes = 0;
};

Parts PartsOf(uint64_t hosts, uint64_t chunks, uint64_t rows,
              uint64_t columns) {
  Parts parts;
  parts.starts = Aligned(hosts * sizeof(uint64_t));
  parts.here = parts.starts + Aligned((chunks + 1) * sizeof(uint64_t));
  parts.rows = parts.here + Aligned(chunks * sizeof(uint32_t));
  parts.bytes = parts.rows + rows * columns * sizeof(float);
  return parts;
}

bool IsRising(absl::Span<const uint64_t> numbers, uint64_t last) {
  return std::is_sorted(numbers.begin(), numbers.end()) &&
         numbers.back() == last;
}

}  // namespace

// Zero at first.
struct ChunkBoard::Page {
  struct alignas(64) Loop {
    uint64_t offset;  // 0: not published yet.
    uint64_t num_rows;
    uint32_t num_chunks;
    uint32_t columns;
    uint64_t taken;
    uint32_t num_here;
  };
  alignas(64) uint32_t changes;  // A futex.
  uint32_t num_loops;
  Loop loops[kMostLoops];
};

struct ChunkBoard::Mapped {
  LoopShape shape;
  std::byte* memory = nullptr;
  Parts parts;

  Mapped() = default;
  ~Mapped() {
    if (memory != nullptr) ::munmap(memory, parts.bytes);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  absl::Span<uint64_t> ends() const {
    return {reinterpret_cast<uint64_t*>(memory), shape.ends.size()};
  }
  absl::Span<uint64_t> starts() const {
    return {reinterpret_cast<uint64_t*>(memory + parts.starts),
            shape.starts.size()};
  }
  absl::Span<uint32_t> here() const {
    return {reinterpret_cast<uint32_t*>(memory + parts.here),
            shape.num_chunks()};
  }
  float* rows() const { return reinterpret_cast<float*>(memory + parts.rows); }
};

uint64_t LoopBytes(const LoopShape& shape) {
  return PartsOf(shape.ends.size(), shape.num_chunks(), shape.starts.back(),
                 shape.columns)
      .bytes;
}

absl::StatusOr<std::unique_ptr<ChunkBoard>> ChunkBoard::Open(UniqueFd memory) {
  static_assert(sizeof(Page) <= kPageBytes);
  static_assert(kChunkDivisionEnd == kPageBytes);
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0) return ErrnoToStatus(errno, "look at shared memory");
  if ((seals & F_SEAL_SHRINK) == 0) {
    // Touching a page that was truncated would kill this process.
    return absl::InvalidArgumentError(
        "memory for an evaluation is not sealed against shrinking");
  }
  auto board = absl::WrapUnique(new ChunkBoard(std::move(memory)));
  FGNN_ASSIGN_OR_RETURN(board->division_,
                        ReadChunkDivision(board->memory_.get()));
  if (!board->division_.is_divided()) {
    return absl::InvalidArgumentError(
        "memory for an evaluation is not divided over hosts");
  }
  // Fails with EPERM where another process has made it larger.
  const auto end = static_cast<off_t>(2 * kPageBytes);
  struct stat status = {};
  if (::ftruncate(board->memory_.get(), end) != 0 &&
      (errno != EPERM || ::fstat(board->memory_.get(), &status) != 0 ||
       status.st_size < end)) {
    return ErrnoToStatus(errno, "enlarge an evaluation's memory");
  }
  void* const page =
      ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
             board->memory_.get(), static_cast<off_t>(kPageBytes));
  if (page == MAP_FAILED) return ErrnoToStatus(errno, "map an evaluation");
  board->page_ = static_cast<Page*>(page);
  return board;
}

ChunkBoard::ChunkBoard(UniqueFd memory) : memory_(std::move(memory)) {}

ChunkBoard::~ChunkBoard() {
  if (page_ != nullptr) ::munmap(page_, kPageBytes);
}

absl::Status ChunkBoard::Publish(uint32_t loop, uint32_t num_loops,
                                 const LoopShape& shape, uint64_t offset) {
  if (num_loops > kMostLoops || loop >= num_loops) {
    return absl::InvalidArgumentError(absl::StrCat(
        "an evaluation of ", num_loops, " loops is more than ", kMostLoops));
  }
  Page::Loop& record = page_->loops[loop];
  auto mapped = std::make_unique<Mapped>();
  mapped->shape = shape;
  mapped->parts = PartsOf(shape.ends.size(), shape.num_chunks(),
                          shape.starts.back(), shape.columns);
  void* const memory =
      ::mmap(nullptr, mapped->parts.bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
             memory_.get(), static_cast<off_t>(offset));
  if (memory == MAP_FAILED) return ErrnoToStatus(errno, "map a loop's results");
  mapped->memory = static_cast<std::byte*>(memory);
  // Other trainers write the same numbers.
  for (size_t i = 0; i < shape.ends.size(); ++i) {
    Store(mapped->ends()[i], uint64_t{shape.ends[i]});
  }
  for (size_t i = 0; i < shape.starts.size(); ++i) {
    Store(mapped->starts()[i], shape.starts[i]);
  }
  Store(record.num_rows, shape.starts.back());
  Store(record.num_chunks, shape.num_chunks());
  Store(record.columns, shape.columns);
  Store(page_->num_loops, num_loops);
  Store(record.offset, offset, std::memory_order_release);
  {
    const MutexLock lock(&mutex_);
    mapped_[loop] = std::move(mapped);
  }
  AnnounceOn(&page_->changes);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ChunkBoard::Mapped>> ChunkBoard::Map(
    uint32_t loop) const {
  Page::Loop& record = page_->loops[loop];
  const uint64_t offset = Load(record.offset, std::memory_order_acquire);
  const uint64_t num_rows = Load(record.num_rows);
  const uint64_t num_chunks = Load(record.num_chunks);
  auto mapped = std::make_unique<Mapped>();
  mapped->shape.columns = Load(record.columns);
  const Parts parts =
      PartsOf(division_.num_hosts, num_chunks, num_rows, mapped->shape.columns);
  struct stat status = {};
  if (::fstat(memory_.get(), &status) != 0) {
    return ErrnoToStatus(errno, "look at an evaluation's memory");
  }
  const auto size = static_cast<uint64_t>(status.st_size);
  if (num_rows > size || num_chunks > size || offset % kPageBytes != 0 ||
      offset > size || parts.bytes > size - offset) {
    return absl::UnavailableError(
        absl::StrCat("the results of loop ", loop, " leave the memory"));
  }
  void* const memory =
      ::mmap(nullptr, parts.bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
             memory_.get(), static_cast<off_t>(offset));
  if (memory == MAP_FAILED) return ErrnoToStatus(errno, "map a loop's results");
  mapped->memory = static_cast<std::byte*>(memory);
  mapped->parts = parts;
  LoopShape& shape = mapped->shape;
  shape.ends.resize(division_.num_hosts);
  shape.starts.resize(num_chunks + 1);
  std::vector<uint64_t> ends;
  for (uint64_t& end : mapped->ends()) ends.push_back(Load(end));
  for (size_t i = 0; i < shape.starts.size(); ++i) {
    shape.starts[i] = Load(mapped->starts()[i]);
  }
  // Rows of any chunk are within the memory then.
  if (!IsRising(shape.starts, num_rows) || !IsRising(ends, num_chunks)) {
    return absl::UnavailableError(
        absl::StrCat("the results of loop ", loop, " are damaged"));
  }
  std::copy(ends.begin(), ends.end(), shape.ends.begin());
  return mapped;
}

absl::StatusOr<const LoopShape*> ChunkBoard::Find(uint32_t loop) {
  if (loop >= kMostLoops) {
    return absl::InvalidArgumentError(
        absl::StrCat("an evaluation has no loop ", loop));
  }
  if (Load(page_->loops[loop].offset) == 0) return nullptr;
  const MutexLock lock(&mutex_);
  std::unique_ptr<Mapped>& mapped = mapped_[loop];
  if (mapped == nullptr) {
    FGNN_ASSIGN_OR_RETURN(mapped, Map(loop));
  }
  return &mapped->shape;
}

const ChunkBoard::Mapped& ChunkBoard::MappedOf(uint32_t loop) {
  const MutexLock lock(&mutex_);
  return *mapped_.at(loop);
}

std::optional<ChunkBoard::Taken> ChunkBoard::TakeOwn(uint32_t loop,
                                                     uint32_t most) {
  const LoopShape& shape = MappedOf(loop).shape;
  const uint32_t begin = shape.first_of(division_.self);
  const uint64_t count = shape.end_of(division_.self) - begin;
  std::atomic_ref<uint64_t> taken(page_->loops[loop].taken);
  // Read before the addition, so that late calls do not raise it for ever.
  if (taken.load(std::memory_order_relaxed) >= count) return std::nullopt;
  const uint64_t first = taken.fetch_add(most, std::memory_order_relaxed);
  if (first >= count) return std::nullopt;
  const uint64_t end = std::min(count, first + most);
  return Taken{begin + static_cast<uint32_t>(first),
               begin + static_cast<uint32_t>(end)};
}

absl::Status ChunkBoard::WaitForAll(
    uint32_t loop, const std::function<absl::Status()>& check) {
  const Mapped& mapped = MappedOf(loop);
  uint32_t here = 0;  // Number of the first chunks that are here.
  while (true) {
    const uint32_t seen = changes();
    // Who notes a chunk may die before it counts it.
    while (here < mapped.shape.num_chunks() &&
           Load(mapped.here()[here], std::memory_order_acquire) != 0) {
      ++here;
    }
    if (here == mapped.shape.num_chunks()) return absl::OkStatus();
    FGNN_RETURN_IF_ERROR(check());
    WaitForChange(seen, DeadlineIn(kTick));
  }
}

uint32_t ChunkBoard::num_loops() const { return Load(page_->num_loops); }

absl::Span<float> ChunkBoard::Rows(uint32_t loop, uint32_t chunk) {
  const Mapped& mapped = MappedOf(loop);
  const LoopShape& shape = mapped.shape;
  const uint64_t first = shape.starts[chunk];
  return {mapped.rows() + first * shape.columns,
          (shape.starts[chunk + 1] - first) * shape.columns};
}

float* ChunkBoard::AllRows(uint32_t loop) { return MappedOf(loop).rows(); }

bool ChunkBoard::IsHere(uint32_t loop, uint32_t chunk) {
  return Load(MappedOf(loop).here()[chunk], std::memory_order_acquire) != 0;
}

void ChunkBoard::NoteHere(uint32_t loop, uint32_t first, uint32_t end) {
  const Mapped& mapped = MappedOf(loop);
  uint32_t come = 0;
  for (uint32_t chunk = first; chunk < end; ++chunk) {
    std::atomic_ref<uint32_t> here(mapped.here()[chunk]);
    come += 1 - here.exchange(1, std::memory_order_acq_rel);
  }
  std::atomic_ref<uint32_t>(page_->loops[loop].num_here)
      .fetch_add(come, std::memory_order_relaxed);
  AnnounceOn(&page_->changes);
}

uint32_t ChunkBoard::NumHere(uint32_t loop) {
  return Load(page_->loops[loop].num_here);
}

uint32_t ChunkBoard::changes() const { return ReadCounter(&page_->changes); }

void ChunkBoard::WaitForChange(uint32_t seen, Deadline deadline) const {
  WaitOn(&page_->changes, seen, deadline);
}

}  // namespace fgnn
