#include "trainer_service/nn/cpu/messages/gat_inference.h"

#include <algorithm>

#include "trainer_service/compute/target_clones.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"
#include "trainer_service/nn/cpu/kernels/products.h"
#include "trainer_service/nn/cpu/kernels/row_kernels.h"
#include "trainer_service/nn/cpu/messages/edge_softmax.h"
#include "trainer_service/nn/cpu/messages/head_kernels.h"
#include "trainer_service/nn/exp_of_negative.h"

namespace fgnn {
namespace {

// Entries whose weights are made before their messages are added. The messages
// stay in the cache meanwhile.
constexpr uint32_t kEntriesAtOnce = 16;

struct Vectors {
  const float* source;       // a_src [H * C]
  const float* destination;  // a_dst [H * C]
};

// The softmax of one vertex, updated entry by entry: sums so far, by head. Each
// weight is relative to the largest score so far.
struct RunningSoftmax {
  HeadShape shape;
  float* sum = nullptr;  // [H * C], sum of messages times weights.
  float own_scores[kMostHeads];
  float largest[kMostHeads];
  float total[kMostHeads];  // Sum of weights.
  float scores[kEntriesAtOnce * kMostHeads];

  // Starts with the vertex itself as the first entry, of weight 1.
  inline __attribute__((always_inline)) void Start(const Vectors& vectors,
                                                   const float* own_row) {
    HeadProducts(shape, vectors.destination, own_row, own_scores);
    HeadProducts(shape, vectors.source, own_row, largest);
    for (int64_t h = 0; h < shape.heads; ++h) {
      largest[h] = LeakyRelu(largest[h] + own_scores[h]);
    }
    std::fill_n(total, shape.heads, 1.0F);
    std::copy_n(own_row, shape.width(), sum);
  }

  // Turns `scores` [count, H] into weights. Where one of them is the new
  // largest, scales the earlier sums down.
  inline __attribute__((always_inline)) void MakeWeights(uint32_t count) {
    float before[kMostHeads];
    std::copy_n(largest, shape.heads, before);
    for (uint32_t k = 0; k < count; ++k) {
      for (int64_t h = 0; h < shape.heads; ++h) {
        float& score = scores[k * shape.heads + h];
        score = LeakyRelu(score + own_scores[h]);
        largest[h] = largest[h] < score ? score : largest[h];
      }
    }
    for (int64_t h = 0; h < shape.heads; ++h) {
      const float factor = ExpOfNegative(before[h] - largest[h]);
      total[h] *= factor;
      float* const of_head = sum + h * shape.columns;
      for (int64_t c = 0; c < shape.columns; ++c) of_head[c] *= factor;
    }
    for (uint32_t k = 0; k < count; ++k) {
      for (int64_t h = 0; h < shape.heads; ++h) {
        scores[k * shape.heads + h] -= largest[h];
      }
    }
    for (int64_t i = 0; i < count * shape.heads; ++i) {
      scores[i] = ExpOfNegative(scores[i]);
    }
    for (uint32_t k = 0; k < count; ++k) {
      for (int64_t h = 0; h < shape.heads; ++h) {
        total[h] += scores[k * shape.heads + h];
      }
    }
  }

  inline __attribute__((always_inline)) void Finish() {
    for (int64_t h = 0; h < shape.heads; ++h) {
      const float scale = 1.0F / total[h];
      float* const of_head = sum + h * shape.columns;
      for (int64_t c = 0; c < shape.columns; ++c) of_head[c] *= scale;
    }
  }
};

// Sets out [H * C] to the layer's output for the messages of list i, without
// the bias.
inline __attribute__((always_inline)) void AttendToList(
    const HeadShape& shape, const Vectors& vectors, const RowLists& lists,
    int64_t i, uint32_t end_of_all, const float* messages, float* out) {
  const int64_t width = shape.width();
  RunningSoftmax softmax;
  softmax.shape = shape;
  softmax.sum = out;
  softmax.Start(vectors,
                messages + width * (lists.own == nullptr ? i : lists.own[i]));
  const uint32_t end = lists.indptr[i + 1];
  for (uint32_t first = lists.indptr[i]; first != end;) {
    const uint32_t count = std::min(kEntriesAtOnce, end - first);
    for (uint32_t k = 0; k < count; ++k) {
      PrefetchEntry(lists, first + k, end_of_all, messages, width);
      HeadProducts(shape, vectors.source,
                   messages + lists.indices[first + k] * width,
                   softmax.scores + k * shape.heads);
    }
    softmax.MakeWeights(count);
    for (uint32_t k = 0; k < count; ++k) {
      AddScaledHeads(shape, softmax.scores + k * shape.heads,
                     messages + lists.indices[first + k] * width, out);
    }
    first += count;
  }
  softmax.Finish();
}

FGNN_TARGET_CLONES
void AttendToLists(const HeadShape& shape, const Vectors& vectors,
                   const RowLists& lists, int64_t first, int64_t last,
                   const float* messages, float* out) {
  const uint32_t end_of_all = lists.indptr[last];
  for (int64_t i = first; i < last; ++i) {
    AttendToList(shape, vectors, lists, i, end_of_all, messages,
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
