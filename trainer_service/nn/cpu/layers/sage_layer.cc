#include "trainer_service/nn/cpu/layers/sage_layer.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "shared/base/status.h"
#include "trainer_service/compute/gather_rows.h"
#include "trainer_service/nn/cpu/kernels/row_kernels.h"

namespace fgnn {
namespace {

// Rows of one task. Its aggregated rows, and its results in f32, stay in the
// second-level cache until the product or the rounding has read them. A
// multiple of kDropoutTile.
template <typename Number>
constexpr int64_t kRowsPerTask = std::is_same_v<Number, float> ? 256 : 128;
static_assert(kRowsPerTask<float> % kDropoutTile == 0);
static_assert(kRowsPerTask<Bfloat16> % kDropoutTile == 0);

int64_t RoundUpToLine(int64_t floats) { return (floats + 15) / 16 * 16; }

template <typename Number>
Number* Reserve(AlignedBuffer& buffer, int64_t count) {
  return static_cast<Number*>(
      buffer.Reserve(static_cast<size_t>(count) * sizeof(Number)));
}

}  // namespace

template <typename Number>
bool SageLayer<Number>::TransformsFirst(const BlockView& block) const {
  return fgnn::TransformsFirst(
      order_, {.in = options_.in, .out = options_.out, .first = options_.first},
      block, static_cast<double>(block.indices.size()));
}

template <typename Number>
void SageLayer<Number>::PackWeight(const float* weight,
                                   PackedFactorOf<Number>* forward,
                                   PackedFactorOf<Number>* backward) {
  const int64_t count = options_.out * options_.in;
  const Number* numbers = nullptr;
  if constexpr (std::is_same_v<Number, float>) {
    numbers = weight;
  } else {
    auto* const rounded = Reserve<Number>(weight_buffer_, count);
    RoundToBfloat16s(weight, count, rounded);
    numbers = rounded;
  }
  const FactorOf<Number> factor = {numbers, options_.out, options_.in};
  forward->Pack(factor.T());
  // The gradient of the first layer's input is not needed.
  if (!options_.first) backward->Pack(factor);
}

template <typename Number>
float* SageLayer<Number>::InFloats(Number* rows, int worker) {
  if constexpr (std::is_same_v<Number, float>) {
    return rows;
  } else {
    return Reserve<float>(
        scratch_[static_cast<size_t>(worker)],
        kRowsPerTask<Number> * std::max(options_.in, options_.out));
  }
}

template <typename Number>
void SageLayer<Number>::CopyOwnRows(const StoredRows& x, int64_t first,
                                    int64_t rows, int worker) {
  const int64_t in = options_.in;
  Number* const to = own_rows_ + first * in;
  float* const floats = InFloats(to, worker);
  const std::byte* const* const from = x.rows.data() + first;
  GatherRows(
      x.type, static_cast<uint64_t>(in), static_cast<size_t>(rows),
      [from](size_t i) { return from[i]; }, floats);
  StoreRows(floats, rows * in, to);
}

template <typename Number>
absl::Status SageLayer<Number>::TransformInput(const BlockView& block,
                                               const LayerInput<Number>& x) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t num_sources = block.num_sources;
  const int64_t num_tasks = NumTasks(num_sources, kRowsPerTask<Number>);
  return team_->Run(num_tasks, [&](int64_t task, int worker) {
    const int64_t first = task * kRowsPerTask<Number>;
    const int64_t rows = std::min(kRowsPerTask<Number>, num_sources - first);
    if (x.dense == nullptr) {
      CopyOwnRows(*x.stored, first, rows, worker);
    }
    Number* const messages = messages_ + first * out;
    float* const products = InFloats(messages, worker);
    neighbor_forward_.Multiply({x_ + first * in, rows, in}, Into::kOverwrite,
                               products);
    StoreRows(products, rows * out, messages);
  });
}

template <typename Number>
void SageLayer<Number>::MeanInput(const BlockView& block,
                                  const LayerInput<Number>& x, int64_t first,
                                  int64_t last, int worker) {
  const int64_t in = options_.in;
  Number* const means = messages_ + first * in;
  float* const sums = InFloats(means, worker);
  if (x.dense != nullptr) {
    MeanOfLists(ListsOf(block), first, last, x.dense, in, sums);
  } else {
    MeanOfLists(ListsOf(block), first, last, *x.stored, in, sums);
  }
  StoreRows(sums, (last - first) * in, means);
  if (x.dense == nullptr) CopyOwnRows(*x.stored, first, last - first, worker);
}

template <typename Number>
void SageLayer<Number>::ForwardRows(const BlockView& block, int64_t first,
                                    int64_t last, const Dropout& dropout,
                                    int worker) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t rows = last - first;
  float* const z = options_.last ? logits_ + first * out
                                 : InFloats(output_ + first * out, worker);
  if (transforms_first_) {
    MeanOfLists(ListsOf(block), first, last, messages_, out, z);
  } else {
    neighbor_forward_.Multiply({messages_ + first * in, rows, in},
                               Into::kOverwrite, z);
  }
  self_forward_.Multiply({x_ + first * in, rows, in}, Into::kAdd, z);
  if (options_.last) {
    AddRow(bias_.floats(), out, rows, z);
  } else {
    AddRowReluAndDropout(dropout, bias_, first * out, rows * out, z,
                         output_ + first * out);
  }
}

template <typename Number>
absl::StatusOr<LayerOutput<Number>> SageLayer<Number>::Forward(
    absl::Span<const float> weights, const BlockView& block,
    const LayerInput<Number>& x, const Dropout& dropout) {
  const int64_t num_destinations = block.num_destinations;
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  transforms_first_ = TransformsFirst(block);
  PackWeight(weights.data() + options_.neighbor_offset, &neighbor_forward_,
             &neighbor_backward_);
  PackWeight(weights.data() + options_.self_offset, &self_forward_,
             &self_backward_);
  bias_.Assign(weights.subspan(options_.bias_offset, static_cast<size_t>(out)));
  const int64_t message_rows =
      transforms_first_ ? block.num_sources : num_destinations;
  x_ = x.dense;
  if (x_ == nullptr) {
    own_rows_ = Reserve<Number>(own_rows_buffer_, message_rows * in);
    x_ = own_rows_;
  }
  output_ = Reserve<Number>(output_buffer_, num_destinations * out);
  if constexpr (std::is_same_v<Number, float>) {
    logits_ = output_;
  } else if (options_.last) {
    logits_ = Reserve<float>(logits_buffer_, num_destinations * out);
  }
  messages_ = Reserve<Number>(messages_buffer_,
                              message_rows * (transforms_first_ ? out : in));
  if (transforms_first_) FGNN_RETURN_IF_ERROR(TransformInput(block, x));
  FGNN_RETURN_IF_ERROR(
      team_->Run(NumTasks(num_destinations, kRowsPerTask<Number>),
                 [&](int64_t task, int worker) {
                   const int64_t first = task * kRowsPerTask<Number>;
                   const int64_t last =
                       std::min(first + kRowsPerTask<Number>, num_destinations);
                   if (!transforms_first_)
                     MeanInput(block, x, first, last, worker);
                   ForwardRows(block, first, last, dropout, worker);
                 }));
  return LayerOutput<Number>{output_, logits_};
}

template <typename Number>
absl::StatusOr<Number*> SageLayer<Number>::Backward(
    const BlockView& block, const Number* dz, float input_scale,
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

// Transform first: [S, out], the sum of dz over the destinations that a source
// was averaged into. Aggregate first: [D, in], dz W_neigh.
template <typename Number>
absl::Status SageLayer<Number>::GradientOfMessages(const BlockView& block,
                                                   const Number* dz) {
  const int64_t columns = transforms_first_ ? options_.out : options_.in;
  const int64_t num_rows =
      transforms_first_ ? block.num_sources : block.num_destinations;
  messages_gradient_ =
      Reserve<Number>(messages_gradient_buffer_, num_rows * columns);
  return team_->Run(
      NumTasks(num_rows, kRowsPerTask<Number>), [&](int64_t task, int worker) {
        const int64_t first = task * kRowsPerTask<Number>;
        const int64_t last = std::min(first + kRowsPerTask<Number>, num_rows);
        Number* const to = messages_gradient_ + first * columns;
        float* const rows = InFloats(to, worker);
        if (transforms_first_) {
          std::fill_n(rows, (last - first) * columns, 0.0F);
          AddScaledSumOfLists(transposed_.lists(), first, last,
                              transposed_.inverse_degrees(), dz, columns, rows);
        } else {
          neighbor_backward_.Multiply(
              {dz + first * options_.out, last - first, options_.out},
              Into::kOverwrite, rows);
        }
        StoreRows(rows, (last - first) * columns, to);
      });
}

template <typename Number>
absl::Status SageLayer<Number>::GradientOfWeights(const BlockView& block,
                                                  const Number* dz,
                                                  absl::Span<float> gradient) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t self_rows = block.num_destinations;
  const int64_t neighbor_rows =
      transforms_first_ ? block.num_sources : block.num_destinations;
  const int64_t num_self = NumTasks(self_rows, RowsPerPartial(self_rows));
  const int64_t num_neighbor =
      NumTasks(neighbor_rows, RowsPerPartial(neighbor_rows));
  const int64_t bias_at = RoundUpToLine(in * out);
  const int64_t stride = bias_at + RoundUpToLine(out);
  Partials partials;
  partials.bias_at = bias_at;
  partials.stride = stride;
  partials.self =
      Reserve<float>(partials_buffer_, stride * (num_self + num_neighbor));
  partials.neighbor = partials.self + num_self * stride;
  FGNN_RETURN_IF_ERROR(
      PartialGradients(self_rows, neighbor_rows, dz, partials));

  SumOfPartials(
      partials.self + bias_at, num_self, stride,
      gradient.subspan(options_.bias_offset, static_cast<size_t>(out)));
  const int64_t size = in * out;
  const int64_t sums = NumTasks(size, kFloatsPerSumTask);
  return team_->Run(2 * sums, [&](int64_t task, int) {
    const bool self = task < sums;
    const int64_t first = (self ? task : task - sums) * kFloatsPerSumTask;
    const int64_t count = std::min(kFloatsPerSumTask, size - first);
    const uint64_t offset =
        self ? options_.self_offset : options_.neighbor_offset;
    SumOfPartials((self ? partials.self : partials.neighbor) + first,
                  self ? num_self : num_neighbor, stride,
                  gradient.subspan(offset + static_cast<uint64_t>(first),
                                   static_cast<size_t>(count)));
  });
}

// Computes dW_self = dz^T x and dW_neigh. The latter is (gradient of
// messages)^T x, or dz^T means. dz^T means is in one task with dW_self, so that
// both share the packed dz.
template <typename Number>
absl::Status SageLayer<Number>::PartialGradients(int64_t self_rows,
                                                 int64_t neighbor_rows,
                                                 const Number* dz,
                                                 const Partials& partials) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t self_chunk = RowsPerPartial(self_rows);
  const int64_t neighbor_chunk = RowsPerPartial(neighbor_rows);
  const int64_t num_self = NumTasks(self_rows, self_chunk);
  const int64_t num_alone =
      transforms_first_ ? NumTasks(neighbor_rows, neighbor_chunk) : 0;
  return team_->Run(num_self + num_alone, [&](int64_t task, int worker) {
    PackedFactorOf<Number>* const packed =
        &blocks_[static_cast<size_t>(worker)];
    if (task >= num_self) {
      const int64_t first = (task - num_self) * neighbor_chunk;
      const int64_t rows = std::min(neighbor_chunk, neighbor_rows - first);
      ProductOverRows<Number>(
          {messages_gradient_ + first * out, rows, out},
          {x_ + first * in, rows, in}, packed,
          partials.neighbor + (task - num_self) * partials.stride);
      return;
    }
    const int64_t first = task * self_chunk;
    const int64_t rows = std::min(self_chunk, self_rows - first);
    const FactorOf<Number> dz_rows = {dz + first * out, rows, out};
    float* const self = partials.self + task * partials.stride;
    SumOfRows(dz_rows.data, rows, out, self + partials.bias_at);
    const RightFactor<Number> factors[] = {
        {x_ + first * in, in, self},
        {messages_ + first * in, in,
         partials.neighbor + task * partials.stride}};
    ProductsOverRows<Number>(
        dz_rows, absl::MakeConstSpan(factors, transforms_first_ ? 1 : 2),
        packed);
  });
}

template <typename Number>
absl::Status SageLayer<Number>::GradientOfInput(const BlockView& block,
                                                const Number* dz,
                                                float input_scale) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t num_sources = block.num_sources;
  const int64_t num_destinations = block.num_destinations;
  input_gradient_ = Reserve<Number>(input_gradient_buffer_, num_sources * in);
  return team_->Run(
      NumTasks(num_sources, kRowsPerTask<Number>),
      [&](int64_t task, int worker) {
        const int64_t first = task * kRowsPerTask<Number>;
        const int64_t last =
            std::min(first + kRowsPerTask<Number>, num_sources);
        // Number of these rows that are destinations too.
        const int64_t own =
            std::clamp<int64_t>(num_destinations - first, 0, last - first);
        Number* const to = input_gradient_ + first * in;
        float* const rows = InFloats(to, worker);
        if (transforms_first_) {
          neighbor_backward_.Multiply(
              {messages_gradient_ + first * out, last - first, out},
              Into::kOverwrite, rows);
        } else {
          std::fill_n(rows, (last - first) * in, 0.0F);
        }
        if (own > 0) {
          self_backward_.Multiply({dz + first * out, own, out}, Into::kAdd,
                                  rows);
        }
        if (!transforms_first_) {
          AddScaledSumOfLists(transposed_.lists(), first, last,
                              transposed_.inverse_degrees(), messages_gradient_,
                              in, rows);
        }
        GradientOfReluAndDropout(input_scale, x_ + first * in,
                                 (last - first) * in, rows);
        StoreRows(rows, (last - first) * in, to);
      });
}

template class SageLayer<float>;
template class SageLayer<Bfloat16>;

}  // namespace fgnn
