#include "trainer_service/nn/cpu/layers/neighbor_linear.h"

#include <algorithm>
#include <vector>

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

Factor WeightAt(uint64_t offset, const NeighborLinearOptions& options,
                absl::Span<const float> weights) {
  return {weights.data() + offset, options.out, options.in};
}

NeighborhoodWeights SumWeightsOf(const NeighborLinearOptions& options,
                                 absl::Span<const float> weights) {
  if (!options.epsilon_offset) return {};
  return {.own = 1 + weights[*options.epsilon_offset], .mean = false};
}

}  // namespace

template <typename Number>
bool NeighborLinear<Number>::TransformsFirst(const BlockView& block) const {
  const double summed_rows = options_.self_offset ? 0 : block.num_destinations;
  return fgnn::TransformsFirst(
      options_.order,
      {.in = options_.in, .out = options_.out, .first = options_.first}, block,
      static_cast<double>(block.indices.size()) + summed_rows);
}

template <typename Number>
absl::Status NeighborLinear<Number>::Start(absl::Span<const float> weights,
                                           const BlockView& block,
                                           const LayerInput<Number>& x) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t num_sources = block.num_sources;
  const int64_t num_destinations = block.num_destinations;
  transforms_first_ = TransformsFirst(block);
  rows_.Start(x, transforms_first_ ? num_sources
                 : ReadsOwnRows()  ? num_destinations
                                   : 0);
  sum_weights_ = SumWeightsOf(options_, weights);
  if (!options_.self_offset) StartScales(block, x.degrees);
  weight_.Pack(WeightAt(options_.weight_offset, options_, weights),
               /*backward=*/!options_.first || options_.epsilon_offset);
  if (options_.self_offset) {
    self_weight_.Pack(WeightAt(*options_.self_offset, options_, weights),
                      /*backward=*/!options_.first);
  }
  bias_.Assign(weights.subspan(options_.bias_offset, static_cast<size_t>(out)));
  messages_.Reserve(transforms_first_ ? num_sources * out
                                      : num_destinations * in);
  if (!transforms_first_) return absl::OkStatus();
  return tasks_.Make(
      num_sources, out, messages_.data(),
      [&](int64_t first, int64_t last, int worker, float* products) {
        rows_.Copy(first, last, worker);
        weight_.Forward(rows_.From(first), last - first, Into::kOverwrite,
                        products);
      });
}

// With degrees the forward pass needs the scales too.
template <typename Number>
void NeighborLinear<Number>::StartScales(const BlockView& block,
                                         const SourceDegrees& degrees) {
  const int64_t num_destinations = block.num_destinations;
  float* const scales = scales_.Reserve(num_destinations);
  for (int64_t v = 0; v < num_destinations; ++v) {
    const uint32_t drawn = block.indptr[v + 1] - block.indptr[v];
    if (!options_.divides_by_degrees) {
      scales[v] = sum_weights_.ScaleOf(drawn);
    } else if (drawn == 0) {
      scales[v] = 0;
    } else {
      scales[v] = degrees.scales[v] * (degrees.degrees[v] - 1) /
                  static_cast<float>(drawn);
    }
  }
  if (!options_.divides_by_degrees) return;
  sum_weights_.row_scales = degrees.scales;
  sum_weights_.list_scales = scales;
}

template <typename Number>
template <typename Rows>
void NeighborLinear<Number>::SumRows(const BlockView& block, int64_t first,
                                     int64_t last, const Rows& x,
                                     int64_t columns, float* out) const {
  if (options_.self_offset) {
    MeanOfLists(ListsOf(block), first, last, x, columns, out);
  } else {
    SumNeighborhoods(sum_weights_, ListsOf(block), first, last, x, columns,
                     out);
  }
}

template <typename Number>
void NeighborLinear<Number>::ForwardRows(const BlockView& block, int64_t first,
                                         int64_t last, int worker, float* y) {
  const int64_t in = options_.in;
  const int64_t rows = last - first;
  const Number* const messages = messages_.data();
  if (transforms_first_) {
    SumRows(block, first, last, messages, options_.out, y);
  } else {
    Number* const kept = messages_.data() + first * in;
    float* const sums = tasks_.Floats(kept, rows * in, worker);
    if (rows_.stored() == nullptr) {
      SumRows(block, first, last, rows_.From(0), in, sums);
    } else {
      SumRows(block, first, last, *rows_.stored(), in, sums);
    }
    StoreRows(sums, rows * in, kept);
    if (ReadsOwnRows()) rows_.Copy(first, last, worker);
    weight_.Forward(kept, rows, Into::kOverwrite, y);
  }
  if (options_.self_offset) {
    self_weight_.Forward(rows_.From(first), rows, Into::kAdd, y);
  }
}

template <typename Number>
absl::StatusOr<Number*> NeighborLinear<Number>::Backward(
    const BlockView& block, const Number* dy, float input_scale,
    absl::Span<float> gradient) {
  if (ReachesSources()) transposed_.Build(block);
  if (ReachesSources() || options_.epsilon_offset) {
    FGNN_RETURN_IF_ERROR(GradientOfMessages(block, dy));
  }
  FGNN_RETURN_IF_ERROR(GradientOfWeights(block, dy, gradient));
  if (options_.epsilon_offset) {
    FGNN_ASSIGN_OR_RETURN(gradient[*options_.epsilon_offset],
                          GradientOfEpsilon(block, dy));
  }
  if (options_.first) return nullptr;
  FGNN_RETURN_IF_ERROR(GradientOfInput(block, dy, input_scale));
  return input_gradient_.data();
}

template <typename Number>
void NeighborLinear<Number>::AddGradientOfSummands(const BlockView& block,
                                                   const Number* sums_gradient,
                                                   int64_t columns,
                                                   int64_t first, int64_t last,
                                                   float* rows) const {
  if (options_.self_offset) {
    AddScaledSumOfLists(transposed_.lists(), first, last,
                        transposed_.inverse_degrees(), sums_gradient, columns,
                        rows);
    return;
  }
  const int64_t own = std::min<int64_t>(last, block.num_destinations);
  const float* const row_scales = sum_weights_.row_scales;
  const float* const scales = scales_.data();
  for (int64_t v = first; v < own; ++v) {
    AddScaled(
        row_scales == nullptr ? sum_weights_.own * scales[v] : row_scales[v],
        sums_gradient + v * columns, columns, rows + (v - first) * columns);
  }
  AddScaledSumOfLists(transposed_.lists(), first, last, scales, sums_gradient,
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
  const int64_t columns = transforms_first_ ? options_.out : options_.in;
  const int64_t num_rows =
      transforms_first_ ? block.num_sources : block.num_destinations;
  return tasks_.Make(
      num_rows, columns, messages_gradient_.Reserve(num_rows * columns),
      [&](int64_t first, int64_t last, int, float* rows) {
        if (transforms_first_) {
          std::fill_n(rows, (last - first) * columns, 0.0F);
          AddGradientOfSummands(block, dy, columns, first, last, rows);
        } else {
          weight_.Backward(dy + first * options_.out, last - first,
                           Into::kOverwrite, rows);
        }
      });
}

// dW_self is dy^T x. dW is dy^T sums, or (gradient of messages)^T x.
template <typename Number>
absl::Status NeighborLinear<Number>::GradientOfWeights(
    const BlockView& block, const Number* dy, absl::Span<float> gradient) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  float* const weight_gradient = gradient.data() + options_.weight_offset;
  std::vector<SumsOverRows<Number>> sums;
  sums.push_back(
      {.a = {dy, block.num_destinations, out},
       .rows = gradient.subspan(options_.bias_offset, static_cast<size_t>(out)),
       .products = {}});
  if (options_.self_offset) {
    sums[0].products.push_back(
        {rows_.From(0), in, gradient.data() + *options_.self_offset});
  }
  if (transforms_first_) {
    sums.push_back({.a = {messages_gradient_.data(), block.num_sources, out},
                    .rows = {},
                    .products = {{rows_.From(0), in, weight_gradient}}});
  } else {
    sums[0].products.push_back({messages_.data(), in, weight_gradient});
  }
  return row_sums_.Of(sums);
}

// Returns the sum over v of dy_v . W x_v, or of W^T dy_v . x_v.
template <typename Number>
absl::StatusOr<float> NeighborLinear<Number>::GradientOfEpsilon(
    const BlockView& block, const Number* dy) {
  const int64_t rows = block.num_destinations;
  if (transforms_first_) {
    return row_sums_.OfElementProducts({dy, rows, options_.out},
                                       {messages_.data(), rows, options_.out});
  }
  return row_sums_.OfElementProducts(
      {messages_gradient_.data(), rows, options_.in},
      {rows_.From(0), rows, options_.in});
}

template <typename Number>
absl::Status NeighborLinear<Number>::GradientOfInput(const BlockView& block,
                                                     const Number* dy,
                                                     float input_scale) {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  const int64_t num_sources = block.num_sources;
  const int64_t num_destinations = block.num_destinations;
  const Number* const messages_gradient = messages_gradient_.data();
  return tasks_.Make(
      num_sources, in, input_gradient_.Reserve(num_sources * in),
      [&](int64_t first, int64_t last, int, float* rows) {
        const int64_t count = (last - first) * in;
        if (transforms_first_) {
          weight_.Backward(messages_gradient + first * out, last - first,
                           Into::kOverwrite, rows);
        } else {
          std::fill_n(rows, count, 0.0F);
        }
        // Number of these rows that are destinations too.
        const int64_t own = std::min(last, num_destinations) - first;
        if (options_.self_offset && own > 0) {
          self_weight_.Backward(dy + first * out, own, Into::kAdd, rows);
        }
        if (!transforms_first_) {
          AddGradientOfSummands(block, messages_gradient, in, first, last,
                                rows);
        }
        GradientOfReluAndDropout(input_scale, rows_.From(first), count, rows);
      });
}

template class NeighborLinear<float>;
template class NeighborLinear<Bfloat16>;

NeighborLinearInference::NeighborLinearInference(
    const NeighborLinearOptions& options, bool relu,
    absl::Span<const float> weights)
    : options_(options),
      relu_(relu),
      sum_weights_(SumWeightsOf(options, weights)),
      bias_(weights.data() + options.bias_offset) {
  weight_.Pack(WeightAt(options.weight_offset, options, weights).T());
  if (!options.self_offset) return;
  self_weight_.Pack(WeightAt(*options.self_offset, options, weights).T());
}

void NeighborLinearInference::Messages(const float* x, int64_t rows,
                                       float* messages) const {
  weight_.Multiply({x, rows, options_.in}, Into::kOverwrite, messages);
}

void NeighborLinearInference::Aggregate(const RowLists& lists, int64_t first,
                                        int64_t last, const float* messages,
                                        float* out) const {
  if (options_.self_offset) {
    MeanOfLists(lists, first, last, messages, message_columns(), out);
    return;
  }
  NeighborhoodWeights weights = sum_weights_;
  if (options_.divides_by_degrees) weights.row_scales = lists.degree_scales;
  SumNeighborhoods(weights, lists, first, last, messages, message_columns(),
                   out);
}

void NeighborLinearInference::Update(const float* x, const float* aggregates,
                                     int64_t rows, float* y) const {
  const int64_t in = options_.in;
  const int64_t out = options_.out;
  if (SendsProducts(options_)) {
    std::copy_n(aggregates, rows * out, y);
    AddRow(bias_, out, rows, y);
  } else if (options_.self_offset) {
    RepeatRow(bias_, out, rows, y);
    weight_.Multiply({aggregates, rows, in}, Into::kAdd, y);
  } else {
    weight_.Multiply({aggregates, rows, in}, Into::kOverwrite, y);
    AddRow(bias_, out, rows, y);
  }
  if (options_.self_offset) {
    self_weight_.Multiply({x, rows, in}, Into::kAdd, y);
  }
  if (relu_) ApplyReluAndDropout(Dropout(), 0, rows * out, y);
}

}  // namespace fgnn
