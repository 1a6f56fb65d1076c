#include "scheduler/planning/parts/part_plan.h"

#include <algorithm>
#include <string>

#include "shared/minibatch/task.h"
#include "shared/queue/message_board.h"

namespace fgnn {
namespace {

constexpr uint32_t kMaxSlots = 4096;

// Returns the bytes of a row that parts send each other.
uint64_t RowBytes(const JobSpec& spec) {
  return uint64_t{spec.model.hidden} *
         (spec.training.precision == "bf16" ? 2 : sizeof(float));
}

// Returns numbers of sources that no batch exceeds, of the hops whose rows are
// sent. LABOR and plugins have no bound of a vertex's neighbours.
std::vector<uint64_t> MostSources(const PlanInput& input) {
  const SamplingSpec& sampling = input.spec.sampling;
  const uint64_t num_nodes = input.dataset.num_nodes;
  const bool is_bounded = sampling.kind != "labor" && sampling.kind != "plugin";
  std::vector<uint64_t> sources;
  uint64_t most = std::min<uint64_t>(sampling.batch_size, num_nodes);
  for (size_t hop = 0; hop + 1 < sampling.fanouts.size(); ++hop) {
    const int32_t fanout = sampling.fanouts[hop];
    most = is_bounded && fanout >= 0
               ? std::min(num_nodes,
                          most * (uint64_t{1} + static_cast<uint64_t>(fanout)))
               : num_nodes;
    sources.push_back(most);
  }
  return sources;
}

}  // namespace

uint32_t SlotsForParts(uint64_t slots, uint64_t parts) {
  const uint64_t whole = std::min<uint64_t>(slots, kMaxSlots) / parts * parts;
  return static_cast<uint32_t>(std::max(whole, 2 * parts));
}

void PlanParts(const PlanInput& input, SegmentOptions* segment) {
  const uint64_t parts = input.spec.training.parts;
  if (parts <= 1) return;
  const JobSpec& spec = input.spec;
  const auto num_parts = static_cast<uint32_t>(parts);
  segment->parts = parts;
  segment->book = input.book;
  segment->num_messages = NumMessages(spec.model.layers);
  segment->message_bytes =
      MessageBytes(parts, MostSources(input), RowBytes(spec));
  if (spec.queue_slots == 0) {
    segment->num_slots = SlotsForParts(segment->num_slots * parts, parts);
  }
  // A part has its share of the batch's arrays, and remote rows: with twice its
  // share there is room for parts that are larger than others.
  const uint64_t largest =
      MaxPartBytes(segment->slot_bytes, input.sampling.max_input_nodes,
                   num_parts, spec.model.layers);
  const uint64_t bound =
      MaxPartBytes(std::max(segment->slot_bytes, segment->overflow_bytes),
                   input.dataset.num_nodes, num_parts, spec.model.layers);
  segment->slot_bytes =
      std::max<uint64_t>(largest / parts * 2, sizeof(TaskHeader));
  segment->num_overflow_blocks = spec.num_samplers() * num_parts;
  segment->overflow_bytes = bound;
}

uint64_t SplittingBytes(const PlanInput& input,
                        const SamplingProfile& sampling) {
  const uint64_t parts = input.spec.training.parts;
  if (parts <= 1) return 0;
  // Owner, needs and number of a vertex, and its place in each part's lists.
  const uint64_t vertex_bytes = 12 + 4 * parts;
  const uint64_t batch = sampling.max_task_bytes + sampling.max_task_bytes / 4;
  return std::max<uint64_t>(sampling.num_threads, 1) *
         (batch + vertex_bytes * sampling.max_input_nodes);
}

uint64_t MeasuredMessageBytes(const PlanInput& input,
                              const SegmentOptions& segment) {
  if (segment.num_messages == 0) return 0;
  std::vector<uint64_t> sources;
  for (size_t hop = 0; hop + 1 < input.sampling.hops.size(); ++hop) {
    const uint64_t measured = input.sampling.hops[hop].num_sources;
    sources.push_back(measured + measured / 4);
  }
  return segment.batches_per_step *
         std::min(segment.message_bytes,
                  MessageBytes(segment.parts, sources, RowBytes(input.spec)));
}

}  // namespace fgnn
