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
  source_vector_ = weights.data() + options_.source_offset;
  destination_vector_ = weights.data() + options_.destination_offset;
  attention_dropout_ = Dropout::Of(options_.attention_dropout, x.key);
  FGNN_RETURN_IF_ERROR(Transform(weights.data() + options_.weight_offset));
  FGNN_RETURN_IF_ERROR(Attend());
  return SumMessages(weights.data() + options_.bias_offset, dropout);
}

template <typename Number>
absl::Status GatLayer<Number>::Transform(const float* weight) {
  const HeadShape& shape = options_.shape;
  const int64_t width = shape.width();
  const int64_t num_sources = block_.num_sources;
  const int64_t num_destinations = block_.num_destinations;
  weight_.Pack({weight, width, options_.in}, /*backward=*/!options_.first);
  messages_ = ReserveNumbers<Number>(messages_buffer_, num_sources * width);
  source_scores_ = source_scores_buffer_.Floats(
      static_cast<size_t>(num_sources * shape.heads));
  destination_scores_ = destination_scores_buffer_.Floats(
      static_cast<size_t>(num_destinations * shape.heads));
  return tasks_.Run(num_sources, [&](int64_t first, int64_t last, int worker) {
    Number* const messages = messages_ + first * width;
    const int64_t count = (last - first) * width;
    float* const rows = tasks_.Floats(messages, count, worker);
    x_.Copy(first, last, worker);
    weight_.Forward(x_.From(first), last - first, Into::kOverwrite, rows);
    StoreRows(rows, count, messages);
    // Scores are of the numbers that are summed, as on a GPU.
    ProductsOfRows(shape, source_vector_, messages, last - first,
                   source_scores_ + first * shape.heads);
    if (first >= num_destinations) return;
    ProductsOfRows(shape, destination_vector_, messages,
                   std::min(last, num_destinations) - first,
                   destination_scores_ + first * shape.heads);
  });
}

template <typename Number>
absl::Status GatLayer<Number>::Attend() {
  const size_t size =
      block_.indices.size() * static_cast<size_t>(options_.shape.heads);
  alpha_ = alpha_buffer_.Floats(size);
  FGNN_RETURN_IF_ERROR(
      ForLists(destinations_, [&](int64_t first, int64_t last, int) {
        EdgeSoftmax(scores(), ListsOf(block_), first, last, alpha_);
      }));
  kept_ = alpha_;
  if (!attention_dropout_.active()) return absl::OkStatus();
  kept_ = kept_buffer_.Floats(size);
  return DropEntries(alpha_, kept_);
}

template <typename Number>
absl::StatusOr<LayerOutput<Number>> GatLayer<Number>::SumMessages(
    const float* bias, const Dropout& dropout) {
  const HeadShape& shape = options_.shape;
  const LayerOutput<Number> output = output_.Reserve(block_.num_destinations);
  FGNN_RETURN_IF_ERROR(
      ForLists(destinations_, [&](int64_t first, int64_t last, int worker) {
        float* const z = output_.Floats(first, last, worker);
        RepeatRow(bias, shape.width(), last - first, z);
        AddWeightedSums(shape, ListsOf(block_), nullptr, first, last, kept_,
                        messages_, z);
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
  return input_gradient_;
}

// Computes d alpha_uv = dz_v . m_u, then goes back through the softmax.
template <typename Number>
absl::Status GatLayer<Number>::GradientOfScores(const Number* dz) {
  const HeadShape& shape = options_.shape;
  const RowLists lists = ListsOf(block_);
  entry_gradient_ = entry_gradient_buffer_.Floats(
      block_.indices.size() * static_cast<size_t>(shape.heads));
  destination_gradient_ = destination_gradient_buffer_.Floats(
      static_cast<size_t>(block_.num_destinations * shape.heads));
  FGNN_RETURN_IF_ERROR(
      ForLists(destinations_, [&](int64_t first, int64_t last, int) {
        ProductsOfEntries(shape, lists, first, last, dz, messages_,
                          entry_gradient_);
      }));
  if (attention_dropout_.active()) {
    FGNN_RETURN_IF_ERROR(DropEntries(entry_gradient_, entry_gradient_));
  }
  return ForLists(destinations_, [&](int64_t first, int64_t last, int) {
    GradientOfEdgeSoftmax(scores(), lists, first, last, alpha_, entry_gradient_,
                          destination_gradient_);
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
  transposed_.BuildWithEdges(block_);
  const RowLists lists = transposed_.lists();
  source_gradient_ = source_gradient_buffer_.Floats(
      static_cast<size_t>(num_sources * shape.heads));
  messages_gradient_ =
      ReserveNumbers<Number>(messages_gradient_buffer_, num_sources * width);
  return ForLists(
      CutByEntries(lists.indptr, num_sources),
      [&](int64_t first, int64_t last, int worker) {
        const int64_t count = (last - first) * width;
        Number* const to = messages_gradient_ + first * width;
        float* const rows = tasks_.Floats(to, count, worker);
        float* const scores = source_gradient_ + first * shape.heads;
        SumsOfPlaces(shape.heads, lists, transposed_.edges(), first, last,
                     entry_gradient_, scores);
        std::fill_n(rows, count, 0.0F);
        AddWeightedSums(shape, lists, transposed_.edges(), first, last, kept_,
                        dz, rows);
        AddScaledRow(shape, scores, last - first, source_vector_, rows);
        if (first < num_destinations) {
          AddScaledRow(shape, destination_gradient_ + first * shape.heads,
                       std::min(last, num_destinations) - first,
                       destination_vector_, rows);
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
      {.a = {messages_gradient_, num_sources, width},
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
                             messages_ + first * width, count, sum);
        },
        part(offset, width));
  };
  FGNN_RETURN_IF_ERROR(
      of_scores(source_gradient_, num_sources, options_.source_offset));
  return of_scores(destination_gradient_, num_destinations,
                   options_.destination_offset);
}

template <typename Number>
absl::Status GatLayer<Number>::GradientOfInput(float input_scale) {
  const int64_t in = options_.in;
  const int64_t width = options_.shape.width();
  const int64_t num_sources = block_.num_sources;
  input_gradient_ =
      ReserveNumbers<Number>(input_gradient_buffer_, num_sources * in);
  return tasks_.Make(num_sources, in, input_gradient_,
                     [&](int64_t first, int64_t last, int, float* rows) {
                       weight_.Backward(messages_gradient_ + first * width,
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
        ApplyDropout(attention_dropout_, first, count, to + first);
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
