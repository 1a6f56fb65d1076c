#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/minibatch/task.h"
#include "shared/minibatch/task_layout.h"

namespace fgnn {
namespace {

template <typename... Parts>
absl::Status Damaged(const TaskHeader& header, const Parts&... parts) {
  return absl::DataLossError(
      absl::StrCat("task of batch ", header.seq, ": ", parts...));
}

absl::Status CheckIdentity(const TaskHeader& header, uint64_t block_bytes,
                           uint64_t job_key) {
  if (header.magic != kTaskMagic) {
    return absl::DataLossError("block holds no task: wrong magic");
  }
  if (header.layout_version != kTaskLayoutVersion) {
    return absl::DataLossError(absl::StrCat("task has layout version ",
                                            header.layout_version,
                                            ", expected ", kTaskLayoutVersion));
  }
  if (task_layout::HeaderCrc(header) != header.header_crc) {
    return absl::DataLossError("task header does not match its checksum");
  }
  if (header.job_key != job_key) {
    return Damaged(header, "it belongs to another job");
  }
  if (std::any_of(std::begin(header.reserved), std::end(header.reserved),
                  [](uint32_t word) { return word != 0; })) {
    return Damaged(header, "its header has a number where there is none");
  }
  if (header.num_hops == 0 || header.num_hops > kMaxHops) {
    return Damaged(header, header.num_hops, " hops, expected 1 to ", kMaxHops);
  }
  if (header.total_bytes > block_bytes) {
    return Damaged(header, header.total_bytes, " bytes in a block of ",
                   block_bytes);
  }
  return absl::OkStatus();
}

// Walks the arrays in their order. Each array must stand exactly where the
// layout puts it, so none can overlap another or leave the block.
class PlaceChecker {
 public:
  explicit PlaceChecker(uint64_t total_bytes) : total_bytes_(total_bytes) {}

  bool Accept(uint64_t offset, uint64_t count, uint64_t element_bytes) {
    if (offset != task_layout::Align(end_)) return false;
    end_ = task_layout::EndAfter(end_, count, element_bytes);
    return end_ <= total_bytes_;
  }
  bool AcceptOptional(uint64_t offset, uint64_t count, uint64_t element_bytes) {
    return offset == 0 || Accept(offset, count, element_bytes);
  }
  // Accepts all arrays of the split section; see PlacesOfSplit().
  bool AcceptSplit(const TaskHeader& header) {
    if (header.split_offset == 0) return true;
    if (header.split_offset != task_layout::Align(end_)) return false;
    end_ = task_layout::PlacesOfSplit(header, header.split_offset).end;
    return end_ <= total_bytes_;
  }
  bool AtEnd() const { return end_ == total_bytes_; }

 private:
  uint64_t total_bytes_;
  uint64_t end_ = sizeof(TaskHeader);
};

absl::Status CheckPlaces(const TaskHeader& header) {
  PlaceChecker places(header.total_bytes);
  if (!places.AcceptOptional(header.pairs_offset, header.num_pairs,
                             2 * sizeof(uint32_t))) {
    return Damaged(header, "pairs are not in their place");
  }
  for (uint32_t h = 0; h < header.num_hops; ++h) {
    const TaskHop& hop = header.hops[h];
    if (!places.Accept(hop.indptr_offset, uint64_t{hop.num_destinations} + 1,
                       sizeof(uint32_t)) ||
        !places.Accept(hop.indices_offset, hop.num_edges, sizeof(uint32_t)) ||
        !places.AcceptOptional(hop.weights_offset, hop.num_edges,
                               sizeof(float))) {
      return Damaged(header, "arrays of hop ", h, " are not in their places");
    }
  }
  if (!places.Accept(header.input_nodes_offset, header.num_input_nodes,
                     sizeof(uint32_t)) ||
      !places.AcceptOptional(header.hot_rank_offset, header.num_input_nodes,
                             sizeof(uint32_t)) ||
      !places.AcceptSplit(header) || !places.AtEnd()) {
    return Damaged(header,
                   "input nodes, hot ranks or split are not in their places");
  }
  return absl::OkStatus();
}

// Checks what a whole batch and a part have in their headers.
absl::Status CheckPart(const TaskHeader& header) {
  if (header.num_parts == 0 || header.num_parts > kMostParts ||
      header.part >= header.num_parts ||
      (header.num_parts > 1) != (header.split_offset != 0)) {
    return Damaged(header, "it is part ", header.part, " of ",
                   header.num_parts);
  }
  const bool is_whole = header.num_parts == 1;
  if (is_whole
          ? header.batch_seeds != header.num_seeds ||
                header.batch_digest != header.digest
          : header.batch_seeds < header.num_seeds || header.pairs_offset != 0) {
    return Damaged(header, "its seeds, digest or pairs are none of a part ",
                   header.part, " of ", header.num_parts);
  }
  for (uint32_t h = 0; h < header.num_hops; ++h) {
    const TaskHop& hop = header.hops[h];
    if (hop.num_own_sources > hop.num_sources ||
        (is_whole &&
         (hop.num_own_sources != hop.num_sources || hop.num_sent != 0))) {
      return Damaged(header, hop.num_own_sources, " own sources of ",
                     hop.num_sources, " in hop ", h, ", of part ", header.part,
                     " of ", header.num_parts);
    }
  }
  return absl::OkStatus();
}

// Checks the numbering of the vertices: see task.h.
absl::Status CheckCounts(const TaskHeader& header) {
  const bool counts_fit =
      header.pairs_offset == 0
          ? header.num_pairs == 0 && header.num_positives == 0
          : header.num_pairs > 0 && header.num_positives > 0 &&
                header.num_pairs % header.num_positives == 0;
  if (!counts_fit) {
    return Damaged(header, header.num_positives, " edges among ",
                   header.num_pairs, " pairs");
  }
  uint32_t expected_destinations = header.num_seeds;
  for (uint32_t h = 0; h < header.num_hops; ++h) {
    const TaskHop& hop = header.hops[h];
    if (hop.num_destinations != expected_destinations) {
      return Damaged(header, hop.num_destinations, " destinations in hop ", h,
                     ", expected ", expected_destinations);
    }
    if (hop.num_own_sources < hop.num_destinations) {
      return Damaged(header, hop.num_own_sources, " sources of its own in hop ",
                     h, ", fewer than its ", hop.num_destinations,
                     " destinations");
    }
    expected_destinations = hop.num_own_sources;
  }
  const uint32_t num_sources = header.hops[header.num_hops - 1].num_sources;
  if (header.num_input_nodes != num_sources) {
    return Damaged(header, header.num_input_nodes,
                   " input nodes, but the last hop has ", num_sources,
                   " sources");
  }
  if ((header.hot_rank_offset == 0) != (header.rank_order_version == 0)) {
    return Damaged(header, "hot ranks and their order's version disagree");
  }
  return absl::OkStatus();
}

template <typename T>
absl::Span<const T> ArrayAt(const std::byte* base, uint64_t offset,
                            uint64_t count) {
  if (offset == 0) return {};
  return {reinterpret_cast<const T*>(base + offset),
          static_cast<size_t>(count)};
}

// Neither loop can exit early, so that both run vectorised.
bool RisesFromZeroTo(absl::Span<const uint32_t> indptr, uint64_t last) {
  uint32_t falls = 0;
  const uint32_t* value = indptr.data();
  for (size_t i = 1; i < indptr.size(); ++i) {
    falls |= static_cast<uint32_t>(value[i] < value[i - 1]);
  }
  return falls == 0 && indptr.front() == 0 && indptr.back() == last;
}

bool AllBelow(absl::Span<const uint32_t> values, uint32_t limit) {
  uint32_t above = 0;
  for (const uint32_t value : values) {
    above |= static_cast<uint32_t>(value >= limit);
  }
  return above == 0;
}

absl::Status CheckHop(const TaskHeader& header, uint32_t h,
                      const BlockView& block) {
  if (!RisesFromZeroTo(block.indptr, header.hops[h].num_edges)) {
    return Damaged(header, "indptr of hop ", h,
                   " does not rise from 0 to its number of edges");
  }
  if (!AllBelow(block.indices, block.num_sources)) {
    return Damaged(header, "indices of hop ", h, " reach beyond its ",
                   block.num_sources, " sources");
  }
  return absl::OkStatus();
}

bool Ascends(absl::Span<const uint32_t> values) {
  uint32_t falls = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    falls |= static_cast<uint32_t>(values[i] <= values[i - 1]);
  }
  return falls == 0;
}

// Checks the rows that part p of P sends and gets, of the sources of hop h.
absl::Status CheckLevel(const TaskHeader& header, uint32_t h,
                        const TaskSplit::Level& level) {
  const uint32_t num_parts = header.num_parts;
  const TaskHop& hop = header.hops[h];
  uint64_t num_got = 0;
  uint64_t num_sent = 0;
  bool ascends = true;
  for (uint32_t q = 0; q < num_parts; ++q) {
    num_got += level.counts[q * num_parts + header.part];
    // Read once: its writer may not have given the block away.
    const uint32_t rows = level.counts[header.part * num_parts + q];
    if (level.counts[q * num_parts + q] != 0 ||
        rows > hop.num_sent - num_sent) {
      return Damaged(header, "counts of the split of hop ", h, " are wrong");
    }
    ascends = ascends && Ascends(level.send.subspan(num_sent, rows));
    num_sent += rows;
  }
  if (num_got != task_layout::NumRemote(hop) || num_sent != hop.num_sent) {
    return Damaged(header, "counts of the split of hop ", h, " give ", num_got,
                   " remote sources and ", num_sent, " rows to send, expected ",
                   task_layout::NumRemote(hop), " and ", hop.num_sent);
  }
  if (!ascends || !AllBelow(level.send, hop.num_own_sources)) {
    return Damaged(header, "rows to send of hop ", h,
                   " are none of its own sources, ascending");
  }
  return absl::OkStatus();
}

absl::Status CheckSplit(const TaskHeader& header, const TaskSplit& split) {
  if (header.split_offset == 0) return absl::OkStatus();
  for (uint32_t h = 0; h < header.num_hops; ++h) {
    FGNN_RETURN_IF_ERROR(CheckLevel(header, h, split.levels[h]));
  }
  // The seeds have the lowest local ids.
  const absl::Span<const uint32_t> canonical = split.canonical;
  const size_t num_seeds = header.num_seeds;
  if (!Ascends(canonical) ||
      (num_seeds > 0 && canonical[num_seeds - 1] >= header.batch_seeds) ||
      (num_seeds < canonical.size() &&
       canonical[num_seeds] < header.batch_seeds)) {
    return Damaged(header, "canonical ids do not ascend, or not by its seeds");
  }
  return absl::OkStatus();
}

TaskSplit SplitOf(const TaskHeader& header, const std::byte* base) {
  TaskSplit split;
  if (header.split_offset == 0) return split;
  const task_layout::SplitPlaces places =
      task_layout::PlacesOfSplit(header, header.split_offset);
  const uint32_t last = header.num_hops - 1;
  for (uint32_t h = 0; h <= last; ++h) {
    const TaskHop& hop = header.hops[h];
    const uint32_t num_remote = task_layout::NumRemote(hop);
    split.levels[h] = {
        .counts =
            ArrayAt<uint32_t>(base, places.levels[h].counts,
                              uint64_t{header.num_parts} * header.num_parts),
        .send = ArrayAt<uint32_t>(base, places.levels[h].send, hop.num_sent),
        .remote_nodes =
            h < last ? ArrayAt<uint32_t>(base, places.levels[h].remote_nodes,
                                         num_remote)
                     : ArrayAt<uint32_t>(base, header.input_nodes_offset,
                                         header.num_input_nodes)
                           .subspan(hop.num_own_sources)};
  }
  split.canonical = ArrayAt<uint32_t>(base, places.canonical,
                                      header.hops[last].num_own_sources);
  return split;
}

TaskView ViewOf(const TaskHeader& header, const std::byte* base) {
  TaskView view;
  view.seq = BatchSeq(header.seq);
  view.part = header.part;
  view.num_parts = header.num_parts;
  view.num_seeds = header.num_seeds;
  view.batch_seeds = header.batch_seeds;
  view.digest = header.digest;
  view.batch_digest = header.batch_digest;
  view.rank_order_version = header.rank_order_version;
  view.seconds = header.seconds;
  view.finished_ns = header.finished_ns;
  view.num_positives = header.num_positives;
  view.pairs = ArrayAt<uint32_t>(base, header.pairs_offset,
                                 uint64_t{header.num_pairs} * 2);
  view.num_hops = static_cast<int>(header.num_hops);
  for (uint32_t h = 0; h < header.num_hops; ++h) {
    const TaskHop& hop = header.hops[h];
    BlockView& block = view.hops[h];
    block.num_destinations = hop.num_destinations;
    block.num_sources = hop.num_sources;
    block.num_remote_sources = task_layout::NumRemote(hop);
    block.indptr = ArrayAt<uint32_t>(base, hop.indptr_offset,
                                     uint64_t{hop.num_destinations} + 1);
    block.indices = ArrayAt<uint32_t>(base, hop.indices_offset, hop.num_edges);
    block.weights = ArrayAt<float>(base, hop.weights_offset, hop.num_edges);
  }
  view.input_nodes = ArrayAt<uint32_t>(base, header.input_nodes_offset,
                                       header.num_input_nodes);
  view.hot_rank =
      ArrayAt<uint32_t>(base, header.hot_rank_offset, header.num_input_nodes);
  view.split = SplitOf(header, base);
  return view;
}

}  // namespace

absl::StatusOr<TaskView> ReadTask(absl::Span<const std::byte> block,
                                  uint64_t job_key) {
  const std::byte* base = block.data();
  if (reinterpret_cast<uintptr_t>(base) % task_layout::kAlignmentBytes != 0) {
    return absl::InvalidArgumentError("block of a task is not 64-byte aligned");
  }
  if (block.size() < sizeof(TaskHeader)) {
    return absl::DataLossError(absl::StrCat("block of ", block.size(),
                                            " bytes is too small for a task"));
  }
  TaskHeader header;
  std::memcpy(&header, base, sizeof(header));
  FGNN_RETURN_IF_ERROR(CheckIdentity(header, block.size(), job_key));
  FGNN_RETURN_IF_ERROR(CheckPart(header));
  FGNN_RETURN_IF_ERROR(CheckPlaces(header));
  FGNN_RETURN_IF_ERROR(CheckCounts(header));
  if (task_layout::Digest(header, base) != header.digest ||
      task_layout::RanksCrc(header, base) != header.ranks_crc ||
      task_layout::SplitCrc(header, base) != header.split_crc) {
    return Damaged(header, "arrays do not match their checksums");
  }
  const TaskView view = ViewOf(header, base);
  if (!AllBelow(view.pairs, header.num_seeds)) {
    return Damaged(header, "pairs reach beyond its ", header.num_seeds,
                   " seeds");
  }
  for (uint32_t h = 0; h < header.num_hops; ++h) {
    FGNN_RETURN_IF_ERROR(CheckHop(header, h, view.hops[h]));
  }
  FGNN_RETURN_IF_ERROR(CheckSplit(header, view.split));
  return view;
}

TaskView ViewOfTask(absl::Span<const std::byte> block) {
  TaskHeader header;
  std::memcpy(&header, block.data(), sizeof(header));
  return ViewOf(header, block.data());
}

absl::Status CheckInputNodes(const TaskView& task, uint64_t num_nodes) {
  if (num_nodes > UINT32_MAX) return absl::OkStatus();
  const auto limit = static_cast<uint32_t>(num_nodes);
  bool all_below = AllBelow(task.input_nodes, limit);
  for (const TaskSplit::Level& level : task.split.levels) {
    all_below = all_below && AllBelow(level.remote_nodes, limit);
  }
  if (all_below) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "task of batch ", task.seq.value(), ": input nodes reach beyond the ",
      num_nodes, " vertices of the dataset"));
}

uint64_t TaskView::num_edges() const {
  uint64_t sum = 0;
  for (int h = 0; h < num_hops; ++h) sum += hops[h].indices.size();
  return sum;
}

}  // namespace fgnn
