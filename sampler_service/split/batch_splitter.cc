#include "sampler_service/split/batch_splitter.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// Returns room for so many entries. The buffer never shrinks.
template <typename T>
T* Reserve(std::vector<T>* buffer, uint64_t count) {
  if (buffer->size() < count) buffer->resize(count);
  return buffer->data();
}

}  // namespace

BatchSplitter::BatchSplitter(const PartitionBook* book, uint32_t num_parts)
    : book_(book), num_parts_(num_parts) {
  assert(num_parts >= 2 && num_parts <= kMostParts);
  for (uint32_t part = 0; part < kFineParts; ++part) {
    owner_of_part_[part] = static_cast<uint8_t>(OwnerOfPart(part, num_parts));
  }
}

absl::Status BatchSplitter::Prepare(const TaskView& whole) {
  if (whole.num_parts != 1 || !whole.pairs.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch ", whole.seq.value(),
                     " cannot be split: it is a part itself, or has pairs"));
  }
  has_weights_ = false;
  for (const BlockView& block : whole.hops) {
    has_weights_ = has_weights_ || !block.weights.empty();
  }
  for (const BlockView& block : whole.hops) {
    if (has_weights_ && block.weights.size() != block.indices.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("batch ", whole.seq.value(),
                       " cannot be split: some of its hops have no weights"));
    }
  }
  FGNN_RETURN_IF_ERROR(CheckInputNodes(whole, book_->num_nodes()));
  whole_ = whole;
  num_remote_ = 0;
  FindOwners();
  for (int h = 0; h < whole.num_hops; ++h) {
    const auto hop = static_cast<size_t>(h);
    FindNeeds(whole.hops[hop], &hops_[hop]);
    CountRows(&hops_[hop]);
    ListRemotes(&hops_[hop]);
  }
  return absl::OkStatus();
}

void BatchSplitter::FindOwners() {
  const uint64_t num_nodes = whole_.input_nodes.size();
  uint8_t* const owners = Reserve(&owners_, num_nodes);
  // The book is rarely in a cache. A loop that does nothing else waits for many
  // of its lines at once.
  const GlobalId* const nodes = whole_.input_nodes.data();
  for (uint64_t v = 0; v < num_nodes; ++v) {
    owners[v] = owner_of_part_[book_->PartOf(nodes[v])];
  }
  PerPart<uint32_t> count = {};
  uint32_t counted = 0;
  const auto count_to = [&](uint32_t end) {
    for (; counted < end; ++counted) ++count[owners[counted]];
  };
  for (int h = 0; h < whole_.num_hops; ++h) {
    const BlockView& block = whole_.hops[static_cast<size_t>(h)];
    Hop& hop = hops_[static_cast<size_t>(h)];
    count_to(block.num_destinations);
    hop.num_destinations = count;
    count_to(block.num_sources);
    hop.num_own = count;
  }
  uint64_t first = 0;
  PerPart<uint64_t> next;
  for (uint32_t p = 0; p < num_parts_; ++p) {
    first_own_[p] = next[p] = first;
    first += count[p];
  }
  uint32_t* const own = Reserve(&own_, num_nodes);
  for (uint32_t v = 0; v < num_nodes; ++v) own[next[owners[v]]++] = v;
}

void BatchSplitter::FindNeeds(const BlockView& block, Hop* hop) {
  uint16_t* const needs = Reserve(&needs_, block.num_sources);
  std::fill_n(needs, block.num_sources, uint16_t{0});
  hop->num_edges = {};
  for (uint32_t d = 0; d < block.num_destinations; ++d) {
    const uint32_t begin = block.indptr[d];
    const uint32_t end = block.indptr[d + 1];
    const auto bit = static_cast<uint16_t>(1U << owners_[d]);
    for (uint32_t e = begin; e < end; ++e) needs[block.indices[e]] |= bit;
    hop->num_edges[owners_[d]] += end - begin;
  }
}

// Counts masks before bits: one addition a source, whatever P is.
void BatchSplitter::CountRows(Hop* hop) {
  constexpr size_t kMasks = 256;
  hop->num_remote = {};
  hop->num_sent = {};
  for (uint32_t q = 0; q < num_parts_; ++q) {
    const auto others = static_cast<uint16_t>(~(1U << q));
    std::array<uint32_t, kMasks> low = {};
    std::array<uint32_t, kMasks> high = {};
    for (const uint32_t v : OwnOf(q).first(hop->num_own[q])) {
      const uint32_t mask = needs_[v] & others;
      ++low[mask % kMasks];
      ++high[mask / kMasks];
    }
    for (uint32_t p = 0; p < num_parts_; ++p) {
      const std::array<uint32_t, kMasks>& masks = p < 8 ? low : high;
      uint32_t rows = 0;
      for (uint32_t mask = 0; mask < kMasks; ++mask) {
        if ((mask >> (p % 8) & 1) != 0) rows += masks[mask];
      }
      hop->counts[q * num_parts_ + p] = rows;
      hop->num_sent[q] += rows;
      hop->num_remote[p] += rows;
    }
  }
}

// The owners come one after the other, so that each list is grouped by them.
void BatchSplitter::ListRemotes(Hop* hop) {
  PerPart<uint64_t> next;
  for (uint32_t p = 0; p < num_parts_; ++p) {
    hop->first_remote[p] = next[p] = num_remote_;
    num_remote_ += hop->num_remote[p];
  }
  uint32_t* const remote = Reserve(&remote_, num_remote_);
  for (uint32_t q = 0; q < num_parts_; ++q) {
    const auto others = static_cast<uint16_t>(~(1U << q));
    for (const uint32_t v : OwnOf(q).first(hop->num_own[q])) {
      for (uint32_t mask = needs_[v] & others; mask != 0; mask &= mask - 1) {
        remote[next[static_cast<uint32_t>(std::countr_zero(mask))]++] = v;
      }
    }
  }
}

absl::Span<const uint32_t> BatchSplitter::OwnOf(uint32_t part) const {
  const Hop& last = hops_[static_cast<size_t>(whole_.num_hops - 1)];
  return absl::MakeConstSpan(own_).subspan(first_own_[part],
                                           last.num_own[part]);
}

absl::Span<const uint32_t> BatchSplitter::RemotesOf(uint32_t part,
                                                    const Hop& hop) const {
  return absl::MakeConstSpan(remote_).subspan(hop.first_remote[part],
                                              hop.num_remote[part]);
}

uint64_t BatchSplitter::BytesOf(uint32_t part) const {
  const auto num_hops = static_cast<size_t>(whole_.num_hops);
  std::array<uint64_t, kMaxHops> destinations;
  std::array<uint64_t, kMaxHops> edges;
  std::array<SplitLevel, kMaxHops> levels;
  for (size_t h = 0; h < num_hops; ++h) {
    const Hop& hop = hops_[h];
    destinations[h] = hop.num_destinations[part];
    edges[h] = hop.num_edges[part];
    levels[h] = {.num_own = hop.num_own[part],
                 .num_remote = hop.num_remote[part],
                 .num_sent = hop.num_sent[part]};
  }
  const SplitLevel& input = levels[num_hops - 1];
  const uint64_t bytes =
      TaskBytes({destinations.data(), num_hops}, {edges.data(), num_hops},
                input.num_own + input.num_remote, has_weights_,
                whole_.rank_order_version != 0);
  return PartBytes(bytes, num_parts_, {levels.data(), num_hops});
}

absl::Status BatchSplitter::Write(uint32_t part, uint64_t job_key,
                                  const SampleSeconds& seconds,
                                  absl::Span<std::byte> block) {
  TaskWriter writer(block, job_key, whole_.seq,
                    hops_[0].num_destinations[part]);
  FGNN_RETURN_IF_ERROR(writer.SetPart({.part = part,
                                       .num_parts = num_parts_,
                                       .batch_seeds = whole_.num_seeds,
                                       .batch_digest = whole_.digest}));
  uint32_t* const numbers = Reserve(&numbers_, whole_.input_nodes.size());
  uint32_t number = 0;
  for (const uint32_t v : OwnOf(part)) numbers[v] = number++;
  for (size_t h = 0; h < static_cast<size_t>(whole_.num_hops); ++h) {
    FGNN_RETURN_IF_ERROR(WriteHop(part, h, &writer));
  }
  FGNN_RETURN_IF_ERROR(WriteInput(part, &writer));
  FGNN_RETURN_IF_ERROR(WriteSplit(part, &writer));
  writer.Finish(seconds);
  return absl::OkStatus();
}

absl::Status BatchSplitter::WriteHop(uint32_t part, size_t h,
                                     TaskWriter* writer) {
  const BlockView& from = whole_.hops[h];
  const Hop& hop = hops_[h];
  FGNN_ASSIGN_OR_RETURN(const TaskWriter::HopArrays to,
                        writer->AddHop(hop.num_destinations[part],
                                       hop.num_edges[part], has_weights_));
  writer->SetNumSources(hop.num_own[part] + hop.num_remote[part],
                        hop.num_remote[part]);
  uint32_t* const numbers = numbers_.data();
  uint32_t number = hop.num_own[part];
  for (const uint32_t v : RemotesOf(part, hop)) numbers[v] = number++;
  uint32_t* indptr = to.indptr;
  uint32_t* index = to.indices;
  float* weight = to.weights;
  *indptr++ = 0;
  for (const uint32_t d : OwnOf(part).first(hop.num_destinations[part])) {
    const uint32_t begin = from.indptr[d];
    const uint32_t end = from.indptr[d + 1];
    for (uint32_t e = begin; e < end; ++e) *index++ = numbers[from.indices[e]];
    *indptr++ = static_cast<uint32_t>(index - to.indices);
    if (weight == nullptr) continue;
    weight = std::copy_n(from.weights.data() + begin, end - begin, weight);
  }
  return absl::OkStatus();
}

absl::Status BatchSplitter::WriteInput(uint32_t part,
                                       TaskWriter* writer) const {
  const Hop& last = hops_[static_cast<size_t>(whole_.num_hops - 1)];
  const absl::Span<const uint32_t> own = OwnOf(part);
  const absl::Span<const uint32_t> remote = RemotesOf(part, last);
  const auto gather = [&](absl::Span<const uint32_t> from, uint32_t* to) {
    for (const uint32_t v : own) *to++ = from[v];
    for (const uint32_t v : remote) *to++ = from[v];
  };
  FGNN_ASSIGN_OR_RETURN(
      uint32_t* const nodes,
      writer->AddInputNodes(static_cast<uint32_t>(own.size() + remote.size())));
  gather(whole_.input_nodes, nodes);
  if (whole_.rank_order_version == 0) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(uint32_t* const ranks,
                        writer->AddHotRanks(whole_.rank_order_version));
  gather(whole_.hot_rank, ranks);
  return absl::OkStatus();
}

absl::Status BatchSplitter::WriteSplit(uint32_t part,
                                       TaskWriter* writer) const {
  const auto num_hops = static_cast<size_t>(whole_.num_hops);
  std::array<uint32_t, kMaxHops> num_sent;
  for (size_t h = 0; h < num_hops; ++h) num_sent[h] = hops_[h].num_sent[part];
  FGNN_ASSIGN_OR_RETURN(const TaskWriter::SplitArrays to,
                        writer->AddSplit({num_sent.data(), num_hops}));
  for (size_t h = 0; h < num_hops; ++h) {
    const Hop& hop = hops_[h];
    std::copy_n(hop.counts.data(), num_parts_ * num_parts_,
                to.levels[h].counts);
    uint32_t* row = to.levels[h].send;
    for (uint32_t receiver = 0; receiver < num_parts_; ++receiver) {
      uint32_t first = 0;  // Number of the receiver's rows of earlier owners.
      for (uint32_t q = 0; q < part; ++q) {
        first += hop.counts[q * num_parts_ + receiver];
      }
      for (const uint32_t v :
           RemotesOf(receiver, hop)
               .subspan(first, hop.counts[part * num_parts_ + receiver])) {
        *row++ = numbers_[v];
      }
    }
    if (h + 1 == num_hops) break;
    uint32_t* node = to.levels[h].remote_nodes;
    for (const uint32_t v : RemotesOf(part, hop)) {
      *node++ = whole_.input_nodes[v];
    }
  }
  const absl::Span<const uint32_t> own = OwnOf(part);
  std::copy(own.begin(), own.end(), to.canonical);
  return absl::OkStatus();
}

}  // namespace fgnn
