#include "trainer_service/nn/cpu/sage_layer.h"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "shared/base/status.h"
#include "trainer_service/compute/gather_rows.h"
#include "trainer_service/compute/target_clones.h"

namespace fgnn {
namespace {

// Rows of one task: its aggregated rows stay in the second-level cache until
// the product has read them. A multiple of kDropoutTile.
constexpr int64_t kRowsPerTask = 512;
static_assert(kRowsPerTask % kDropoutTile == 0);
// Weight gradients are sums over all rows: over chunks first, then over these.
constexpr int64_t kRowsPerPartial = 2048;
constexpr int64_t kMostPartials = 16;
constexpr int64_t kFloatsPerSumTask = 16384;
// About how many flops of a product take as long as one byte of random rows.
constexpr double kFlopsPerByte = 10;

int64_t NumTasks(int64_t count, int64_t per_task) {
  return (count + per_task - 1) / per_task;
}

int64_t RowsPerPartial(int64_t rows) {
  const int64_t even = NumTasks(NumTasks(rows, kMostPartials), kDropoutTile);
  return std::max(kRowsPerPartial, even * kDropoutTile);
}

int64_t RoundUpToLine(int64_t floats) { return (floats + 15) / 16 * 16; }

void CopyRow(const float* row, int64_t columns, int64_t rows, float* out) {
  for (int64_t r = 0; r < rows; ++r) {
    std::copy_n(row, columns, out + r * columns);
  }
}

FGNN_TARGET_CLONES
void AddRow(const float* row, int64_t columns, int64_t rows, float* out) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) out[r * columns + c] += row[c];
  }
}

FGNN_TARGET_CLONES
void SumOfRows(const float* x, int64_t rows, int64_t columns, float* out) {
  std::fill_n(out, columns, 0.0F);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) out[c] += x[r * columns + c];
  }
}

FGNN_TARGET_CLONES
void AddTo(const float* x, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] += x[i];
}

// out[first..last) of a parameter = sum over `count` partials in their order.
void SumOfPartials(const float* partials, int64_t count, int64_t stride,
                   absl::Span<float> out) {
  std::copy_n(partials, out.size(), out.data());
  for (int64_t p = 1; p < count; ++p) {
    AddTo(partials + p * stride, static_cast<int64_t>(out.size()), out.data());
  }
}

// Rows [first, first + rows) as f32.
void CopyOwnRows(const StoredRows& x, int64_t columns, int64_t first,
                 int64_t rows, float* out) {
  const std::byte* const* const from = x.rows.data() + first;
  GatherRows(
      x.type, static_cast<uint64_t>(columns), static_cast<size_t>(rows),
      [from](size_t i) { return from[i]; }, out);
}

RowLists ListsOf(const BlockView& block) {
  return {block.indptr.data(), block.indices.data()};
}

}  // namespace

bool SageLayer::TransformsFirst(const BlockView& block) const {
  if (order_ != ProductOrder::kCheapest) {
    return order_ == ProductOrder::kTransformFirst;
  }
  const double edges = static_cast<double>(block.indices.size());
  const double products = options_.first ? 2 : 3;
  const double flops = 2.0 * static_cast<double>(options_.in) *
                       static_cast<double>(options_.out) * products;
  const double aggregate =
      edges * static_cast<double>(options_.in) * 4 * (options_.first ? 1 : 2) +
      block.num_destinations * flops / kFlopsPerByte;
  const double transform = edges * static_cast<double>(options_.out) * 4 * 2 +
                           block.num_sources * flops / kFlopsPerByte;
  return transform < aggregate;
}

void SageLayer::PackWeights(absl::Span<const float> weights) {
  const Factor neighbor = NeighborWeight(weights);
  const Factor self = SelfWeight(weights);
  neighbor_forward_.Pack(neighbor.T());
  self_forward_.Pack(self.T());
  bias_ =
      weights.subspan(options_.bias_offset, static_cast<size_t>(options_.out));
  if (options_.first) return;  // Nobody needs its input's gradient.
  neighbor_backward_.Pack(neighbor);
  self_backward_.Pack(self);
}

void SageLayer::ForwardRows(const BlockView& block, const LayerInput& x,
                            int64_t first, int64_t last) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t rows = last - first;
  float* z = output_ + first * out;
  if (transforms_first_) {
    MeanOfLists(ListsOf(block), first, last, messages_, out, z);
    AddRow(bias_.data(), out, rows, z);
  } else {
    float* means = messages_ + first * in;
    if (x.dense != nullptr) {
      MeanOfLists(ListsOf(block), first, last, x.dense, in, means);
    } else {
      MeanOfLists(ListsOf(block), first, last, *x.stored, in, means);
      CopyOwnRows(*x.stored, in, first, rows, own_rows_ + first * in);
    }
    CopyRow(bias_.data(), out, rows, z);
    neighbor_forward_.Multiply({means, rows, in}, Into::kAdd, z);
  }
  self_forward_.Multiply({x_ + first * in, rows, in}, Into::kAdd, z);
}

absl::StatusOr<float*> SageLayer::Forward(absl::Span<const float> weights,
                                          const BlockView& block,
                                          const LayerInput& x,
                                          const Dropout& dropout) {
  const int64_t num_sources = block.num_sources;
  const int64_t num_destinations = block.num_destinations;
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  transforms_first_ = TransformsFirst(block);
  PackWeights(weights);
  x_ = x.dense;
  if (x_ == nullptr) {
    own_rows_ =
        own_rows_buffer_.Floats(static_cast<size_t>(num_destinations * in));
    x_ = own_rows_;
  }
  output_ = output_buffer_.Floats(static_cast<size_t>(num_destinations * out));
  messages_ = messages_buffer_.Floats(static_cast<size_t>(
      transforms_first_ ? num_sources * out : num_destinations * in));
  if (transforms_first_) {
    FGNN_RETURN_IF_ERROR(
        team_->Run(NumTasks(num_sources, kRowsPerTask), [&](int64_t task, int) {
          const int64_t first = task * kRowsPerTask;
          const int64_t rows = std::min(kRowsPerTask, num_sources - first);
          neighbor_forward_.Multiply({x_ + first * in, rows, in},
                                     Into::kOverwrite, messages_ + first * out);
        }));
  }
  FGNN_RETURN_IF_ERROR(team_->Run(
      NumTasks(num_destinations, kRowsPerTask), [&](int64_t task, int) {
        const int64_t first = task * kRowsPerTask;
        const int64_t last = std::min(first + kRowsPerTask, num_destinations);
        ForwardRows(block, x, first, last);
        if (options_.last) return;
        ApplyReluAndDropout(dropout, first * out, (last - first) * out,
                            output_ + first * out);
      }));
  return output_;
}

absl::StatusOr<float*> SageLayer::Backward(const BlockView& block,
                                           const float* dz, float input_scale,
                                           absl::Span<float> gradient) {
  if (transforms_first_ || !options_.first) {
    transposed_.Build(block);
    FGNN_RETURN_IF_ERROR(GradientOfMessages(block, dz));
  }
  FGNN_RETURN_IF_ERROR(GradientOfWeights(block, dz, gradient));
  if (options_.first) return nullptr;
  FGNN_RETURN_IF_ERROR(GradientOfInput(block, dz, input_scale));
  return input_gradient_;
}

// Transform first: [S, out], the dz of the destinations that a source was
// averaged into. Aggregate first: [D, in], dz W_neigh.
absl::Status SageLayer::GradientOfMessages(const BlockView& block,
                                           const float* dz) {
  const int64_t columns = transforms_first_ ? options_.out : options_.in;
  const int64_t num_rows =
      transforms_first_ ? block.num_sources : block.num_destinations;
  messages_gradient_ =
      messages_gradient_buffer_.Floats(static_cast<size_t>(num_rows * columns));
  return team_->Run(NumTasks(num_rows, kRowsPerTask), [&](int64_t task, int) {
    const int64_t first = task * kRowsPerTask;
    const int64_t last = std::min(first + kRowsPerTask, num_rows);
    float* rows = messages_gradient_ + first * columns;
    if (transforms_first_) {
      std::fill_n(rows, (last - first) * columns, 0.0F);
      AddScaledSumOfLists(transposed_.lists(), first, last,
                          transposed_.inverse_degrees(), dz, columns, rows);
    } else {
      neighbor_backward_.Multiply(
          {dz + first * options_.out, last - first, options_.out},
          Into::kOverwrite, rows);
    }
  });
}

absl::Status SageLayer::GradientOfWeights(const BlockView& block,
                                          const float* dz,
                                          absl::Span<float> gradient) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t self_rows = block.num_destinations;
  // dW_neigh = dz^T means, or (gradient of messages)^T x.
  const int64_t neighbor_rows =
      transforms_first_ ? block.num_sources : block.num_destinations;
  const float* left = transforms_first_ ? messages_gradient_ : dz;
  const float* right = transforms_first_ ? x_ : messages_;
  const int64_t self_chunk = RowsPerPartial(self_rows);
  const int64_t neighbor_chunk = RowsPerPartial(neighbor_rows);
  const int64_t num_self = NumTasks(self_rows, self_chunk);
  const int64_t num_neighbor = NumTasks(neighbor_rows, neighbor_chunk);
  const int64_t bias_at = RoundUpToLine(in * out);
  const int64_t stride = bias_at + RoundUpToLine(out);
  float* partials = partials_buffer_.Floats(
      static_cast<size_t>(stride * (num_self + num_neighbor)));

  FGNN_RETURN_IF_ERROR(team_->Run(num_self + num_neighbor, [&](int64_t task,
                                                               int worker) {
    PackedFactor* const packed = &blocks_[static_cast<size_t>(worker)];
    float* partial = partials + task * stride;
    if (task < num_self) {
      const int64_t first = task * self_chunk;
      const int64_t rows = std::min(self_chunk, self_rows - first);
      const Factor dz_rows = {dz + first * out, rows, out};
      ProductOverRows(dz_rows, {x_ + first * in, rows, in}, packed, partial);
      SumOfRows(dz_rows.data, rows, out, partial + bias_at);
      return;
    }
    const int64_t first = (task - num_self) * neighbor_chunk;
    const int64_t rows = std::min(neighbor_chunk, neighbor_rows - first);
    ProductOverRows({left + first * out, rows, out},
                    {right + first * in, rows, in}, packed, partial);
  }));

  SumOfPartials(
      partials + bias_at, num_self, stride,
      gradient.subspan(options_.bias_offset, static_cast<size_t>(out)));
  const int64_t size = in * out;
  const int64_t sums = NumTasks(size, kFloatsPerSumTask);
  return team_->Run(2 * sums, [&](int64_t task, int) {
    const bool self = task < sums;
    const int64_t first = (self ? task : task - sums) * kFloatsPerSumTask;
    const int64_t count = std::min(kFloatsPerSumTask, size - first);
    const uint64_t offset =
        self ? options_.self_offset : options_.neighbor_offset;
    SumOfPartials(partials + first + (self ? 0 : num_self * stride),
                  self ? num_self : num_neighbor, stride,
                  gradient.subspan(offset + static_cast<uint64_t>(first),
                                   static_cast<size_t>(count)));
  });
}

absl::Status SageLayer::GradientOfInput(const BlockView& block, const float* dz,
                                        float input_scale) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t num_sources = block.num_sources;
  const int64_t num_destinations = block.num_destinations;
  input_gradient_ =
      input_gradient_buffer_.Floats(static_cast<size_t>(num_sources * in));
  return team_->Run(NumTasks(num_sources, kRowsPerTask), [&](int64_t task,
                                                             int) {
    const int64_t first = task * kRowsPerTask;
    const int64_t last = std::min(first + kRowsPerTask, num_sources);
    // Of these rows, those that are destinations too.
    const int64_t own =
        std::clamp<int64_t>(num_destinations - first, 0, last - first);
    float* rows = input_gradient_ + first * in;
    if (transforms_first_) {
      neighbor_backward_.Multiply(
          {messages_gradient_ + first * out, last - first, out},
          Into::kOverwrite, rows);
    } else {
      std::fill_n(rows, (last - first) * in, 0.0F);
    }
    if (own > 0) {
      self_backward_.Multiply({dz + first * out, own, out}, Into::kAdd, rows);
    }
    if (!transforms_first_) {
      AddScaledSumOfLists(transposed_.lists(), first, last,
                          transposed_.inverse_degrees(), messages_gradient_, in,
                          rows);
    }
    GradientOfReluAndDropout(input_scale, x_ + first * in, (last - first) * in,
                             rows);
  });
}

// What a layer does in inference, with its weights packed.
class SageInference final : public LayerInference {
 public:
  SageInference(const SageLayerOptions& options, bool sends_products,
                const Factor& neighbor, const Factor& self, const float* bias)
      : options_(options), sends_products_(sends_products), bias_(bias) {
    neighbor_.Pack(neighbor.T());
    self_.Pack(self.T());
  }

  void Messages(const float* x, int64_t rows, float* messages) const override {
    neighbor_.Multiply({x, rows, options_.in}, Into::kOverwrite, messages);
  }

  void Aggregate(const RowLists& lists, int64_t first, int64_t last,
                 const float* messages, float* means) const override {
    MeanOfLists(lists, first, last, messages,
                sends_products_ ? options_.out : options_.in, means);
  }

  bool UpdateReadsInputs() const override { return true; }

  void Update(const float* x, const float* means, int64_t rows,
              float* z) const override {
    const int64_t out = options_.out;
    if (sends_products_) {
      std::copy_n(means, rows * out, z);
      AddRow(bias_, out, rows, z);
    } else {
      CopyRow(bias_, out, rows, z);
      neighbor_.Multiply({means, rows, options_.in}, Into::kAdd, z);
    }
    self_.Multiply({x, rows, options_.in}, Into::kAdd, z);
    if (!options_.last) ApplyReluAndDropout(Dropout(), 0, rows * out, z);
  }

 private:
  const SageLayerOptions options_;
  const bool sends_products_;
  const float* const bias_;
  PackedFactor neighbor_;
  PackedFactor self_;
};

std::unique_ptr<const LayerInference> SageLayer::Inference(
    absl::Span<const float> weights) const {
  return std::make_unique<SageInference>(
      options_, SendsProducts(), NeighborWeight(weights), SelfWeight(weights),
      weights.data() + options_.bias_offset);
}

}  // namespace fgnn
