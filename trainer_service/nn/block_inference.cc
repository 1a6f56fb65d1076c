#include "trainer_service/nn/block_inference.h"

#include <algorithm>
#include <stdexcept>

#include "absl/container/flat_hash_map.h"
#include "shared/base/philox.h"

namespace fgnn {
namespace {

ListBlock BlockOf(const RowLists& lists, int64_t first, int64_t last) {
  ListBlock block;
  absl::flat_hash_map<uint32_t, uint32_t> places;
  for (int64_t i = first; i < last; ++i) {
    const uint32_t own =
        lists.own == nullptr ? static_cast<uint32_t>(i) : lists.own[i];
    places.emplace(own, static_cast<uint32_t>(block.sources.size()));
    block.sources.push_back(own);
  }
  for (int64_t i = first; i < last; ++i) {
    for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
      const auto [place, is_new] = places.emplace(
          lists.indices[e], static_cast<uint32_t>(block.sources.size()));
      if (is_new) block.sources.push_back(lists.indices[e]);
      block.indices.push_back(place->second);
    }
    block.indptr.push_back(static_cast<uint32_t>(block.indices.size()));
  }
  return block;
}

}  // namespace

void ListBlock::CopyRows(const float* messages, int64_t columns,
                         float* x) const {
  for (const uint32_t source : sources) {
    x = std::copy_n(messages + int64_t{source} * columns, columns, x);
  }
}

void BlockInference::Messages(const float* inputs, int64_t rows,
                              float* messages) const {
  std::copy_n(inputs, rows * shape_.in, messages);
}

void BlockInference::Aggregate(const RowLists& lists, int64_t first,
                               int64_t last, const float* messages,
                               float* out) const {
  for (int64_t begin = first; begin < last;) {
    int64_t end = begin + 1;
    while (end < last && end - begin < ListBlock::kMostRows &&
           lists.indptr[end + 1] - lists.indptr[begin] <=
               ListBlock::kMostEdges) {
      ++end;
    }
    const absl::Status status = Forward(BlockOf(lists, begin, end), messages,
                                        out + (begin - first) * shape_.out);
    if (!status.ok()) throw std::runtime_error(std::string(status.message()));
    begin = end;
  }
}

void BlockInference::Update(const float* /*inputs*/, const float* aggregates,
                            int64_t rows, float* outputs) const {
  std::copy_n(aggregates, rows * shape_.out, outputs);
}

uint64_t BlockModel::SeedOf(const TrainingBatch& batch) {
  const PhiloxKey key =
      MakePhiloxKey(batch.seed, batch.epoch, batch.batch, 0, Purpose::kDropout);
  return uint64_t{key.word1} << 32 | key.word0;
}

}  // namespace fgnn
