#include "trainer_service/nn/cpu/layers/neighbor_linear.h"

#include <algorithm>

#include "shared/base/status.h"
#include "trainer_service/compute/target_clones.h"
#include "trainer_service/nn/cpu/kernels/row_kernels.h"

namespace fgnn {
namespace {

template <typename Number>
inline __attribute__((always_inline)) void AddScaledOf(float scale,
                                                       const Number* row,
                                                       int64_t columns,
                                                       float* out) {
  for (int64_t c = 0; c < columns; ++c) out[c] += scale * Widen(row[c]);
}

FGNN_TARGET_CLONES
void AddScaled(float scale, const float* row, int64_t columns, float* out) {
  AddScaledOf(scale, row, columns, out);
}

FGNN_TARGET_CLONES
void AddScaled(float scale, const Bfloat16* row, int64_t columns, float* out) {
  AddScaledOf(scale, row, columns, out);
}

FGNN_TARGET_CLONES
void Scale(float scale, int64_t columns, float* row) {
  for (int64_t c = 0; c < columns; ++c) row[c] *= scale;
}

Factor WeightOf(const NeighborLinearOptions& options,
                absl::Span<const float> weights) {
  return {weights.data() + options.weight_offset, options.out, options.in};
}

NeighborhoodWeights SumWeightsOf(const NeighborLinearOptions& options,
                                 absl::Span<const float> weights) {
  if (!options.epsilon_offset) return {};
  return {.own = 1 + weights[*options.epsilon_offset], .mean = false};
}

}  // namespace

template <typename Number>
bool NeighborLinear<Number>::TransformsFirst(const BlockView& block) const {
  return fgnn::TransformsFirst(
      order_, {.in = options_.in, .out = options_.out, .first = options_.first},
      block,
      static_cast<double>(block.indices.size()) + block.num_destinations);
}

template <typename Number>
absl::Status NeighborLinear<Number>::Start(absl::Span<const float> weights,
                                           const BlockView& block,
                                           const LayerInput<Number>& x) {
  const int64_t out = options_.out;
  const int64_t num_sources = block.num_sources;
  const int64_t num_destinations = block.num_destinations;
  transforms_first_ = TransformsFirst(block);
  x_ = x;
  rows_.Start(x, transforms_first_         ? num_sources
                 : options_.epsilon_offset ? num_destinations
                                           : 0);
  sum_weights_ = SumWeightsOf(options_, weights);
  StartScales(block, x.degrees);
  const FactorOf<Number> weight =
      AsNumbers<Number>(WeightOf(options_, weights), weight_buffer_);
  forward_.Pack(weight.T());
  if (!options_.first || options_.epsilon_offset) backward_.Pack(weight);
  bias_ = weights.subspan(options_.bias_offset, static_cast<size_t>(out));
  messages_ = ReserveNumbers<Number>(
      messages_buffer_,
      transforms_first_ ? num_sources * out : num_destinations * options_.in);
  if (!transforms_first_) return absl::OkStatus();
  return team_->Run(NumRowTasks<Number>(num_sources), [&](int64_t task,
                                                          int worker) {
    const int64_t first = task * kRowsPerTask<Number>;
    const int64_t last = std::min(first + kRowsPerTask<Number>, num_sources);
    const int64_t count = (last - first) * out;
    Number* const to = messages_ + first * out;
    float* const products = floats_.Of(to, count, worker);
    rows_.Copy(first, last, worker);
    forward_.Multiply({rows_.From(first), last - first, options_.in},
                      Into::kOverwrite, products);
    StoreRows(products, count, to);
  });
}

// With degrees the forward pass needs the scales too.
template <typename Number>
void NeighborLinear<Number>::StartScales(const BlockView& block,
                                         const SourceDegrees& degrees) {
  const int64_t num_destinations = block.num_destinations;
  scales_ = scales_buffer_.Floats(block.num_destinations);
  for (int64_t v = 0; v < num_destinations; ++v) {
    const uint32_t drawn = block.indptr[v + 1] - block.indptr[v];
    if (!options_.divides_by_degrees) {
      scales_[v] = sum_weights_.ScaleOf(drawn);
    } else if (drawn == 0) {
      scales_[v] = 0;
    } else {
      scales_[v] = degrees.scales[v] * (degrees.degrees[v] - 1) /
                   static_cast<float>(drawn);
    }
  }
  if (!options_.divides_by_degrees) return;
  sum_weights_.row_scales = degrees.scales;
  sum_weights_.list_scales = scales_;
}

template <typename Number>
void NeighborLinear<Number>::ForwardRows(const BlockView& block, int64_t first,
                                         int64_t last, int worker, float* y) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const RowLists lists = ListsOf(block);
  if (transforms_first_) {
    SumNeighborhoods(sum_weights_, lists, first, last, messages_, out, y);
  } else {
    const int64_t count = (last - first) * in;
    Number* const kept = messages_ + first * in;
    float* const sums = floats_.Of(kept, count, worker);
    if (x_.dense != nullptr) {
      SumNeighborhoods(sum_weights_, lists, first, last, x_.dense, in, sums);
    } else {
      SumNeighborhoods(sum_weights_, lists, first, last, *x_.stored, in, sums);
    }
    StoreRows(sums, count, kept);
    if (options_.epsilon_offset) rows_.Copy(first, last, worker);
    forward_.Multiply({kept, last - first, in}, Into::kOverwrite, y);
  }
  AddRow(bias_.data(), out, last - first, y);
}

template <typename Number>
absl::StatusOr<Number*> NeighborLinear<Number>::Backward(
    const BlockView& block, const Number* dy, float input_scale,
    absl::Span<float> gradient) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const FactorOf<Number> dy_rows = {dy, block.num_destinations, out};
  if (ReachesSources() || options_.epsilon_offset) {
    FGNN_RETURN_IF_ERROR(GradientOfMessages(block, dy));
  }
  // dW is dy^T sums, or (gradient of messages)^T x.
  const absl::Span<float> weight_gradient =
      gradient.subspan(options_.weight_offset, static_cast<size_t>(in * out));
  if (transforms_first_) {
    FGNN_RETURN_IF_ERROR(sums_.OfProducts(
        {messages_gradient_, block.num_sources, out},
        {rows_.From(0), block.num_sources, in}, weight_gradient));
  } else {
    FGNN_RETURN_IF_ERROR(sums_.OfProducts(
        dy_rows, {messages_, block.num_destinations, in}, weight_gradient));
  }
  FGNN_RETURN_IF_ERROR(sums_.OfRows(
      dy_rows,
      gradient.subspan(options_.bias_offset, static_cast<size_t>(out))));
  if (options_.epsilon_offset) {
    FGNN_ASSIGN_OR_RETURN(gradient[*options_.epsilon_offset],
                          GradientOfEpsilon(block, dy));
  }
  if (options_.first) return nullptr;
  FGNN_RETURN_IF_ERROR(GradientOfInput(block, input_scale));
  return input_gradient_;
}

template <typename Number>
void NeighborLinear<Number>::GradientOfSummands(const BlockView& block,
                                                const Number* sums_gradient,
                                                int64_t columns, int64_t first,
                                                int64_t last,
                                                float* rows) const {
  std::fill_n(rows, (last - first) * columns, 0.0F);
  const int64_t own = std::min<int64_t>(last, block.num_destinations);
  const float* const row_scales = sum_weights_.row_scales;
  for (int64_t v = first; v < own; ++v) {
    AddScaled(
        row_scales == nullptr ? sum_weights_.own * scales_[v] : row_scales[v],
        sums_gradient + v * columns, columns, rows + (v - first) * columns);
  }
  AddScaledSumOfLists(transposed_.lists(), first, last, scales_, sums_gradient,
                      columns, rows);
  if (row_scales == nullptr) return;
  for (int64_t u = first; u < last; ++u) {
    Scale(row_scales[u], columns, rows + (u - first) * columns);
  }
}

// Transform first: [S, out], the sum of dy over the sums that a source is in.
// Aggregate first: [D, in], dy W.
template <typename Number>
absl::Status NeighborLinear<Number>::GradientOfMessages(const BlockView& block,
                                                        const Number* dy) {
  if (ReachesSources()) {
    transposed_.Build(block);
  }
  const int64_t columns = transforms_first_ ? options_.out : options_.in;
  const int64_t num_rows =
      transforms_first_ ? block.num_sources : block.num_destinations;
  messages_gradient_ =
      ReserveNumbers<Number>(messages_gradient_buffer_, num_rows * columns);
  return team_->Run(
      NumRowTasks<Number>(num_rows), [&](int64_t task, int worker) {
        const int64_t first = task * kRowsPerTask<Number>;
        const int64_t last = std::min(first + kRowsPerTask<Number>, num_rows);
        const int64_t count = (last - first) * columns;
        Number* const to = messages_gradient_ + first * columns;
        float* const rows = floats_.Of(to, count, worker);
        if (transforms_first_) {
          GradientOfSummands(block, dy, columns, first, last, rows);
        } else {
          backward_.Multiply(
              {dy + first * options_.out, last - first, options_.out},
              Into::kOverwrite, rows);
        }
        StoreRows(rows, count, to);
      });
}

// Returns the sum over v of dy_v . W x_v, or of W^T dy_v . x_v.
template <typename Number>
absl::StatusOr<float> NeighborLinear<Number>::GradientOfEpsilon(
    const BlockView& block, const Number* dy) {
  const int64_t rows = block.num_destinations;
  if (transforms_first_) {
    return sums_.OfElementProducts({dy, rows, options_.out},
                                   {messages_, rows, options_.out});
  }
  return sums_.OfElementProducts({messages_gradient_, rows, options_.in},
                                 {rows_.From(0), rows, options_.in});
}

template <typename Number>
absl::Status NeighborLinear<Number>::GradientOfInput(const BlockView& block,
                                                     float input_scale) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t num_sources = block.num_sources;
  input_gradient_ =
      ReserveNumbers<Number>(input_gradient_buffer_, num_sources * in);
  return team_->Run(NumRowTasks<Number>(num_sources), [&](int64_t task,
                                                          int worker) {
    const int64_t first = task * kRowsPerTask<Number>;
    const int64_t last = std::min(first + kRowsPerTask<Number>, num_sources);
    const int64_t count = (last - first) * in;
    Number* const to = input_gradient_ + first * in;
    float* const rows = floats_.Of(to, count, worker);
    if (transforms_first_) {
      backward_.Multiply({messages_gradient_ + first * out, last - first, out},
                         Into::kOverwrite, rows);
    } else {
      GradientOfSummands(block, messages_gradient_, in, first, last, rows);
    }
    GradientOfReluAndDropout(input_scale, rows_.From(first), count, rows);
    StoreRows(rows, count, to);
  });
}

template class NeighborLinear<float>;
template class NeighborLinear<Bfloat16>;

NeighborLinearInference::NeighborLinearInference(
    const NeighborLinearOptions& options, absl::Span<const float> weights)
    : options_(options),
      sum_weights_(SumWeightsOf(options, weights)),
      bias_(weights.data() + options.bias_offset) {
  weight_.Pack(WeightOf(options, weights).T());
}

void NeighborLinearInference::Messages(const float* x, int64_t rows,
                                       float* messages) const {
  weight_.Multiply({x, rows, options_.in}, Into::kOverwrite, messages);
}

void NeighborLinearInference::Aggregate(const RowLists& lists, int64_t first,
                                        int64_t last, const float* messages,
                                        float* out) const {
  NeighborhoodWeights weights = sum_weights_;
  if (options_.divides_by_degrees) weights.row_scales = lists.degree_scales;
  SumNeighborhoods(weights, lists, first, last, messages, message_columns(),
                   out);
}

void NeighborLinearInference::Update(const float* aggregates, int64_t rows,
                                     float* y) const {
  if (SendsProducts(options_)) {
    std::copy_n(aggregates, rows * options_.out, y);
  } else {
    weight_.Multiply({aggregates, rows, options_.in}, Into::kOverwrite, y);
  }
  AddRow(bias_, options_.out, rows, y);
}

}  // namespace fgnn
