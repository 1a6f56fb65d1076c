// The hottest rows of a dataset's features, once for all trainers of a job: a
// memfd that the scheduler makes, all trainers fill and all read. README.md
// draws the layout and says who changes which word.
//
// The memory holds no lock. A chunk of rows is read only once its word says
// that it is filled, so a process that is killed anywhere leaves no chunk that
// is half there. Sizes come from a checked copy of the header; every other word
// is only compared.
#ifndef FGNN_SHARED_HOT_TABLE_HOT_TABLE_H_
#define FGNN_SHARED_HOT_TABLE_HOT_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/clock.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/types.h"

namespace fgnn {

// What a table is made for.
struct HotTableShape {
  uint64_t job_key = 0;         // As SegmentOptions::job_key.
  uint64_t number = 0;          // Number among the job's tables, from 1.
  uint64_t rank_order_key = 0;  // Row r is the vertex of rank r in this order.
  uint64_t rows = 0;            // [1, 2^32)
  uint64_t row_bytes = 0;       // Bytes of a stored row, [1, 2^32).
  // Rows that a thread of a trainer fills at a time, [1, 2^32).
  uint64_t rows_per_chunk = 0;

  uint64_t num_chunks() const {
    return (rows + rows_per_chunk - 1) / rows_per_chunk;
  }
  friend bool operator==(const HotTableShape&, const HotTableShape&) = default;
};

// What a process maps.
enum class HotTablePart : uint8_t {
  kWords,  // The scheduler's part: the words of the chunks.
  kAll,    // A trainer's part: the words and the rows.
};

// A mapped table. Thread-safe.
class HotTable {
 public:
  // Scheduler only. Makes an empty table; pages are taken as they are touched.
  // InvalidArgument: the shape is out of range. Other errors: the system's.
  static absl::StatusOr<UniqueFd> Create(const HotTableShape& shape);

  // Maps the table. InvalidArgument: it could shrink, is none of FGNN's, of
  // another layout or of another job, or its sizes do not add up.
  // ResourceExhausted: it cannot be mapped.
  static absl::StatusOr<std::unique_ptr<HotTable>> Open(UniqueFd fd,
                                                        uint64_t job_key,
                                                        HotTablePart part);
  ~HotTable();
  HotTable(const HotTable&) = delete;
  HotTable& operator=(const HotTable&) = delete;

  // A copy that Open() took: no other process can change it.
  const HotTableShape& shape() const { return shape_; }
  int fd() const { return fd_.get(); }  // Borrowed.

  // The rows [rows, row_bytes]. kAll only.
  const std::byte* rows() const { return rows_; }
  // Returns the number of rows before the first chunk that is not filled. Never
  // falls. The caller sees the bytes of all these rows.
  uint64_t filled_rows() const;
  bool is_full() const { return filled_rows() == shape_.rows; }

  // A chunk that this process fills, named by its owner index. Destroyed before
  // Done(), it lets others fill the chunk.
  class Chunk {
   public:
    Chunk(Chunk&& other) noexcept
        : table_(std::exchange(other.table_, nullptr)),
          index_(other.index_),
          owner_(other.owner_) {}
    Chunk& operator=(Chunk&&) = delete;
    ~Chunk();

    uint64_t first_row() const;
    uint64_t num_rows() const;
    absl::Span<std::byte> bytes() const;  // [num_rows, row_bytes]; kAll only.
    // The chunk is filled: all processes may read it.
    void Done() &&;

   private:
    friend class HotTable;
    Chunk(HotTable* table, uint64_t index, OwnerIndex owner)
        : table_(table), index_(index), owner_(owner) {}

    HotTable* table_;
    uint64_t index_;
    OwnerIndex owner_;
  };
  // Takes the first chunk that nobody has filled or fills; nullopt: there is
  // none. `owner`: index of this process in the job's segment. Borrows the
  // table.
  std::optional<Chunk> TryTake(OwnerIndex owner);

  // Scheduler only, and only after the kernel has said that every process with
  // this index is dead. Lets others fill the chunks that it has not finished,
  // and returns their number. Idempotent.
  uint64_t ReclaimChunksOf(OwnerIndex dead_owner);
  // Returns a number that rises each time chunks may have been given back.
  uint32_t num_reclaims() const;

  // Returns a number that rises each time a chunk is filled or given back.
  uint32_t changes() const;
  // Waits until changes() is not `seen`, the deadline or 100 ms have passed.
  void WaitForChange(uint32_t seen, Deadline deadline) const;

 private:
  struct Header;
  struct Counters;

  HotTable(UniqueFd fd, const HotTableShape& shape)
      : fd_(std::move(fd)), shape_(shape) {}
  static Header HeaderOf(const HotTableShape& shape);
  static absl::StatusOr<Header> ReadHeader(int fd);
  absl::Status Map(HotTablePart part);
  std::atomic_ref<uint64_t> Word(uint64_t chunk) const;
  Counters& counters() const;
  // Returns false if the owner does not fill the chunk.
  bool GiveBack(uint64_t chunk, OwnerIndex owner);

  const UniqueFd fd_;
  const HotTableShape shape_;
  std::byte* base_ = nullptr;
  uint64_t mapped_bytes_ = 0;
  const std::byte* rows_ = nullptr;
  // Chunks before this one are filled; chunks before the second one are taken,
  // but for those that were given back.
  mutable std::atomic<uint64_t> filled_chunks_ = 0;
  std::atomic<uint64_t> next_chunk_ = 0;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_HOT_TABLE_HOT_TABLE_H_
