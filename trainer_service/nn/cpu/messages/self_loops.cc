#include "trainer_service/nn/cpu/messages/self_loops.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"

namespace fgnn {
namespace {

constexpr uint32_t kEntriesPerTask = 4096;

}  // namespace

absl::StatusOr<BlockView> SelfLoops::Add(const BlockView& block) {
  const size_t num_destinations = block.num_destinations;
  const size_t num_entries = block.indices.size() + num_destinations;
  if (num_entries > std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a hop has ", num_entries,
                     " edges with those of vertices to themselves; gat takes "
                     "4294967295: lower sampling.batch_size or fanouts"));
  }
  uint32_t* const indptr = indptr_.Reserve(num_destinations + 1);
  uint32_t* const indices = indices_.Reserve(num_entries);
  indptr[0] = 0;
  uint32_t* next = indices;
  for (uint32_t v = 0; v < num_destinations; ++v) {
    *next++ = v;
    next = std::copy(block.indices.begin() + block.indptr[v],
                     block.indices.begin() + block.indptr[v + 1], next);
    indptr[v + 1] = static_cast<uint32_t>(next - indices);
  }
  BlockView loops;
  loops.num_destinations = block.num_destinations;
  loops.num_sources = block.num_sources;
  loops.num_remote_sources = block.num_remote_sources;
  loops.indptr = absl::MakeConstSpan(indptr, num_destinations + 1);
  loops.indices = absl::MakeConstSpan(indices, num_entries);
  return loops;
}

std::vector<int64_t> CutByEntries(const uint32_t* indptr, int64_t num_lists) {
  std::vector<int64_t> starts = {0};
  for (int64_t i = kDropoutTile; i < num_lists; i += kDropoutTile) {
    if (indptr[i] - indptr[starts.back()] >= kEntriesPerTask) {
      starts.push_back(i);
    }
  }
  starts.push_back(num_lists);
  return starts;
}

}  // namespace fgnn
