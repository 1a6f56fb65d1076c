#include "scheduler/planning/parts/part_plan.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "scheduler/planning/capped.h"
#include "scheduler/planning/memory_plan.h"
#include "shared/base/units.h"
#include "shared/graph/book/home_ranks.h"
#include "shared/minibatch/hop_size.h"
#include "shared/minibatch/task.h"
#include "shared/queue/message_board.h"

namespace fgnn {
namespace {

// A hop whose sources' rows the parts of a batch send each other.
struct SentHop {
  uint64_t sources = 0;  // In the whole batch.
  uint64_t row_bytes = 0;
  bool is_hidden = true;  // Whether gradients of the rows come back.
};

// Returns the hops whose rows are sent. `sources`: numbers of sources of the
// hops, the last of which has features.
std::vector<SentHop> SentHops(const PlanInput& input,
                              absl::Span<const uint64_t> sources) {
  const JobSpec& spec = input.spec;
  const uint64_t row_bytes =
      uint64_t{spec.model.hidden} *
      (spec.training.precision == "bf16" ? 2 : sizeof(float));
  std::vector<SentHop> sent;
  for (size_t hop = 0; hop + 1 < sources.size(); ++hop) {
    sent.push_back({sources[hop], row_bytes});
  }
  if (!sources.empty() && SharesInputs(input)) {
    sent.push_back({.sources = sources.back(),
                    .row_bytes = input.dataset.feature_columns * sizeof(float),
                    .is_hidden = false});
  }
  return sent;
}

// Returns the bytes of all messages of a batch.
uint64_t BytesOfMessages(const PlanInput& input,
                         absl::Span<const uint64_t> sources) {
  uint64_t bytes = 0;
  for (const SentHop& hop : SentHops(input, sources)) {
    bytes += (hop.is_hidden ? 2 : 1) * MessageBytes(input.spec.training.parts,
                                                    hop.sources, hop.row_bytes);
  }
  return bytes;
}

// Returns numbers of sources of the hops that no batch exceeds. LABOR and
// plugins have no bound of a vertex's neighbours.
std::vector<uint64_t> MostSources(const PlanInput& input) {
  const SamplingSpec& sampling = input.spec.sampling;
  const uint64_t num_nodes = input.dataset.num_nodes;
  const bool is_bounded = sampling.kind != "labor" && sampling.kind != "plugin";
  std::vector<uint64_t> sources;
  uint64_t most = std::min<uint64_t>(sampling.batch_size, num_nodes);
  for (const int32_t fanout : sampling.fanouts) {
    most = is_bounded && fanout >= 0
               ? std::min(num_nodes,
                          most * (uint64_t{1} + static_cast<uint64_t>(fanout)))
               : num_nodes;
    sources.push_back(most);
  }
  return sources;
}

// Returns the numbers of sources that the measured batches had, and a quarter
// more.
std::vector<uint64_t> MeasuredSources(const SamplingProfile& sampling) {
  std::vector<uint64_t> sources;
  for (const HopSize& hop : sampling.hops) {
    sources.push_back(hop.num_sources + hop.num_sources / 4);
  }
  return sources;
}

// Returns the bytes of the places of a step's batches.
uint64_t BytesOfPlaces(const PlanInput& input) {
  return MultiplyCapped(input.spec.training.batches_per_step,
                        BytesOfMessages(input, MostSources(input)));
}

// A number of the job on which the bytes of messages depend.
struct SizeField {
  const char* name;
  uint32_t& (*of)(JobSpec& spec);
};
constexpr SizeField kSizeFields[] = {
    {"training.batches_per_step",
     [](JobSpec& spec) -> uint32_t& { return spec.training.batches_per_step; }},
    {"model.hidden",
     [](JobSpec& spec) -> uint32_t& { return spec.model.hidden; }},
    {"training.parts",
     [](JobSpec& spec) -> uint32_t& { return spec.training.parts; }}};

// Returns the largest value of the field with which the messages have room; 0:
// none.
uint32_t LargestThatFits(PlanInput input, const SizeField& field) {
  uint32_t& value = field.of(input.spec);
  uint32_t fits = 0;
  uint32_t beyond = value;
  while (beyond - fits > 1) {
    value = fits + (beyond - fits) / 2;
    (BytesOfPlaces(input) <= kMostMessageBytes ? fits : beyond) = value;
  }
  return fits;
}

// Returns what to write for `fits`, the largest value of the field that has
// room; "": no value.
std::string WayOut(const JobSpec& spec, const SizeField& field, uint32_t fits) {
  const std::string name = field.name;
  if (name == "model.hidden" && spec.model.kind == "gat") {
    fits -= fits % spec.model.heads;  // Its heads share the columns out.
  }
  if (fits == 0) return "";
  // A whole batch shares nothing.
  const bool is_whole = name == "training.parts" && fits == 1;
  return absl::StrCat("use ", fits,
                      is_whole && spec.training.share_inputs == "on"
                          ? ", with training.share_inputs auto"
                          : "");
}

}  // namespace

bool SharesInputs(const PlanInput& input) {
  const TrainingSpec& training = input.spec.training;
  if (training.parts <= 1 || training.share_inputs == "off") return false;
  return training.share_inputs == "on" || LoadsRows(input);
}

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
  segment->num_messages = NumMessages(spec.model.layers, SharesInputs(input));
  segment->message_bytes = BytesOfMessages(input, MostSources(input));
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

absl::Status CheckMessages(const PlanInput& input) {
  if (input.spec.training.parts <= 1) return absl::OkStatus();
  const uint64_t bytes = BytesOfPlaces(input);
  if (bytes <= kMostMessageBytes) return absl::OkStatus();
  for (const SizeField& field : kSizeFields) {
    JobSpec spec = input.spec;
    const std::string way_out =
        WayOut(spec, field, LargestThatFits(input, field));
    if (way_out.empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        field.name, " is ", field.of(spec), ", but the messages between ",
        spec.training.parts, " parts of a step's batches may take ",
        FormatBytes(bytes), ", and ", FormatBytes(kMostMessageBytes),
        " is the most; ", way_out));
  }
  return absl::InternalError("whole batches have messages");
}

uint64_t SplittingBytes(const PlanInput& input,
                        const SamplingProfile& sampling) {
  const uint64_t parts = input.spec.training.parts;
  if (parts <= 1) return 0;
  const auto bytes_of = [&](uint64_t batch_bytes,
                            absl::Span<const uint64_t> sources) {
    // Owner, needs and number of a vertex; its place in each part's lists.
    uint64_t bytes = batch_bytes;
    if (!sources.empty()) {
      bytes = AddCapped(bytes, MultiplyCapped(12, sources.back()));
    }
    for (const uint64_t of_hop : sources) {
      bytes = AddCapped(bytes, MultiplyCapped(4 * (parts - 1), of_hop));
    }
    return bytes;
  };
  // Tasks were measured without hot ranks.
  const uint64_t ranks = input.spec.cache.policy == "none"
                             ? 0
                             : sampling.max_input_nodes * sizeof(uint32_t);
  const uint64_t measured = AddCapped(sampling.max_task_bytes, ranks);
  const uint64_t usual =
      bytes_of(AddCapped(measured, measured / 4), MeasuredSources(sampling));
  const uint64_t most =
      std::max(usual, bytes_of(sampling.bound_task_bytes, MostSources(input)));
  const uint64_t threads = std::max<uint64_t>(sampling.num_threads, 1);
  return AddCapped(MultiplyCapped(threads - 1, usual), most);
}

uint64_t MeasuredMessageBytes(const PlanInput& input,
                              const SegmentOptions& segment) {
  if (segment.num_messages == 0) return 0;
  return segment.batches_per_step *
         std::min(segment.message_bytes,
                  BytesOfMessages(input, MeasuredSources(input.sampling)));
}

ExchangeMemory ExchangeMemoryOnGpu(const PlanInput& input) {
  const uint64_t parts = input.spec.training.parts;
  if (parts <= 1) return {};
  ExchangeMemory memory;
  for (const SentHop& hop : SentHops(input, MeasuredSources(input.sampling))) {
    const uint64_t share =
        MessageBytes(parts, hop.sources, hop.row_bytes) / parts;
    // Rows to send and rows that come lie in arrays of their own, which serve
    // all hops. Arrays that grow have an eighth more than they need.
    const uint64_t array = 2 * share;
    memory.pinned_bytes =
        std::max(memory.pinned_bytes, 2 * (array + array / 8));
    // Behind a hidden layer, own and remote rows are put together.
    memory.device_bytes +=
        hop.is_hidden ? hop.sources * hop.row_bytes + 2 * share : share;
  }
  return memory;
}

uint64_t HomePlacesBytes(const PlanInput& input,
                         const SegmentOptions& segment) {
  const uint64_t rows =
      std::max(segment.cache_rows, segment.standby_cache_rows);
  if (!segment.shares_inputs() || rows == 0) return 0;
  const uint64_t homes =
      std::min<uint64_t>(segment.parts, input.spec.num_trainers());
  return RanksForHome(input.dataset.num_nodes, homes, rows) * sizeof(uint32_t);
}

uint64_t UsualOverflowBytes(const SegmentOptions& segment) {
  if (segment.parts <= 1) return 0;
  return MultiplyCapped(
      segment.num_overflow_blocks,
      std::min(segment.overflow_bytes, MultiplyCapped(2, segment.slot_bytes)));
}

PartFigures FiguresOfParts(const PlanInput& input) {
  PartFigures figures = {.parts = input.spec.training.parts,
                         .shares_inputs = SharesInputs(input)};
  std::vector<uint64_t> sources;
  for (const HopSize& hop : input.sampling.hops) {
    // The sources of the hops before the last are rows of hidden layers.
    if (!sources.empty()) figures.hidden_rows += sources.back();
    sources.push_back(hop.num_sources);
  }
  if (figures.parts > 1 && !sources.empty()) {
    figures.most_message_bytes = BytesOfMessages(input, sources);
  }
  return figures;
}

}  // namespace fgnn
