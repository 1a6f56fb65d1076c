#include "shared/queue/segment_layout.h"

#include <algorithm>
#include <limits>

#include "shared/queue/gradient_board.h"

namespace fgnn {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kMaxBytes = std::numeric_limits<uint64_t>::max();

uint64_t Multiply(uint64_t a, uint64_t b) {
  return b != 0 && a > kMaxBytes / b ? kMaxBytes : a * b;
}

uint64_t AlignUp(uint64_t bytes, uint64_t alignment) {
  return bytes > kMaxBytes - (alignment - 1)
             ? kMaxBytes
             : (bytes + alignment - 1) / alignment * alignment;
}

// Hands out the offsets of regions that follow each other.
class Allocator {
 public:
  uint64_t Take(uint64_t count, uint64_t stride,
                uint64_t alignment = kLineBytes) {
    const uint64_t begin = AlignUp(end_, alignment);
    const uint64_t bytes = Multiply(count, stride);
    end_ = begin > kMaxBytes - bytes ? kMaxBytes : begin + bytes;
    return begin;
  }
  uint64_t end() const { return end_; }

 private:
  uint64_t end_ = sizeof(SegmentHeader);
};

}  // namespace

SegmentLayout SegmentLayout::Of(const SegmentOptions& options) {
  SegmentLayout layout;
  layout.slot_stride = AlignUp(options.slot_bytes, kLineBytes);
  layout.overflow_stride = AlignUp(options.overflow_bytes, kLineBytes);
  layout.message_stride = AlignUp(options.message_bytes, kLineBytes);
  layout.weights_stride =
      AlignUp(Multiply(options.num_parameters, sizeof(float)), kLineBytes);
  layout.optimizer_stride =
      AlignUp(Multiply(Multiply(options.num_parameters,
                                options.optimizer_floats_per_parameter),
                       sizeof(float)),
              kLineBytes);
  const uint64_t open_steps = uint64_t{options.staleness} + 1;
  const JobShape shape(options);
  layout.board_places = shape.num_places();
  layout.num_records = shape.num_records();
  layout.weight_versions = std::max<uint64_t>(open_steps, 2);
  Allocator regions;
  layout.control = regions.Take(1, sizeof(ControlWords));
  layout.devices = regions.Take(options.num_devices, sizeof(DeviceWords));
  layout.meeting = regions.Take(1, sizeof(MeetingWords));
  layout.members = regions.Take(options.num_members, sizeof(MemberWords));
  layout.slot_words = regions.Take(options.num_slots, sizeof(uint64_t));
  layout.slot_places = regions.Take(options.num_slots, sizeof(uint64_t));
  layout.overflow_words =
      regions.Take(options.num_overflow_blocks, sizeof(uint64_t));
  layout.done_words = regions.Take(layout.board_places, sizeof(uint64_t));
  layout.message_words = regions.Take(
      Multiply(Multiply(options.batches_per_step, options.num_messages),
               options.parts),
      sizeof(uint64_t));
  layout.records = regions.Take(layout.num_records, sizeof(BatchRecord));
  layout.weights =
      regions.Take(layout.weight_versions, layout.weights_stride, kPageBytes);
  layout.optimizer_state = regions.Take(2, layout.optimizer_stride);
  layout.gradients = regions.Take(layout.board_places, layout.weights_stride);
  layout.slots =
      regions.Take(options.num_slots, layout.slot_stride, kPageBytes);
  layout.overflow = regions.Take(options.num_overflow_blocks,
                                 layout.overflow_stride, kPageBytes);
  layout.messages =
      regions.Take(options.num_messages > 0 ? options.batches_per_step : 0,
                   layout.message_stride, kPageBytes);
  layout.total_bytes = AlignUp(regions.end(), kPageBytes);
  return layout;
}

uint64_t* Segment::Regions::record_words(uint64_t record) const {
  static_assert(sizeof(BatchRecord) % sizeof(uint64_t) == 0);
  return At<uint64_t>(layout_.records +
                      record % layout_.num_records * sizeof(BatchRecord));
}

}  // namespace fgnn
