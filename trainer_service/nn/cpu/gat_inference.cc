#include "trainer_service/nn/cpu/gat_inference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "trainer_service/compute/gather_rows.h"
#include "trainer_service/compute/target_clones.h"
#include "trainer_service/nn/cpu/dropout.h"
#include "trainer_service/nn/cpu/edge_softmax.h"
#include "trainer_service/nn/cpu/products.h"
#include "trainer_service/nn/cpu/row_kernels.h"

namespace fgnn {
namespace {

// The softmax of one vertex while its edges pass by: the weights so far are
// relative to the largest score so far, of each head.
struct RunningSoftmax {
  float largest[kMostHeads];
  float total[kMostHeads];
};

// A score [C] of one head comes; returns the weight of its message. The sum
// [C] of those before is made smaller where the score is the new largest.
inline __attribute__((always_inline)) float WeightOfNext(
    float score, int64_t columns, float* largest, float* total, float* sum) {
  float weight = 1;
  if (score <= *largest) {
    weight = std::exp(score - *largest);
  } else {
    const float factor = std::exp(*largest - score);
    *largest = score;
    *total *= factor;
    for (int64_t c = 0; c < columns; ++c) sum[c] *= factor;
  }
  *total += weight;
  return weight;
}

struct Vectors {
  const float* source;       // a_src [H * C]
  const float* destination;  // a_dst [H * C]
};

// out [H * C] = what the layer makes of the messages of list i, less the bias.
inline __attribute__((always_inline)) void AttendToList(
    const HeadShape& shape, const Vectors& vectors, const RowLists& lists,
    int64_t i, const float* messages, float* out) {
  const int64_t width = shape.width();
  const uint32_t own =
      lists.own == nullptr ? static_cast<uint32_t>(i) : lists.own[i];
  const float* const own_row = messages + own * width;
  float own_scores[kMostHeads];
  float weights[kMostHeads];
  RunningSoftmax softmax;
  HeadProducts(shape, vectors.destination, own_row, own_scores);
  HeadProducts(shape, vectors.source, own_row, softmax.largest);
  for (int64_t h = 0; h < shape.heads; ++h) {
    softmax.largest[h] = LeakyRelu(softmax.largest[h] + own_scores[h]);
  }
  std::fill_n(softmax.total, shape.heads, 1.0F);
  std::copy_n(own_row, width, out);
  for (uint32_t e = lists.indptr[i]; e < lists.indptr[i + 1]; ++e) {
    const float* const row = messages + lists.indices[e] * width;
    HeadProducts(shape, vectors.source, row, weights);
    for (int64_t h = 0; h < shape.heads; ++h) {
      weights[h] = WeightOfNext(LeakyRelu(weights[h] + own_scores[h]),
                                shape.columns, &softmax.largest[h],
                                &softmax.total[h], out + h * shape.columns);
    }
    AddScaledHeads(shape, weights, row, out);
  }
  for (int64_t h = 0; h < shape.heads; ++h) {
    const float scale = 1.0F / softmax.total[h];
    float* const of_head = out + h * shape.columns;
    for (int64_t c = 0; c < shape.columns; ++c) of_head[c] *= scale;
  }
}

FGNN_TARGET_CLONES
void AttendToLists(const HeadShape& shape, const Vectors& vectors,
                   const RowLists& lists, int64_t first, int64_t last,
                   const float* messages, float* out) {
  for (int64_t i = first; i < last; ++i) {
    AttendToList(shape, vectors, lists, i, messages,
                 out + (i - first) * shape.width());
  }
}

class GatInference final : public LayerInference {
 public:
  GatInference(const GatLayerOptions& options, const float* weights)
      : options_(options),
        vectors_{weights + options.source_offset,
                 weights + options.destination_offset},
        bias_(weights + options.bias_offset) {
    weight_.Pack(Factor{weights + options.weight_offset, options.shape.width(),
                        options.in}
                     .T());
  }

  void Messages(const float* x, int64_t rows, float* messages) const override {
    weight_.Multiply({x, rows, options_.in}, Into::kOverwrite, messages);
  }
  void Aggregate(const RowLists& lists, int64_t first, int64_t last,
                 const float* messages, float* out) const override {
    AttendToLists(options_.shape, vectors_, lists, first, last, messages, out);
  }
  bool UpdateReadsInputs() const override { return false; }
  void Update(const float*, const float* sums, int64_t rows,
              float* z) const override {
    const int64_t width = options_.shape.width();
    std::copy_n(sums, rows * width, z);
    AddRow(bias_, width, rows, z);
    if (!options_.last) ApplyReluAndDropout(Dropout(), 0, rows * width, z);
  }

 private:
  const GatLayerOptions options_;
  const Vectors vectors_;
  const float* const bias_;
  PackedFactor weight_;
};

}  // namespace

std::unique_ptr<const LayerInference> MakeGatInference(
    const GatLayerOptions& options, absl::Span<const float> weights) {
  return std::make_unique<GatInference>(options, weights.data());
}

}  // namespace fgnn
