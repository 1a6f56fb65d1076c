#include "trainer_service/nn/cpu/gat_layer.h"

#include <algorithm>
#include <cstddef>

#include "shared/base/status.h"
#include "trainer_service/nn/cpu/dropout.h"
#include "trainer_service/nn/cpu/head_sums.h"
#include "trainer_service/nn/cpu/row_kernels.h"

namespace fgnn {
namespace {

// Rows of a task that reads rows side by side, a product's.
constexpr int64_t kRowsPerTask = 512;
constexpr int64_t kFloatsPerDropoutTask = 65536;
static_assert(kFloatsPerDropoutTask % kDropoutTile == 0);

}  // namespace

absl::StatusOr<LayerOutput<float>> GatLayer::Forward(
    absl::Span<const float> weights, const BlockView& block,
    const LayerInput<float>& x, const Dropout& dropout) {
  FGNN_ASSIGN_OR_RETURN(block_, self_loops_.Add(block));
  destinations_ = CutByEntries(block_.indptr.data(), block_.num_destinations);
  x_ = x.dense;
  source_vector_ = weights.data() + options_.source_offset;
  destination_vector_ = weights.data() + options_.destination_offset;
  attention_dropout_ = Dropout::Of(options_.attention_dropout, x.key);
  FGNN_RETURN_IF_ERROR(Transform(weights.data() + options_.weight_offset));
  FGNN_RETURN_IF_ERROR(Attend());
  return SumMessages(weights.data() + options_.bias_offset, dropout);
}

absl::Status GatLayer::Transform(const float* weight) {
  const HeadShape& shape = options_.shape;
  const int64_t num_sources = block_.num_sources;
  const int64_t num_destinations = block_.num_destinations;
  const Factor factor = {weight, shape.width(), options_.in};
  forward_.Pack(factor.T());
  if (!options_.first) backward_.Pack(factor);
  messages_ =
      messages_buffer_.Floats(static_cast<size_t>(num_sources * shape.width()));
  source_scores_ = source_scores_buffer_.Floats(
      static_cast<size_t>(num_sources * shape.heads));
  destination_scores_ = destination_scores_buffer_.Floats(
      static_cast<size_t>(num_destinations * shape.heads));
  return team_->Run(
      NumTasks(num_sources, kRowsPerTask), [&](int64_t task, int) {
        const int64_t first = task * kRowsPerTask;
        const int64_t last = std::min(first + kRowsPerTask, num_sources);
        float* const rows = messages_ + first * shape.width();
        forward_.Multiply({x_ + first * options_.in, last - first, options_.in},
                          Into::kOverwrite, rows);
        ProductsOfRows(shape, source_vector_, rows, last - first,
                       source_scores_ + first * shape.heads);
        if (first >= num_destinations) return;
        ProductsOfRows(shape, destination_vector_, rows,
                       std::min(last, num_destinations) - first,
                       destination_scores_ + first * shape.heads);
      });
}

absl::Status GatLayer::Attend() {
  const size_t size =
      block_.indices.size() * static_cast<size_t>(options_.shape.heads);
  alpha_ = alpha_buffer_.Floats(size);
  FGNN_RETURN_IF_ERROR(
      ForLists(destinations_, [&](int64_t first, int64_t last) {
        EdgeSoftmax(scores(), ListsOf(block_), first, last, alpha_);
      }));
  kept_ = alpha_;
  if (!attention_dropout_.active()) return absl::OkStatus();
  kept_ = kept_buffer_.Floats(size);
  return DropEntries(alpha_, kept_);
}

absl::StatusOr<LayerOutput<float>> GatLayer::SumMessages(
    const float* bias, const Dropout& dropout) {
  const HeadShape& shape = options_.shape;
  const int64_t width = shape.width();
  float* const z = output_buffer_.Floats(
      static_cast<size_t>(block_.num_destinations * width));
  FGNN_RETURN_IF_ERROR(ForLists(destinations_, [&](int64_t first,
                                                   int64_t last) {
    float* const rows = z + first * width;
    RepeatRow(bias, width, last - first, rows);
    AddWeightedSums(shape, ListsOf(block_), nullptr, first, last, kept_,
                    messages_, rows);
    if (options_.last) return;
    ApplyReluAndDropout(dropout, first * width, (last - first) * width, rows);
  }));
  return LayerOutput<float>{z, z};
}

absl::StatusOr<float*> GatLayer::Backward(const BlockView& /*block*/,
                                          const float* dz, float input_scale,
                                          absl::Span<float> gradient) {
  FGNN_RETURN_IF_ERROR(GradientOfScores(dz));
  FGNN_RETURN_IF_ERROR(GradientOfMessages(dz));
  FGNN_RETURN_IF_ERROR(GradientOfParameters(dz, gradient));
  if (options_.first) return nullptr;
  FGNN_RETURN_IF_ERROR(GradientOfInput(input_scale));
  return input_gradient_;
}

// d alpha_uv = dz_v . m_u, then back through the softmax.
absl::Status GatLayer::GradientOfScores(const float* dz) {
  const HeadShape& shape = options_.shape;
  const RowLists lists = ListsOf(block_);
  entry_gradient_ = entry_gradient_buffer_.Floats(
      block_.indices.size() * static_cast<size_t>(shape.heads));
  destination_gradient_ = destination_gradient_buffer_.Floats(
      static_cast<size_t>(block_.num_destinations * shape.heads));
  FGNN_RETURN_IF_ERROR(
      ForLists(destinations_, [&](int64_t first, int64_t last) {
        ProductsOfEntries(shape, lists, first, last, dz, messages_,
                          entry_gradient_);
      }));
  if (attention_dropout_.active()) {
    FGNN_RETURN_IF_ERROR(DropEntries(entry_gradient_, entry_gradient_));
  }
  return ForLists(destinations_, [&](int64_t first, int64_t last) {
    GradientOfEdgeSoftmax(scores(), lists, first, last, alpha_, entry_gradient_,
                          destination_gradient_);
  });
}

// A message is in the sums of those that its vertex is a neighbour of, and in
// its scores.
absl::Status GatLayer::GradientOfMessages(const float* dz) {
  const HeadShape& shape = options_.shape;
  const int64_t width = shape.width();
  const int64_t num_sources = block_.num_sources;
  const int64_t num_destinations = block_.num_destinations;
  transposed_.BuildWithEdges(block_);
  const RowLists lists = transposed_.lists();
  source_gradient_ = source_gradient_buffer_.Floats(
      static_cast<size_t>(num_sources * shape.heads));
  messages_gradient_ = messages_gradient_buffer_.Floats(
      static_cast<size_t>(num_sources * width));
  return ForLists(CutByEntries(lists.indptr, num_sources), [&](int64_t first,
                                                               int64_t last) {
    float* const rows = messages_gradient_ + first * width;
    float* const scores = source_gradient_ + first * shape.heads;
    SumsOfPlaces(shape.heads, lists, transposed_.edges(), first, last,
                 entry_gradient_, scores);
    std::fill_n(rows, (last - first) * width, 0.0F);
    AddWeightedSums(shape, lists, transposed_.edges(), first, last, kept_, dz,
                    rows);
    AddScaledRow(shape, scores, last - first, source_vector_, rows);
    if (first >= num_destinations) return;
    AddScaledRow(shape, destination_gradient_ + first * shape.heads,
                 std::min(last, num_destinations) - first, destination_vector_,
                 rows);
  });
}

absl::Status GatLayer::GradientOfParameters(const float* dz,
                                            absl::Span<float> gradient) {
  const HeadShape& shape = options_.shape;
  const int64_t width = shape.width();
  const int64_t num_sources = block_.num_sources;
  const int64_t num_destinations = block_.num_destinations;
  const auto part = [&](uint64_t offset, int64_t size) {
    return gradient.subspan(offset, static_cast<size_t>(size));
  };
  FGNN_RETURN_IF_ERROR(sums_.OfProducts(
      {messages_gradient_, num_sources, width}, {x_, num_sources, options_.in},
      part(options_.weight_offset, width * options_.in)));
  FGNN_RETURN_IF_ERROR(sums_.OfRows({dz, num_destinations, width},
                                    part(options_.bias_offset, width)));
  const auto of_scores = [&](const float* scores, int64_t rows,
                             uint64_t offset) {
    return sums_.OverChunks(
        rows,
        [&](int64_t row, float* sum) {
          AddSumOfScaledRows(shape, scores + row * shape.heads,
                             messages_ + row * width, 1, sum);
        },
        part(offset, width));
  };
  FGNN_RETURN_IF_ERROR(
      of_scores(source_gradient_, num_sources, options_.source_offset));
  return of_scores(destination_gradient_, num_destinations,
                   options_.destination_offset);
}

absl::Status GatLayer::GradientOfInput(float input_scale) {
  const int64_t in = options_.in;
  const int64_t width = options_.shape.width();
  const int64_t num_sources = block_.num_sources;
  input_gradient_ =
      input_gradient_buffer_.Floats(static_cast<size_t>(num_sources * in));
  return team_->Run(
      NumTasks(num_sources, kRowsPerTask), [&](int64_t task, int) {
        const int64_t first = task * kRowsPerTask;
        const int64_t rows = std::min(kRowsPerTask, num_sources - first);
        float* const to = input_gradient_ + first * in;
        backward_.Multiply({messages_gradient_ + first * width, rows, width},
                           Into::kOverwrite, to);
        GradientOfReluAndDropout(input_scale, x_ + first * in, rows * in, to);
      });
}

absl::Status GatLayer::DropEntries(const float* from, float* to) {
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

absl::Status GatLayer::ForLists(const std::vector<int64_t>& starts,
                                ListTask task) {
  return team_->Run(static_cast<int64_t>(starts.size()) - 1,
                    [&](int64_t i, int) {
                      const auto at = static_cast<size_t>(i);
                      task(starts[at], starts[at + 1]);
                    });
}

}  // namespace fgnn
