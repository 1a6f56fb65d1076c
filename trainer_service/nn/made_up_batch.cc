#include "trainer_service/nn/made_up_batch.h"

#include <cstddef>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/philox.h"

namespace fgnn {
namespace {

// Draws numbers in [0, end) from the stream `hop`.
std::vector<uint32_t> DrawNumbers(uint64_t count, uint64_t end, uint32_t hop) {
  const PhiloxKey key = MakePhiloxKey(0, 0, 0, hop, Purpose::kNeighbors);
  std::vector<uint32_t> numbers(count);
  for (uint64_t i = 0; i < count; i += 4) {
    const PhiloxBlock block =
        Philox4x32({static_cast<uint32_t>(i / 4),
                    static_cast<uint32_t>(i / 4 >> 32), 0, 0},
                   key);
    for (uint64_t j = 0; j < 4 && i + j < count; ++j) {
      numbers[i + j] = static_cast<uint32_t>(block.words[j] * end >> 32);
    }
  }
  return numbers;
}

}  // namespace

absl::Status CheckHops(absl::Span<const HopSize> hops, uint64_t num_nodes) {
  for (size_t h = 0; h < hops.size(); ++h) {
    const HopSize& hop = hops[h];
    const bool follows =
        h == 0 || hop.num_destinations == hops[h - 1].num_sources;
    if (follows && hop.num_destinations > 0 &&
        hop.num_sources >= hop.num_destinations &&
        hop.num_sources <= num_nodes && hop.num_edges <= UINT32_MAX) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "hops[", h, "] has ", hop.num_destinations, " destinations, ",
        hop.num_sources, " sources and ", hop.num_edges,
        " edges in a graph of ", num_nodes, " vertices; no batch is so"));
  }
  if (!hops.empty() && hops.size() <= size_t{kMaxHops}) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "hops: ", hops.size(), " of them; a batch has 1 to ", kMaxHops));
}

absl::StatusOr<std::unique_ptr<MadeUpBatch>> MadeUpBatch::Make(
    absl::Span<const HopSize> hops, uint64_t num_nodes,
    const MadeUpParts& parts) {
  if (absl::Status status = CheckHops(hops, num_nodes); !status.ok()) {
    return status;
  }
  return absl::WrapUnique(new MadeUpBatch(hops, num_nodes, parts));
}

MadeUpBatch::MadeUpBatch(absl::Span<const HopSize> hops, uint64_t num_nodes,
                         const MadeUpParts& parts) {
  for (size_t h = 0; h < hops.size(); ++h) {
    const HopSize& hop = hops[h];
    std::vector<uint32_t>& indptr = indptr_.emplace_back();
    for (uint64_t d = 0; d <= hop.num_destinations; ++d) {
      indptr.push_back(
          static_cast<uint32_t>(d * hop.num_edges / hop.num_destinations));
    }
    indices_.push_back(
        DrawNumbers(hop.num_edges, hop.num_sources, static_cast<uint32_t>(h)));
    weights_.emplace_back(parts.weighs_edges ? hop.num_edges : 0, 1.0F);
    BlockView& block = task_.hops[h];
    block.num_destinations = static_cast<uint32_t>(hop.num_destinations);
    block.num_sources = static_cast<uint32_t>(hop.num_sources);
  }
  // The vectors do not move from here on.
  for (size_t h = 0; h < hops.size(); ++h) {
    task_.hops[h].indptr = indptr_[h];
    task_.hops[h].indices = indices_[h];
    task_.hops[h].weights = weights_[h];
  }
  input_nodes_ = DrawNumbers(hops.back().num_sources, num_nodes,
                             static_cast<uint32_t>(hops.size()));
  task_.num_seeds = static_cast<uint32_t>(hops.front().num_destinations);
  if (parts.num_pairs == 0 && parts.target_columns == 0) {
    labels_.resize(task_.num_seeds);
  } else if (parts.num_pairs == 0) {
    targets_.resize(task_.num_seeds * parts.target_columns);
  } else {
    pairs_ = DrawNumbers(2 * parts.num_pairs, task_.num_seeds,
                         static_cast<uint32_t>(hops.size()) + 1);
    task_.pairs = pairs_;
    task_.num_positives = 1;
  }
  task_.num_hops = static_cast<int>(hops.size());
  task_.input_nodes = input_nodes_;
  task_.shares_inputs = parts.shares_inputs;
}

uint64_t MadeUpBatch::bytes() const {
  uint64_t words = input_nodes_.size() + pairs_.size();
  for (size_t h = 0; h < indptr_.size(); ++h) {
    words += indptr_[h].size() + indices_[h].size() + weights_[h].size();
  }
  return words * sizeof(uint32_t) + labels_.size() * sizeof(int64_t);
}

}  // namespace fgnn
