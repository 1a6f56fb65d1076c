// Reads rows of a file by direct I/O. Pages are read whole, and once, however
// many of the rows lie in them.
#ifndef FGNN_TRAINER_SERVICE_FEATURES_CPU_PAGE_READER_H_
#define FGNN_TRAINER_SERVICE_FEATURES_CPU_PAGE_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/device/memory.h"
#include "shared/graph/dataset.h"
#include "trainer_service/features/cpu/read_queue.h"

namespace fgnn {

// Unit of offsets, lengths and buffers, in bytes.
inline constexpr uint64_t kPageBytes = 4096;

struct WantedRow {
  GlobalId node = 0;
  // Place in the caller's array; a node may be wanted at many places.
  uint32_t place = 0;

  friend auto operator<=>(const WantedRow&, const WantedRow&) = default;
};

// The file and how to read it.
struct PagedFile {
  FeatureFile features;
  int fd = -1;         // Opened with O_DIRECT; borrowed.
  uint32_t depth = 0;  // Reads in flight at once.
};

// Holds the buffers of `depth` reads. Used by one thread at a time; reused.
class PageReader {
 public:
  // ResourceExhausted: no memory for the buffers. Other errors: the queue's.
  static absl::StatusOr<std::unique_ptr<PageReader>> Create(
      const PagedFile& file, const MakeReadQueue& make_queue);

  // Calls take(place, stored row) for each of `rows`, in any order. `rows`
  // ascend and are below N. While no read has ended it calls meanwhile(), until
  // that returns that there is nothing left to do. DataLoss: the file ends
  // before a row. Unavailable: the disk failed. Both name file and offset; no
  // read is in flight afterwards. Other errors: the queue's; is_broken() is
  // true then.
  using TakeRow = absl::FunctionRef<void(uint32_t place, const std::byte* row)>;
  using Meanwhile = absl::FunctionRef<bool()>;
  absl::Status Read(absl::Span<const WantedRow> rows, TakeRow take,
                    Meanwhile meanwhile);

  // Returns the number of reads begun so far.
  uint64_t num_reads() const { return num_reads_; }
  // Returns true if the queue failed with reads in flight: the reader cannot be
  // used any more.
  bool is_broken() const { return is_broken_; }

 private:
  // One read of pages, with the rows that are wanted of it.
  struct Slot {
    absl::Span<const WantedRow> rows;
    uint64_t offset = 0;  // Offset in the file.
    uint64_t wanted_bytes = 0;
    uint64_t have_bytes = 0;  // Bytes read so far, in whole pages.
    int fruitless = 0;  // Number of successive answers that brought no page.
  };

  PageReader(const PagedFile& file, uint64_t slot_bytes)
      : file_(file), slot_bytes_(slot_bytes) {}

  uint64_t OffsetOf(GlobalId node) const {
    return file_.features.offset + node * file_.features.row_bytes();
  }
  std::byte* BufferOf(uint32_t slot) const {
    return buffers_.get() + slot * slot_bytes_;
  }
  // Returns how many of `rows`, from the first on, one read covers.
  size_t Plan(absl::Span<const WantedRow> rows, Slot& slot) const;
  void Begin(uint32_t slot);
  // Returns true if the slot's read is complete; begins the rest of a short
  // read.
  absl::StatusOr<bool> End(const EndedRead& ended);
  absl::Status Explain(const Slot& slot, int error) const;

  const PagedFile file_;
  const uint64_t slot_bytes_;
  std::unique_ptr<ReadQueue> queue_;
  TableMemory<std::byte> buffers_;  // [slots, slot_bytes_]
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;  // Free slots.
  uint64_t num_reads_ = 0;
  bool is_broken_ = false;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_FEATURES_CPU_PAGE_READER_H_
