#include <cassert>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/minibatch/task.h"
#include "shared/minibatch/task_layout.h"

namespace fgnn {

TaskWriter::TaskWriter(absl::Span<std::byte> block, uint64_t job_key,
                       BatchSeq seq, uint32_t num_seeds)
    : block_(block) {
  header_.magic = kTaskMagic;
  header_.layout_version = kTaskLayoutVersion;
  header_.job_key = job_key;
  header_.seq = seq.value();
  header_.num_seeds = num_seeds;
  header_.num_parts = 1;
  header_.total_bytes = sizeof(TaskHeader);
}

absl::StatusOr<uint64_t> TaskWriter::Reserve(uint64_t bytes) {
  if (reinterpret_cast<uintptr_t>(block_.data()) %
          task_layout::kAlignmentBytes !=
      0) {
    return absl::InvalidArgumentError(
        absl::StrCat("block of task ", header_.seq, " is not 64-byte aligned"));
  }
  const uint64_t offset = task_layout::Align(header_.total_bytes);
  if (offset > block_.size() || bytes > block_.size() - offset) {
    return absl::ResourceExhaustedError(
        absl::StrCat("task needs more than the ", block_.size(),
                     " bytes of its block: batch ", header_.seq, " is at ",
                     task_layout::SaturatingAdd(offset, bytes)));
  }
  header_.total_bytes = offset + bytes;
  return offset;
}

absl::Status TaskWriter::SetPart(const TaskPart& part) {
  assert(part.num_parts > 1 && part.num_parts <= kMostParts);
  assert(part.part < part.num_parts && header_.num_seeds <= part.batch_seeds);
  if (header_.num_hops != 0 || header_.pairs_offset != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("task of batch ", header_.seq,
                     " becomes a part before its hops, and has no pairs"));
  }
  header_.part = part.part;
  header_.num_parts = part.num_parts;
  header_.batch_seeds = part.batch_seeds;
  header_.batch_digest = part.batch_digest;
  return absl::OkStatus();
}

absl::StatusOr<uint32_t*> TaskWriter::AddPairs(uint32_t num_pairs,
                                               uint32_t num_positives) {
  assert(num_positives > 0 && num_pairs % num_positives == 0);
  if (header_.num_hops != 0 || header_.pairs_offset != 0 ||
      header_.num_parts > 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "task of batch ", header_.seq,
        " takes its pairs once, before its hops, and only if it is whole"));
  }
  FGNN_ASSIGN_OR_RETURN(header_.pairs_offset,
                        Reserve(uint64_t{num_pairs} * 2 * sizeof(uint32_t)));
  header_.num_pairs = num_pairs;
  header_.num_positives = num_positives;
  return reinterpret_cast<uint32_t*>(block_.data() + header_.pairs_offset);
}

absl::StatusOr<TaskWriter::HopArrays> TaskWriter::AddHop(
    uint32_t num_destinations, uint64_t num_edges, bool with_weights) {
  if (header_.num_hops == kMaxHops || header_.input_nodes_offset != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("task of batch ", header_.seq, " takes at most ", kMaxHops,
                     " hops, all before its input nodes"));
  }
  if (num_edges > std::numeric_limits<uint32_t>::max()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "task of batch ", header_.seq, ": ", num_edges, " edges in hop ",
        header_.num_hops,
        ", 2^32 - 1 at most; lower sampling.batch_size or sampling.fanouts"));
  }
  TaskHop hop = {};
  hop.num_destinations = num_destinations;
  hop.num_edges = num_edges;
  FGNN_ASSIGN_OR_RETURN(
      hop.indptr_offset,
      Reserve((uint64_t{num_destinations} + 1) * sizeof(uint32_t)));
  FGNN_ASSIGN_OR_RETURN(hop.indices_offset,
                        Reserve(num_edges * sizeof(uint32_t)));
  if (with_weights) {
    FGNN_ASSIGN_OR_RETURN(hop.weights_offset,
                          Reserve(num_edges * sizeof(float)));
  }
  header_.hops[header_.num_hops++] = hop;
  std::byte* base = block_.data();
  return HopArrays{reinterpret_cast<uint32_t*>(base + hop.indptr_offset),
                   reinterpret_cast<uint32_t*>(base + hop.indices_offset),
                   with_weights
                       ? reinterpret_cast<float*>(base + hop.weights_offset)
                       : nullptr};
}

float* TaskWriter::TrimHop(uint64_t num_edges) {
  assert(header_.num_hops > 0);
  TaskHop& hop = header_.hops[header_.num_hops - 1];
  assert(num_edges <= hop.num_edges);
  hop.num_edges = num_edges;
  header_.total_bytes = hop.indices_offset + num_edges * sizeof(uint32_t);
  if (hop.weights_offset == 0) return nullptr;
  // Each array stands directly behind the one before it.
  const uint64_t offset = task_layout::Align(header_.total_bytes);
  std::memmove(block_.data() + offset, block_.data() + hop.weights_offset,
               num_edges * sizeof(float));
  hop.weights_offset = offset;
  header_.total_bytes = offset + num_edges * sizeof(float);
  return reinterpret_cast<float*>(block_.data() + offset);
}

void TaskWriter::SetNumSources(uint32_t num_sources, uint32_t num_remote) {
  assert(header_.num_hops > 0 && num_remote <= num_sources);
  TaskHop& hop = header_.hops[header_.num_hops - 1];
  hop.num_sources = num_sources;
  hop.num_own_sources = num_sources - num_remote;
}

absl::StatusOr<uint32_t*> TaskWriter::AddInputNodes(uint32_t num_input_nodes) {
  if (header_.num_hops == 0 || header_.input_nodes_offset != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("task of batch ", header_.seq,
                     " takes its input nodes once, behind its hops"));
  }
  FGNN_ASSIGN_OR_RETURN(header_.input_nodes_offset,
                        Reserve(uint64_t{num_input_nodes} * sizeof(uint32_t)));
  header_.num_input_nodes = num_input_nodes;
  return reinterpret_cast<uint32_t*>(block_.data() +
                                     header_.input_nodes_offset);
}

absl::StatusOr<uint32_t*> TaskWriter::AddHotRanks(uint32_t version) {
  if (version == 0 || header_.input_nodes_offset == 0 ||
      header_.hot_rank_offset != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "task of batch ", header_.seq,
        " takes the hot ranks of an order (not 0) once, behind its nodes"));
  }
  FGNN_ASSIGN_OR_RETURN(
      header_.hot_rank_offset,
      Reserve(uint64_t{header_.num_input_nodes} * sizeof(uint32_t)));
  header_.rank_order_version = version;
  return reinterpret_cast<uint32_t*>(block_.data() + header_.hot_rank_offset);
}

absl::StatusOr<TaskWriter::SplitArrays> TaskWriter::AddSplit(
    absl::Span<const uint32_t> num_sent) {
  if (header_.num_parts < 2 || header_.input_nodes_offset == 0 ||
      header_.split_offset != 0 || num_sent.size() != header_.num_hops) {
    return absl::FailedPreconditionError(
        absl::StrCat("task of batch ", header_.seq,
                     " takes its split section once, behind its nodes, with a "
                     "number for each hop, and only if it is a part"));
  }
  for (size_t h = 0; h < num_sent.size(); ++h) {
    header_.hops[h].num_sent = num_sent[h];
  }
  const uint64_t offset = task_layout::Align(header_.total_bytes);
  const task_layout::SplitPlaces places =
      task_layout::PlacesOfSplit(header_, offset);
  FGNN_ASSIGN_OR_RETURN(header_.split_offset, Reserve(places.end - offset));
  const auto at = [this](uint64_t place) {
    return place == 0 ? nullptr
                      : reinterpret_cast<uint32_t*>(block_.data() + place);
  };
  SplitArrays arrays = {.levels = {}, .canonical = at(places.canonical)};
  for (size_t h = 0; h < num_sent.size(); ++h) {
    const task_layout::SplitPlaces::Level& level = places.levels[h];
    arrays.levels[h] = {at(level.counts), at(level.send),
                        at(level.remote_nodes)};
  }
  return arrays;
}

uint32_t TaskWriter::Finish(const SampleSeconds& seconds) {
  const std::byte* base = block_.data();
  return Finish(seconds, {.digest = task_layout::Digest(header_, base),
                          .ranks = task_layout::RanksCrc(header_, base),
                          .split = task_layout::SplitCrc(header_, base)});
}

uint32_t TaskWriter::Finish(const SampleSeconds& seconds,
                            const TaskCrcs& crcs) {
  assert(header_.input_nodes_offset != 0);
  assert((header_.num_parts > 1) == (header_.split_offset != 0));
  header_.digest = crcs.digest;
  header_.ranks_crc = crcs.ranks;
  header_.split_crc = crcs.split;
  if (header_.num_parts == 1) {
    header_.batch_seeds = header_.num_seeds;
    header_.batch_digest = header_.digest;
  }
  header_.seconds = seconds;
  header_.finished_ns = MonotonicNanoseconds();
  header_.header_crc = task_layout::HeaderCrc(header_);
  std::memcpy(block_.data(), &header_, sizeof(header_));
  return header_.digest;
}

}  // namespace fgnn
