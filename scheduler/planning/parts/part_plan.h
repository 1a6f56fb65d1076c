// What a job plans for batches of several parts (training.parts).
#ifndef FGNN_SCHEDULER_PLANNING_PARTS_PART_PLAN_H_
#define FGNN_SCHEDULER_PLANNING_PARTS_PART_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "scheduler/planning/job_plan.h"
#include "shared/queue/segment_options.h"

namespace fgnn {

// Most slots of a global queue.
inline constexpr uint32_t kMaxSlots = 4096;

// Returns whether parts load the features of their own vertices alone, and send
// each other these rows (training.share_inputs). `auto`: if features are not
// all in memory, so that each row is read once.
bool SharesInputs(const PlanInput& input);

// Sets what the parts of batches need: messages, and room for tasks. The other
// fields of the segment are planned for whole batches. Does nothing for these.
void PlanParts(const PlanInput& input, SegmentOptions* segment);

// Returns InvalidArgument if the messages of a step's batches may take more
// than kMostMessageBytes. Names the first field whose lower value mends it, and
// that value.
absl::Status CheckMessages(const PlanInput& input);

// Returns the most slots, no more than `slots`, that hold whole batches; but at
// least those of two batches.
uint32_t SlotsForParts(uint64_t slots, uint64_t parts);

// Returns the bytes that a sampler takes to split batches, beside what was
// measured: each thread has a whole batch and its vertices' numbers. One thread
// has a batch that is as large as it can be: the memory of such a batch is
// given back behind it. 0 for whole batches.
uint64_t SplittingBytes(const PlanInput& input,
                        const SamplingProfile& sampling);

// Returns the bytes of messages that a step's batches take, by the batches that
// were measured; 0 for whole batches. They are no part of SegmentBytes().
uint64_t MeasuredMessageBytes(const PlanInput& input,
                              const SegmentOptions& segment);

// What is known of a job's parts before it runs, by the batches that were
// measured.
struct PartFigures {
  uint64_t parts = 1;
  bool shares_inputs = false;
  // Most rows of hidden layers of a batch: none is computed twice.
  uint64_t hidden_rows = 0;
  // Bytes that the parts of a batch send each other if each needs all of its
  // rows: no more are sent.
  uint64_t most_message_bytes = 0;
};
PartFigures FiguresOfParts(const PlanInput& input);

// Memory that a trainer on a GPU takes to exchange rows with the other parts,
// beside what was measured with whole batches.
struct ExchangeMemory {
  uint64_t pinned_bytes = 0;  // Of the host. A part may send twice its share.
  uint64_t device_bytes = 0;
};
// By the batches that were measured; nothing for whole batches.
ExchangeMemory ExchangeMemoryOnGpu(const PlanInput& input);

// Returns the host's memory for the places of the rows that a trainer on a GPU
// caches, if it caches those of its home parts alone; 0: it does not.
uint64_t HomePlacesBytes(const PlanInput& input, const SegmentOptions& segment);

// Returns the bytes that parts in overflow blocks take, if they have up to
// twice the room of a slot; 0 for whole batches, whose blocks are part of
// SegmentBytes(). Larger parts touch more of their blocks.
uint64_t UsualOverflowBytes(const SegmentOptions& segment);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_PLANNING_PARTS_PART_PLAN_H_
