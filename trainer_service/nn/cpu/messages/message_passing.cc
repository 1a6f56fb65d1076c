#include "trainer_service/nn/cpu/messages/message_passing.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "trainer_service/compute/gather_rows.h"
#include "trainer_service/compute/target_clones.h"

namespace fgnn {
namespace {

// Returns how many turns ahead a row is prefetched; rows are in random order.
// The shorter the rows, the further ahead, so that about as many lines are in
// flight. Measured with rows of 200 to 2,400 bytes.
uint32_t PrefetchDistance(uint64_t row_bytes) {
  constexpr uint64_t kBytesUnderWay = 8192;
  return static_cast<uint32_t>(std::clamp<uint64_t>(
      kBytesUnderWay / std::max<uint64_t>(row_bytes, 1), 4, 16));
}

const std::byte* Bytes(const void* row) {
  return static_cast<const std::byte*>(row);
}

// row_of(i) returns row i, of numbers that Widen() takes.
template <typename RowOf>
inline __attribute__((always_inline)) void MeanOfRows(
    const RowLists& lists, int64_t first, int64_t last, RowOf row_of,
    int64_t columns, float* out) {
  using Number = std::remove_pointer_t<decltype(row_of(0))>;
  const uint64_t row_bytes = static_cast<uint64_t>(columns) * sizeof(Number);
  const uint32_t distance = PrefetchDistance(row_bytes);
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
      if (e + distance < end_of_all) {
        PrefetchRow(Bytes(row_of(lists.indices[e + distance])), row_bytes);
      }
      const Number* __restrict from = row_of(lists.indices[e]);
      if (e == begin) {
        for (int64_t c = 0; c < columns; ++c) to[c] = Widen(from[c]);
      } else {
        for (int64_t c = 0; c < columns; ++c) to[c] += Widen(from[c]);
      }
    }
    if (end - begin == 1) continue;
    const float scale = 1.0F / static_cast<float>(end - begin);
    for (int64_t c = 0; c < columns; ++c) to[c] *= scale;
  }
}

template <typename Number>
inline __attribute__((always_inline)) void MeanOfStoredRows(
    const RowLists& lists, int64_t first, int64_t last,
    const std::byte* const* rows, int64_t columns, float* out) {
  MeanOfRows(
      lists, first, last,
      [rows](uint32_t i) { return reinterpret_cast<const Number*>(rows[i]); },
      columns, out);
}

FGNN_TARGET_CLONES
void MeanOfFloat32(const RowLists& lists, int64_t first, int64_t last,
                   const std::byte* const* rows, int64_t columns, float* out) {
  MeanOfStoredRows<float>(lists, first, last, rows, columns, out);
}

FGNN_TARGET_CLONES
void MeanOfFloat16(const RowLists& lists, int64_t first, int64_t last,
                   const std::byte* const* rows, int64_t columns, float* out) {
  MeanOfStoredRows<Float16>(lists, first, last, rows, columns, out);
}

FGNN_TARGET_CLONES
void MeanOfBfloat16(const RowLists& lists, int64_t first, int64_t last,
                    const std::byte* const* rows, int64_t columns, float* out) {
  MeanOfStoredRows<Bfloat16>(lists, first, last, rows, columns, out);
}

template <typename Number>
inline __attribute__((always_inline)) void AddScaledSumOfRows(
    const RowLists& lists, int64_t first, int64_t last, const float* scale,
    const Number* x, int64_t columns, float* out) {
  const uint64_t row_bytes = static_cast<uint64_t>(columns) * sizeof(Number);
  const uint32_t distance = PrefetchDistance(row_bytes);
  const uint32_t end_of_all = lists.indptr[last];
  for (int64_t i = first; i < last; ++i) {
    float* __restrict to = out + (i - first) * columns;
    for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
      if (e + distance < end_of_all) {
        PrefetchRow(Bytes(x + lists.indices[e + distance] * columns),
                    row_bytes);
      }
      const uint32_t row = lists.indices[e];
      const Number* __restrict from = x + row * columns;
      const float factor = scale[row];
      for (int64_t c = 0; c < columns; ++c) to[c] += factor * Widen(from[c]);
    }
  }
}

}  // namespace

FGNN_TARGET_CLONES
void MeanOfLists(const RowLists& lists, int64_t first, int64_t last,
                 const float* x, int64_t columns, float* out) {
  MeanOfRows(
      lists, first, last, [=](uint32_t i) { return x + i * columns; }, columns,
      out);
}

FGNN_TARGET_CLONES
void MeanOfLists(const RowLists& lists, int64_t first, int64_t last,
                 const Bfloat16* x, int64_t columns, float* out) {
  MeanOfRows(
      lists, first, last, [=](uint32_t i) { return x + i * columns; }, columns,
      out);
}

void MeanOfLists(const RowLists& lists, int64_t first, int64_t last,
                 const StoredRows& x, int64_t columns, float* out) {
  switch (x.type) {
    case FeatureType::kFloat32:
      return MeanOfFloat32(lists, first, last, x.rows.data(), columns, out);
    case FeatureType::kFloat16:
      return MeanOfFloat16(lists, first, last, x.rows.data(), columns, out);
    case FeatureType::kBfloat16:
      return MeanOfBfloat16(lists, first, last, x.rows.data(), columns, out);
  }
}

FGNN_TARGET_CLONES
void AddScaledSumOfLists(const RowLists& lists, int64_t first, int64_t last,
                         const float* scale, const float* x, int64_t columns,
                         float* out) {
  AddScaledSumOfRows(lists, first, last, scale, x, columns, out);
}

FGNN_TARGET_CLONES
void AddScaledSumOfLists(const RowLists& lists, int64_t first, int64_t last,
                         const float* scale, const Bfloat16* x, int64_t columns,
                         float* out) {
  AddScaledSumOfRows(lists, first, last, scale, x, columns, out);
}

void TransposedBlock::Build(const BlockView& block, bool with_edges) {
  const uint32_t num_sources = block.num_sources;
  const uint32_t num_destinations = block.num_destinations;
  uint32_t* const indptr = indptr_.Reserve(size_t{num_sources} + 2);
  uint32_t* const indices = indices_.Reserve(block.indices.size());
  uint32_t* const edges =
      with_edges ? edges_.Reserve(block.indices.size()) : nullptr;
  float* const inverse_degrees = inverse_degrees_.Reserve(num_destinations);
  // Counted two places to the right. The pass that fills the lists moves each
  // start to its end; after it the array is the list of starts.
  std::fill_n(indptr, size_t{num_sources} + 2, 0U);
  for (const uint32_t source : block.indices) ++indptr[size_t{source} + 2];
  for (size_t s = 2; s < size_t{num_sources} + 2; ++s) {
    indptr[s] += indptr[s - 1];
  }
  for (uint32_t d = 0; d < num_destinations; ++d) {
    const uint32_t begin = block.indptr[d];
    const uint32_t end = block.indptr[d + 1];
    inverse_degrees[d] =
        begin == end ? 0.0F : 1.0F / static_cast<float>(end - begin);
    for (uint32_t e = begin; e < end; ++e) {
      const uint32_t entry = indptr[size_t{block.indices[e]} + 1]++;
      indices[entry] = d;
      if (edges != nullptr) edges[entry] = e;
    }
  }
}

}  // namespace fgnn
