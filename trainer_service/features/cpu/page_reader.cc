#include "trainer_service/features/cpu/page_reader.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/units.h"

namespace fgnn {
namespace {

// Most bytes of merged adjoining pages: longer reads make other reads wait.
constexpr uint64_t kMergedBytes = 8 * kPageBytes;
constexpr uint64_t kMostBufferBytes = uint64_t{64} << 20;
constexpr uint64_t kFewestSlots = 4;
constexpr int kMostFruitless = 8;

uint64_t PageFloor(uint64_t bytes) { return bytes / kPageBytes * kPageBytes; }
uint64_t PageCeil(uint64_t bytes) { return PageFloor(bytes + kPageBytes - 1); }

}  // namespace

absl::StatusOr<std::unique_ptr<PageReader>> PageReader::Create(
    const PagedFile& file, const MakeReadQueue& make_queue) {
  // A row may begin at the end of a page.
  const uint64_t slot_bytes =
      std::max(kMergedBytes, PageCeil(file.features.row_bytes()) + kPageBytes);
  const uint64_t num_slots = std::min<uint64_t>(
      file.depth, std::max(kMostBufferBytes / slot_bytes, kFewestSlots));
  auto reader = std::unique_ptr<PageReader>(new PageReader(file, slot_bytes));
  const uint64_t bytes = num_slots * slot_bytes;
  // Mapped, so that a read that never ends cannot write to memory in other use.
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat(file.features.path.string(), ": no memory for ", num_slots,
                     " reads, ", FormatBytes(bytes)));
  }
  reader->buffers_ = {static_cast<std::byte*>(memory), FreeTable{bytes}};
  absl::StatusOr<std::unique_ptr<ReadQueue>> queue =
      make_queue(file.fd, static_cast<uint32_t>(num_slots));
  if (!queue.ok()) {
    return Annotate(queue.status(), file.features.path.string());
  }
  reader->queue_ = *std::move(queue);
  reader->slots_.resize(num_slots);
  for (uint32_t slot = 0; slot < num_slots; ++slot) {
    reader->free_.push_back(slot);
  }
  return reader;
}

size_t PageReader::Plan(absl::Span<const WantedRow> rows, Slot& slot) const {
  const uint64_t row_bytes = file_.features.row_bytes();
  const uint64_t begin = PageFloor(OffsetOf(rows[0].node));
  uint64_t end = OffsetOf(rows[0].node) + row_bytes;
  size_t count = 1;
  for (; count < rows.size(); ++count) {
    const uint64_t next = OffsetOf(rows[count].node);
    if (PageFloor(next) > PageCeil(end)) break;
    if (PageCeil(next + row_bytes) - begin > slot_bytes_) break;
    end = next + row_bytes;
  }
  slot = {rows.subspan(0, count), begin, end - begin, 0, 0};
  return count;
}

void PageReader::Begin(uint32_t slot) {
  const Slot& read = slots_[slot];
  const uint64_t bytes = PageCeil(read.wanted_bytes) - read.have_bytes;
  queue_->Begin(slot, read.offset + read.have_bytes,
                {BufferOf(slot) + read.have_bytes, bytes});
  ++num_reads_;
}

absl::Status PageReader::Explain(const Slot& slot, int error) const {
  const std::string what =
      absl::StrCat(file_.features.path.string(), ": cannot read ",
                   slot.wanted_bytes, " B at offset ", slot.offset, ": ");
  if (error != 0) {
    return absl::UnavailableError(absl::StrCat(what, std::strerror(error)));
  }
  return absl::DataLossError(absl::StrCat(
      what, "it ends behind ", slot.have_bytes,
      " B of them, shorter than its header promises; was it cut off while in "
      "use? Copy or build it again"));
}

absl::StatusOr<bool> PageReader::End(const EndedRead& ended) {
  Slot& slot = slots_[ended.slot];
  const bool again = ended.result == -EINTR || ended.result == -EAGAIN;
  if (ended.result < 0 && !again) return Explain(slot, -ended.result);
  const uint64_t bytes = again ? 0 : static_cast<uint64_t>(ended.result);
  if (slot.have_bytes + bytes >= slot.wanted_bytes) return true;
  // Direct I/O goes on at a page.
  slot.fruitless = bytes < kPageBytes ? slot.fruitless + 1 : 0;
  slot.have_bytes += PageFloor(bytes);
  if (slot.fruitless == kMostFruitless) {
    return Explain(slot, again ? -ended.result : 0);
  }
  Begin(ended.slot);
  return false;
}

absl::Status PageReader::Read(absl::Span<const WantedRow> rows, TakeRow take,
                              Meanwhile meanwhile) {
  absl::Status failed;
  bool is_busy = true;
  // After an error no read is begun, but those in flight are waited for.
  while ((failed.ok() && !rows.empty()) || free_.size() < slots_.size()) {
    while (failed.ok() && !rows.empty() && !free_.empty()) {
      const uint32_t slot = free_.back();
      free_.pop_back();
      rows.remove_prefix(Plan(rows, slots_[slot]));
      Begin(slot);
    }
    const absl::StatusOr<absl::Span<const EndedRead>> taken =
        queue_->Take(/*wait=*/!is_busy);
    if (!taken.ok()) {
      is_broken_ = true;
      return Annotate(taken.status(), file_.features.path.string());
    }
    if (taken->empty() && is_busy) is_busy = meanwhile();
    for (const EndedRead& ended : *taken) {
      const absl::StatusOr<bool> done = failed.ok() ? End(ended) : true;
      failed.Update(done.status());
      if (done.ok() && !*done) continue;
      const Slot& slot = slots_[ended.slot];
      if (failed.ok()) {
        for (const WantedRow& row : slot.rows) {
          take(row.place,
               BufferOf(ended.slot) + (OffsetOf(row.node) - slot.offset));
        }
      }
      free_.push_back(ended.slot);
    }
  }
  if (!failed.ok()) return failed;
  while (is_busy) is_busy = meanwhile();
  return absl::OkStatus();
}

}  // namespace fgnn
