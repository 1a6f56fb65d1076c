#include "trainer_service/nn/cpu/layers/gat_layer.h"

#include <algorithm>
#include <cstddef>

#include "shared/base/status.h"
#include "trainer_service/nn/cpu/kernels/dropout.h"
#include "trainer_service/nn/cpu/kernels/row_kernels.h"
#include "trainer_service/nn/cpu/messages/head_sums.h"

namespace fgnn {
namespace {

constexpr int64_t kFloatsPerDropoutTask = 65536;
static_assert(kFloatsPerDropoutTask % kDropoutTile == 0);

}  // namespace

template <typename Number>
absl::StatusOr<LayerOutput<Number>> GatLayer<Number>::Forward(
    absl::Span<const float> weights, const BlockView& block,
    const LayerInput<Number>& x, const Dropout& dropout) {
  FGNN_ASSIGN_OR_RETURN(block_, self_loops_.Add(block));
  destinations_ = CutByEntries(block_.indptr.data(), block_.num_destinations);
  x_.Start(x, block_.num_sources);
  attention_.source_vector = weights.data() + options_.source_offset;
  attention_.destination_vector = weights.data() + options_.destination_offset;
  attention_.dropout = Dropout::Of(options_.attention_dropout, x.key);
  FGNN_RETURN_IF_ERROR(Transform(weights.data() + options_.weight_offset));
  FGNN_RETURN_IF_ERROR(Attend());
  return SumMessages(weights.data() + options_.bias_offset, x.room, dropout);
}

template <typename Number>
absl::Status GatLayer<Number>::Transform(const float* weight) {
  const HeadShape& shape = options_.shape;
  const int64_t width = shape.width();
  const int64_t num_sources = block_.num_sources;
  const int64_t num_destinations = block_.num_destinations;
  weight_.Pack({weight, width, options_.in}, /*backward=*/!options_.first);
  messages_.Reserve(num_sources * width);
  float* const source_scores =
      attention_.source_scores.Reserve(num_sources * shape.heads);
  float* const destination_scores =
      attention_.destination_scores.Reserve(num_destinations * shape.heads);
  return tasks_.Run(num_sources, [&](int64_t first, int64_t last, int worker) {
    Number* const messages = messages_.data() + first * width;
    const int64_t count = (last - first) * width;
    float* const rows = tasks_.Floats(messages, count, worker);
    x_.Copy(first, last, worker);
    weight_.Forward(x_.From(first), last - first, Into::kOverwrite, rows);
    StoreRows(rows, count, messages);
    // Scores are of the numbers that are summed, as on a GPU.
    ProductsOfRows(shape, attention_.source_vector, messages, last - first,
                   source_scores + first * shape.heads);
    if (first >= num_destinations) return;
    ProductsOfRows(shape, attention_.destination_vector, messages,
                   std::min(last, num_destinations) - first,
                   destination_scores + first * shape.heads);
  });
}

template <typename Number>
absl::Status GatLayer<Number>::Attend() {
  const size_t size =
      block_.indices.size() * static_cast<size_t>(options_.shape.heads);
  float* const alpha = attention_.alpha.Reserve(size);
  FGNN_RETURN_IF_ERROR(
      ForLists(destinations_, [&](int64_t first, int64_t last, int) {
        EdgeSoftmax(scores(), ListsOf(block_), first, last, alpha);
      }));
  if (!attention_.dropout.active()) return absl::OkStatus();
  return DropEntries(alpha, attention_.dropped.Reserve(size));
}

template <typename Number>
absl::StatusOr<LayerOutput<Number>> GatLayer<Number>::SumMessages(
    const float* bias, int64_t room, const Dropout& dropout) {
  const HeadShape& shape = options_.shape;
  const LayerOutput<Number> output =
      output_.Reserve(block_.num_destinations, room);
  FGNN_RETURN_IF_ERROR(
      ForLists(destinations_, [&](int64_t first, int64_t last, int worker) {
        float* const z = output_.Floats(first, last, worker);
        RepeatRow(bias, shape.width(), last - first, z);
        AddWeightedSums(shape, ListsOf(block_), nullptr, first, last,
                        attention_.kept(), messages_.data(), z);
        output_.Finish(dropout, first, last, z);
      }));
  return output;
}

template <typename Number>
absl::StatusOr<Number*> GatLayer<Number>::Backward(const BlockView& /*block*/,
                                                   const Number* dz,
                                                   float input_scale,
                                                   absl::Span<float> gradient) {
  FGNN_RETURN_IF_ERROR(GradientOfScores(dz));
  FGNN_RETURN_IF_ERROR(GradientOfMessages(dz));
  FGNN_RETURN_IF_ERROR(GradientOfParameters(dz, gradient));
  if (options_.first) return nullptr;
  FGNN_RETURN_IF_ERROR(GradientOfInput(input_scale));
  return gradients_.input.data();
}

// Computes d alpha_uv = dz_v . m_u, then goes back through the softmax.
template <typename Number>
absl::Status GatLayer<Number>::GradientOfScores(const Number* dz) {
  const HeadShape& shape = options_.shape;
  const RowLists lists = ListsOf(block_);
  float* const of_scores = gradients_.scores.Reserve(
      block_.indices.size() * static_cast<size_t>(shape.heads));
  float* const of_destinations =
      gradients_.destinations.Reserve(block_.num_destinations * shape.heads);
  FGNN_RETURN_IF_ERROR(
      ForLists(destinations_, [&](int64_t first, int64_t last, int) {
        ProductsOfEntries(shape, lists, first, last, dz, messages_.data(),
                          of_scores);
      }));
  if (attention_.dropout.active()) {
    FGNN_RETURN_IF_ERROR(DropEntries(of_scores, of_scores));
  }
  return ForLists(destinations_, [&](int64_t first, int64_t last, int) {
    GradientOfEdgeSoftmax(scores(), lists, first, last, attention_.alpha.data(),
                          of_scores, of_destinations);
  });
}

// A message contributes to the sums of all vertices that its own is a neighbour
// of, and to its scores.
template <typename Number>
absl::Status GatLayer<Number>::GradientOfMessages(const Number* dz) {
  const HeadShape& shape = options_.shape;
  const int64_t width = shape.width();
  const int64_t num_sources = block_.num_sources;
  const int64_t num_destinations = block_.num_destinations;
  transposed_.Build(block_, /*with_edges=*/true);
  const RowLists lists = transposed_.lists();
  float* const of_sources =
      gradients_.sources.Reserve(num_sources * shape.heads);
  Number* const of_messages = gradients_.messages.Reserve(num_sources * width);
  return ForLists(CutByEntries(lists.indptr, num_sources), [&](int64_t first,
                                                               int64_t last,
                                                               int worker) {
    const int64_t count = (last - first) * width;
    Number* const to = of_messages + first * width;
    float* const rows = tasks_.Floats(to, count, worker);
    float* const scores = of_sources + first * shape.heads;
    SumsOfPlaces(shape.heads, lists, transposed_.edges(), first, last,
                 gradients_.scores.data(), scores);
    std::fill_n(rows, count, 0.0F);
    AddWeightedSums(shape, lists, transposed_.edges(), first, last,
                    attention_.kept(), dz, rows);
    AddScaledRow(shape, scores, last - first, attention_.source_vector, rows);
    if (first < num_destinations) {
      AddScaledRow(shape, gradients_.destinations.data() + first * shape.heads,
                   std::min(last, num_destinations) - first,
                   attention_.destination_vector, rows);
    }
    StoreRows(rows, count, to);
  });
}

template <typename Number>
absl::Status GatLayer<Number>::GradientOfParameters(
    const Number* dz, absl::Span<float> gradient) {
  const HeadShape& shape = options_.shape;
  const int64_t width = shape.width();
  const int64_t num_sources = block_.num_sources;
  const int64_t num_destinations = block_.num_destinations;
  const auto part = [&](uint64_t offset, int64_t size) {
    return gradient.subspan(offset, static_cast<size_t>(size));
  };
  const SumsOverRows<Number> sums[] = {
      {.a = {gradients_.messages.data(), num_sources, width},
       .rows = {},
       .products = {{x_.From(0), options_.in,
                     gradient.data() + options_.weight_offset}}},
      {.a = {dz, num_destinations, width},
       .rows = part(options_.bias_offset, width),
       .products = {}}};
  FGNN_RETURN_IF_ERROR(row_sums_.Of(sums));
  const auto of_scores = [&](const float* scores, int64_t rows,
                             uint64_t offset) {
    return row_sums_.OverChunks(
        rows,
        [&](int64_t first, int64_t count, float* sum) {
          AddSumOfScaledRows(shape, scores + first * shape.heads,
                             messages_.data() + first * width, count, sum);
        },
        part(offset, width));
  };
  FGNN_RETURN_IF_ERROR(of_scores(gradients_.sources.data(), num_sources,
                                 options_.source_offset));
  return of_scores(gradients_.destinations.data(), num_destinations,
                   options_.destination_offset);
}

template <typename Number>
absl::Status GatLayer<Number>::GradientOfInput(float input_scale) {
  const int64_t in = options_.in;
  const int64_t width = options_.shape.width();
  const int64_t num_sources = block_.num_sources;
  return tasks_.Make(
      num_sources, in, gradients_.input.Reserve(num_sources * in),
      [&](int64_t first, int64_t last, int, float* rows) {
        weight_.Backward(gradients_.messages.data() + first * width,
                         last - first, Into::kOverwrite, rows);
        GradientOfReluAndDropout(input_scale, x_.From(first),
                                 (last - first) * in, rows);
      });
}

template <typename Number>
absl::Status GatLayer<Number>::DropEntries(const float* from, float* to) {
  const int64_t size =
      static_cast<int64_t>(block_.indices.size()) * options_.shape.heads;
  return team_->Run(
      NumTasks(size, kFloatsPerDropoutTask), [&](int64_t task, int) {
        const int64_t first = task * kFloatsPerDropoutTask;
        const int64_t count = std::min(kFloatsPerDropoutTask, size - first);
        if (from != to) std::copy_n(from + first, count, to + first);
        ApplyDropout(attention_.dropout, first, count, to + first);
      });
}

template <typename Number>
absl::Status GatLayer<Number>::ForLists(const std::vector<int64_t>& starts,
                                        ListTask task) {
  return team_->Run(
      static_cast<int64_t>(starts.size()) - 1, [&](int64_t i, int worker) {
        const auto at = static_cast<size_t>(i);
        const int64_t end = starts[at + 1];
        for (int64_t first = starts[at]; first < end;
             first += kRowsPerTask<Number>) {
          task(first, std::min(first + kRowsPerTask<Number>, end), worker);
        }
      });
}

template class GatLayer<float>;
template class GatLayer<Bfloat16>;

}  // namespace fgnn
