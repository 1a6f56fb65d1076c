// Where each region of a segment lies, and the only functions that access it.
// For the files of this folder; README.md draws the layout.
//
// No value in shared memory is ever used as an address, an offset or a size.
// Offsets come from this process's copy of the options. The functions here
// reduce every index to its range.
#ifndef FGNN_SHARED_QUEUE_SEGMENT_LAYOUT_H_
#define FGNN_SHARED_QUEUE_SEGMENT_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "absl/types/span.h"
#include "shared/base/types.h"
#include "shared/queue/segment.h"
#include "shared/queue/slot_word.h"

namespace fgnn {

inline constexpr uint64_t kSegmentMagic = 0x3147'4553'4e4e'4746;  // "FGNNSEG1"
inline constexpr uint32_t kSegmentLayoutVersion = 22;
// Bytes of a line of the processors' caches.
inline constexpr uint64_t kLineBytes = 64;

// The scheduler writes the header once, before it hands the descriptor to any
// daemon.
struct SegmentHeader {
  uint64_t magic;
  uint32_t layout_version;
  uint32_t header_crc;  // CRC32C of this header with this field zero.
  uint64_t total_bytes;
  SegmentOptions options;
};
static_assert(sizeof(SegmentHeader) == 216);
static_assert(std::has_unique_object_representations_v<SegmentHeader>);

// The words that a segment has once, and not per slot. A word that different
// processes write often has a cache line of its own.
struct ControlWords {
  alignas(64) uint64_t sampling_limit;  // Samplers claim batches below it.
  uint64_t training_limit;              // Trainers work on steps below it.
  uint64_t stopped;                     // Not 0: the job was stopped.
  uint64_t rank_order_key;              // See CachePlan.
  uint64_t cache_rows;
  uint64_t standby_cache_rows;
  uint64_t hot_table;                // Number of the table.
  uint64_t rate_factor;              // The bits of a double.
  alignas(64) uint64_t oldest_task;  // A hint: all tasks below are released.
  alignas(64) uint64_t board_word;   // See gradient_board.h.
  alignas(64) uint32_t changes;      // The futex on which trainers wait.
  alignas(64) uint32_t frees;        // The futex on which samplers wait.
  uint64_t trainers_kind;            // See Segment::AgreeOnTrainers().
  uint64_t others_version;           // Version that all other hosts have.
};
static_assert(std::is_trivially_copyable_v<ControlWords>);

// The words of a device that takes turns; see device_table.h. The daemons of a
// device read the first cache line before each fetch.
struct DeviceWords {
  alignas(64) uint64_t slice;
  uint64_t plan;       // released + 1:8 (0: no released plan) | plan:8
  uint64_t cached_as;  // The DevicePlan by which the trainer caches.
  alignas(64) uint64_t sample_seconds;  // The bits of a double, as below.
  uint64_t train_seconds;
  uint64_t standby_seconds;
  uint64_t wake_seconds;  // Longest wake since the scheduler last read it.
};
static_assert(sizeof(DeviceWords) == 128);
static_assert(std::is_trivially_copyable_v<DeviceWords>);

// The words of a group of trainers; see meeting_table.h. A segment without
// members has them too, and nobody uses them.
struct MeetingWords {
  alignas(64) uint64_t group;   // Number of the group that is under way.
  uint64_t id_group;            // Group whose id is below; 0: none.
  alignas(64) uint64_t id[16];  // The id, as words.
};
static_assert(std::is_trivially_copyable_v<MeetingWords>);

// The words of a member of the group.
struct MemberWords {
  alignas(64) uint64_t owner;  // Index of the trainer; 0: the place is free.
  uint64_t ready;              // The group's number mod 2^24 | step + 1: 40
};
static_assert(std::is_trivially_copyable_v<MemberWords>);

// Offsets from the segment's start, in bytes. See README.md.
struct SegmentLayout {
  uint64_t control = 0;
  uint64_t devices = 0;          // DeviceWords [num_devices].
  uint64_t meeting = 0;          // MeetingWords.
  uint64_t members = 0;          // MemberWords [num_members].
  uint64_t slot_words = 0;       // u64 [num_slots].
  uint64_t slot_places = 0;      // u64 [num_slots], see slot_table.h.
  uint64_t overflow_words = 0;   // u64 [num_overflow_blocks].
  uint64_t done_words = 0;       // u64 [board_places]: seq + 1.
  uint64_t message_words = 0;    // u64 [W * num_messages][parts]: seq + 1.
  uint64_t records = 0;          // BatchRecord [num_records].
  uint64_t weights = 0;          // f32 [versions][P], each 64-byte aligned.
  uint64_t optimizer_state = 0;  // f32 [2][P * k].
  uint64_t gradients = 0;        // f32 [board_places][P].
  uint64_t slots = 0;            // Blocks [num_slots].
  // Blocks [num_overflow_blocks]. With parts, their pages come as they are
  // touched.
  uint64_t overflow = 0;
  // Places [W] of messages. Their pages come as they are touched.
  uint64_t messages = 0;
  uint64_t total_bytes = 0;

  uint64_t board_places = 0;  // Number of places: JobShape::num_places().
  uint64_t num_records = 0;
  uint64_t weight_versions = 0;  // Number of versions kept: max(2, s + 1).

  // Bytes from the start of one element to the start of the next.
  uint64_t slot_stride = 0;
  uint64_t overflow_stride = 0;
  uint64_t weights_stride = 0;
  uint64_t optimizer_stride = 0;
  uint64_t message_stride = 0;

  // Returns the layout for these options. Sums saturate: options that make no
  // sense have a layout of 2^64 - 1 bytes.
  static SegmentLayout Of(const SegmentOptions& options);
};

// The regions of a mapped segment. Every argument is safe: an index beyond its
// range is reduced to the range. Thread-safe.
struct Segment::Regions {
  Regions(std::byte* base, const SegmentOptions& options)
      : base_(base), options_(options), layout_(SegmentLayout::Of(options)) {}

  ControlWords& control() const { return *At<ControlWords>(layout_.control); }

  // Only for a segment with devices.
  DeviceWords& device(uint32_t index) const {
    return *At<DeviceWords>(layout_.devices +
                            index % options_.num_devices * sizeof(DeviceWords));
  }

  MeetingWords& meeting() const { return *At<MeetingWords>(layout_.meeting); }
  // Only for a segment with members.
  MemberWords& member(uint32_t rank) const {
    return *At<MemberWords>(layout_.members +
                            rank % options_.num_members * sizeof(MemberWords));
  }

  // The words and the block of a slot. SlotTable has the same by task number.
  SharedWord slot_word(uint64_t slot) const {
    return Word(layout_.slot_words, SlotIndex(slot));
  }
  SharedWord slot_place(uint64_t slot) const {
    return Word(layout_.slot_places, SlotIndex(slot));
  }
  absl::Span<std::byte> slot_block(uint64_t slot) const {
    return {
        At<std::byte>(layout_.slots + SlotIndex(slot) * layout_.slot_stride),
        static_cast<size_t>(options_.slot_bytes)};
  }

  // Only for a segment with overflow blocks.
  SharedWord overflow_word(uint64_t index) const {
    return Word(layout_.overflow_words, index % options_.num_overflow_blocks);
  }
  absl::Span<std::byte> overflow_block(uint64_t index) const {
    return {
        At<std::byte>(layout_.overflow + index % options_.num_overflow_blocks *
                                             layout_.overflow_stride),
        static_cast<size_t>(options_.overflow_bytes)};
  }

  // All slots and overflow blocks, whole pages.
  absl::Span<std::byte> task_blocks() const {
    return {At<std::byte>(layout_.slots),
            static_cast<size_t>(layout_.messages - layout_.slots)};
  }

  // The done word and the gradient of a place: see JobShape::PlaceOf().
  SharedWord done_word(uint32_t place) const {
    return Word(layout_.done_words, place % layout_.board_places);
  }
  absl::Span<float> gradient(uint32_t place) const {
    return {At<float>(layout_.gradients +
                      place % layout_.board_places * layout_.weights_stride),
            static_cast<size_t>(options_.num_parameters)};
  }
  // The word of a part's message in the batch's place of a step. Only for a
  // segment with messages.
  SharedWord message_word(uint32_t place, uint64_t message,
                          uint64_t part) const {
    const uint64_t of_part =
        place % options_.batches_per_step * options_.num_messages +
        message % options_.num_messages;
    return Word(layout_.message_words,
                of_part * options_.parts + part % options_.parts);
  }
  // The batch's place of a step for messages, [message_bytes].
  absl::Span<std::byte> messages(uint32_t place) const {
    return {At<std::byte>(layout_.messages + place % options_.batches_per_step *
                                                 layout_.message_stride),
            static_cast<size_t>(options_.message_bytes)};
  }
  // Returns the first word of a BatchRecord: see JobShape::RecordOf().
  uint64_t* record_words(uint64_t record) const;

  absl::Span<float> weights(uint64_t version) const {
    return {At<float>(layout_.weights + version % layout_.weight_versions *
                                            layout_.weights_stride),
            static_cast<size_t>(options_.num_parameters)};
  }
  absl::Span<float> optimizer_state(uint64_t version) const {
    return {At<float>(layout_.optimizer_state +
                      version % 2 * layout_.optimizer_stride),
            static_cast<size_t>(options_.num_parameters *
                                options_.optimizer_floats_per_parameter)};
  }

 private:
  template <typename T>
  T* At(uint64_t offset) const {
    return reinterpret_cast<T*>(base_ + offset);
  }
  // Reduces `slot` to its range. Divides only if `slot` is out of range.
  uint64_t SlotIndex(uint64_t slot) const {
    return slot < options_.num_slots ? slot : slot % options_.num_slots;
  }
  SharedWord Word(uint64_t offset, uint64_t index) const {
    return SharedWord(*At<uint64_t>(offset + index * sizeof(uint64_t)));
  }

  std::byte* base_;
  SegmentOptions options_;
  SegmentLayout layout_;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_QUEUE_SEGMENT_LAYOUT_H_
