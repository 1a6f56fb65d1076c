#include "trainer_service/nn/cpu/message_passing.h"

#include <algorithm>
#include <cstddef>

#include "trainer_service/compute/target_clones.h"

namespace fgnn {
namespace {

constexpr int64_t kFloatsPerLine = 16;
// Rows are named in random order: the one that is summed some turns later is
// fetched now.
constexpr uint32_t kPrefetchDistance = 4;

inline void PrefetchRow(const float* row, int64_t columns) {
  for (int64_t at = 0; at < columns; at += kFloatsPerLine) {
    __builtin_prefetch(row + at);
  }
}

}  // namespace

FGNN_TARGET_CLONES
void MeanOfLists(const RowLists& lists, int64_t first, int64_t last,
                 const float* x, int64_t columns, float* out) {
  const uint32_t end_of_all = lists.indptr[last];
  for (int64_t i = first; i < last; ++i) {
    float* __restrict to = out + (i - first) * columns;
    const uint32_t begin = lists.indptr[i];
    const uint32_t end = lists.indptr[i + 1];
    if (begin == end) {
      std::fill_n(to, columns, 0.0F);
      continue;
    }
    for (uint32_t e = begin; e < end; ++e) {
      if (e + kPrefetchDistance < end_of_all) {
        PrefetchRow(x + lists.indices[e + kPrefetchDistance] * columns,
                    columns);
      }
      const float* __restrict from = x + lists.indices[e] * columns;
      if (e == begin) {
        std::copy_n(from, columns, to);
      } else {
        for (int64_t c = 0; c < columns; ++c) to[c] += from[c];
      }
    }
    if (end - begin == 1) continue;
    const float scale = 1.0F / static_cast<float>(end - begin);
    for (int64_t c = 0; c < columns; ++c) to[c] *= scale;
  }
}

FGNN_TARGET_CLONES
void AddScaledSumOfLists(const RowLists& lists, int64_t first, int64_t last,
                         const float* scale, const float* x, int64_t columns,
                         float* out) {
  const uint32_t end_of_all = lists.indptr[last];
  for (int64_t i = first; i < last; ++i) {
    float* __restrict to = out + (i - first) * columns;
    for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
      if (e + kPrefetchDistance < end_of_all) {
        PrefetchRow(x + lists.indices[e + kPrefetchDistance] * columns,
                    columns);
      }
      const uint32_t row = lists.indices[e];
      const float* __restrict from = x + row * columns;
      const float factor = scale[row];
      for (int64_t c = 0; c < columns; ++c) to[c] += factor * from[c];
    }
  }
}

void TransposedBlock::Build(const BlockView& block) {
  const uint32_t num_sources = block.num_sources;
  const uint32_t num_destinations = block.num_destinations;
  indptr_ = indptr_buffer_.Words(size_t{num_sources} + 2);
  indices_ = indices_buffer_.Words(block.indices.size());
  inverse_degrees_ = inverse_degrees_buffer_.Floats(num_destinations);
  // Counted two places on, so that after the pass that fills the lists, which
  // moves each start to its end, the array is the list of starts.
  std::fill_n(indptr_, size_t{num_sources} + 2, 0U);
  for (const uint32_t source : block.indices) ++indptr_[size_t{source} + 2];
  for (size_t s = 2; s < size_t{num_sources} + 2; ++s) {
    indptr_[s] += indptr_[s - 1];
  }
  for (uint32_t d = 0; d < num_destinations; ++d) {
    const uint32_t begin = block.indptr[d];
    const uint32_t end = block.indptr[d + 1];
    inverse_degrees_[d] =
        begin == end ? 0.0F : 1.0F / static_cast<float>(end - begin);
    for (uint32_t e = begin; e < end; ++e) {
      indices_[indptr_[size_t{block.indices[e]} + 1]++] = d;
    }
  }
}

}  // namespace fgnn
