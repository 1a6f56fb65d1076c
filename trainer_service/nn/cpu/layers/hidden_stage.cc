#include "trainer_service/nn/cpu/layers/hidden_stage.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "shared/base/status.h"
#include "trainer_service/compute/widen.h"
#include "trainer_service/nn/cpu/kernels/row_kernels.h"
#include "trainer_service/nn/cpu/layers/normalization.h"

namespace fgnn {
namespace {

// Rows of one task. Their numbers in f32 stay in the second-level cache.
constexpr int64_t kRowsPerTask = 128;
static_assert(kRowsPerTask % kDropoutTile == 0);

std::vector<float> InverseDeviations(const std::vector<float>& variances) {
  std::vector<float> inverse(variances.size());
  for (size_t c = 0; c < inverse.size(); ++c) {
    inverse[c] = 1 / std::sqrt(variances[c] + kNormEpsilon);
  }
  return inverse;
}

// Divides sums [columns] over `count` rows by `count`.
void DivideBy(int64_t count, std::vector<float>* sums) {
  for (float& sum : *sums) sum /= static_cast<float>(count);
}

class HiddenInference final : public LayerInference {
 public:
  HiddenInference(const HiddenStageOptions& options,
                  absl::Span<const float> weights,
                  std::unique_ptr<const LayerInference> layer)
      : options_(options), layer_(std::move(layer)) {
    const auto size = static_cast<size_t>(options.columns);
    if (options.normalization == Normalization::kNone) return;
    scale_ = weights.subspan(options.scale_offset, size);
    shift_ = weights.subspan(options.shift_offset, size);
    if (options.normalization != Normalization::kBatch) return;
    mean_ = weights.subspan(options.mean_offset, size);
    const absl::Span<const float> variance =
        weights.subspan(options.variance_offset, size);
    inverse_deviation_ = InverseDeviations({variance.begin(), variance.end()});
  }

  void Messages(const float* x, int64_t rows, float* messages) const override {
    layer_->Messages(x, rows, messages);
  }
  void Aggregate(const RowLists& lists, int64_t first, int64_t last,
                 const float* messages, float* out) const override {
    layer_->Aggregate(lists, first, last, messages, out);
  }
  bool UpdateReadsInputs() const override {
    return options_.adds_inputs || layer_->UpdateReadsInputs();
  }
  void Update(const float* x, const float* aggregates, int64_t rows,
              float* h) const override {
    const int64_t columns = options_.columns;
    layer_->Update(x, aggregates, rows, h);
    if (options_.normalization == Normalization::kBatch) {
      NormalizeColumns(mean_.data(), inverse_deviation_.data(), rows, columns,
                       h);
    } else if (options_.normalization == Normalization::kLayer) {
      std::vector<float> unused(static_cast<size_t>(rows));
      NormalizeRows(rows, columns, h, unused.data());
    }
    if (options_.normalization != Normalization::kNone) {
      ScaleAndShift(scale_.data(), shift_.data(), h, rows, columns, h);
    }
    // Adds all rows as one long row.
    if (options_.adds_inputs) AddRow(x, rows * columns, 1, h);
    ApplyReluAndDropout(Dropout(), 0, rows * columns, h);
  }

 private:
  const HiddenStageOptions options_;
  const std::unique_ptr<const LayerInference> layer_;
  absl::Span<const float> scale_;
  absl::Span<const float> shift_;
  absl::Span<const float> mean_;
  std::vector<float> inverse_deviation_;
};

}  // namespace

template <typename Number>
HiddenStage<Number>::HiddenStage(const HiddenStageOptions& options,
                                 ThreadTeam* team)
    : options_(options),
      team_(team),
      worker_rows_(static_cast<size_t>(team->size())) {}

// Returns floats to be read: the numbers themselves, or copies.
template <typename Number>
const float* HiddenStage<Number>::AsFloats(const Number* numbers, int64_t count,
                                           Scratch<float>& room) const {
  if constexpr (std::is_same_v<Number, float>) {
    return numbers;
  } else {
    float* const floats = room.Reserve(count);
    WidenToFloats(FeatureType::kBfloat16,
                  reinterpret_cast<const std::byte*>(numbers),
                  static_cast<uint64_t>(count), floats);
    return floats;
  }
}

// Returns room for floats that StoreRows() turns into the numbers.
template <typename Number>
float* HiddenStage<Number>::InFloats(Number* numbers, int64_t count,
                                     Scratch<float>& room) const {
  if constexpr (std::is_same_v<Number, float>) {
    return numbers;
  } else {
    return room.Reserve(count);
  }
}

template <typename Number>
template <typename Sum>
absl::Status HiddenStage<Number>::SumOverRows(int64_t width, const Sum& sum,
                                              std::vector<float>* out) {
  const int64_t chunk = RowsPerPartial(rows_);
  const int64_t num_chunks = NumTasks(rows_, chunk);
  float* const partials = partials_.Reserve(num_chunks * width);
  FGNN_RETURN_IF_ERROR(team_->Run(num_chunks, [&](int64_t task, int worker) {
    const int64_t first = task * chunk;
    sum(first, std::min(chunk, rows_ - first), worker, partials + task * width);
  }));
  out->resize(static_cast<size_t>(width));
  SumOfPartials(partials, num_chunks, width, absl::MakeSpan(*out));
  return absl::OkStatus();
}

template <typename Number>
absl::Status HiddenStage<Number>::MeasureColumns(const float* z) {
  const int64_t columns = options_.columns;
  FGNN_RETURN_IF_ERROR(SumOverRows(
      columns,
      [&](int64_t first, int64_t rows, int, float* out) {
        SumOfRows(z + first * columns, rows, columns, out);
      },
      &mean_));
  DivideBy(rows_, &mean_);
  FGNN_RETURN_IF_ERROR(SumOverRows(
      columns,
      [&](int64_t first, int64_t rows, int, float* out) {
        SumOfSquaresAround(mean_.data(), z + first * columns, rows, columns,
                           out);
      },
      &variance_));
  DivideBy(rows_, &variance_);
  inverse_deviation_ = InverseDeviations(variance_);
  return absl::OkStatus();
}

template <typename Number>
absl::StatusOr<Number*> HiddenStage<Number>::Forward(
    absl::Span<const float> weights, int64_t rows, float* z, const Number* x,
    const Dropout& dropout, int64_t room) {
  const int64_t columns = options_.columns;
  const Normalization normalization = options_.normalization;
  rows_ = rows;
  normalized_ = z;
  const float* shift = nullptr;
  if (normalization != Normalization::kNone) {
    scale_ =
        weights.subspan(options_.scale_offset, static_cast<size_t>(columns));
    shift = weights.data() + options_.shift_offset;
  }
  if (normalization == Normalization::kBatch) {
    FGNN_RETURN_IF_ERROR(MeasureColumns(z));
  } else {
    inverse_deviation_.resize(static_cast<size_t>(rows));
  }
  Number* const h = output_.Reserve(size() + room * columns);
  FGNN_RETURN_IF_ERROR(
      team_->Run(NumTasks(rows, kRowsPerTask), [&](int64_t task, int worker) {
        WorkerRows& own = worker_rows_[static_cast<size_t>(worker)];
        const int64_t first = task * kRowsPerTask;
        const int64_t task_rows = std::min(kRowsPerTask, rows - first);
        const int64_t at = first * columns;
        const int64_t count = task_rows * columns;
        float* const made = InFloats(h + at, count, own.left);
        if (normalization == Normalization::kBatch) {
          NormalizeColumns(mean_.data(), inverse_deviation_.data(), task_rows,
                           columns, z + at);
        } else if (normalization == Normalization::kLayer) {
          NormalizeRows(task_rows, columns, z + at,
                        inverse_deviation_.data() + first);
        }
        if (normalization == Normalization::kNone) {
          std::copy_n(z + at, count, made);
        } else {
          ScaleAndShift(scale_.data(), shift, z + at, task_rows, columns, made);
        }
        if (options_.adds_inputs) {
          AddRow(AsFloats(x + at, count, own.right), count, 1, made);
        }
        ApplyReluAndDropout(dropout, at, count, made);
        StoreRows(made, count, h + at);
      }));
  return h;
}

template <typename Number>
absl::Status HiddenStage<Number>::SumGradients(const Number* dy) {
  const int64_t columns = options_.columns;
  return SumOverRows(
      2 * columns,
      [&](int64_t first, int64_t rows, int worker, float* out) {
        const int64_t at = first * columns;
        GradientOfScaleAndShift(
            AsFloats(dy + at, rows * columns,
                     worker_rows_[static_cast<size_t>(worker)].left),
            normalized_ + at, rows, columns, out, out + columns);
      },
      &scale_and_shift_gradient_);
}

template <typename Number>
absl::StatusOr<const Number*> HiddenStage<Number>::Backward(
    const Number* dy, Number* room, absl::Span<float> gradient) {
  if (options_.normalization == Normalization::kNone) return dy;
  const int64_t columns = options_.columns;
  FGNN_RETURN_IF_ERROR(SumGradients(dy));
  const float* const d_scale = scale_and_shift_gradient_.data();
  const float* const d_shift = d_scale + columns;
  std::copy_n(d_scale, columns, gradient.data() + options_.scale_offset);
  std::copy_n(d_shift, columns, gradient.data() + options_.shift_offset);
  const bool batch = options_.normalization == Normalization::kBatch;
  if (batch) {
    std::copy(mean_.begin(), mean_.end(),
              gradient.begin() + options_.mean_offset);
    // The unbiased estimate, for all rows that there could be.
    const float unbiased = static_cast<float>(rows_) /
                           static_cast<float>(std::max<int64_t>(rows_ - 1, 1));
    for (size_t c = 0; c < variance_.size(); ++c) {
      gradient[options_.variance_offset + c] = unbiased * variance_[c];
    }
  }
  FGNN_RETURN_IF_ERROR(
      team_->Run(NumTasks(rows_, kRowsPerTask), [&](int64_t task, int worker) {
        WorkerRows& own = worker_rows_[static_cast<size_t>(worker)];
        const int64_t first = task * kRowsPerTask;
        const int64_t rows = std::min(kRowsPerTask, rows_ - first);
        const int64_t at = first * columns;
        const int64_t count = rows * columns;
        const float* const of_output = AsFloats(dy + at, count, own.left);
        float* const made = InFloats(room + at, count, own.right);
        if (batch) {
          GradientOfNormalizeColumns({scale_.data(), inverse_deviation_.data(),
                                      d_scale, d_shift, rows_},
                                     of_output, normalized_ + at, rows, columns,
                                     made);
        } else {
          GradientOfNormalizeRows(scale_.data(),
                                  inverse_deviation_.data() + first, of_output,
                                  normalized_ + at, rows, columns, made);
        }
        StoreRows(made, count, room + at);
      }));
  return room;
}

template <typename Number>
absl::Status HiddenStage<Number>::AddGradientOfInputs(const Number* dy,
                                                      const Number* x,
                                                      float input_scale,
                                                      Number* dx) {
  if (!options_.adds_inputs) return absl::OkStatus();
  const int64_t columns = options_.columns;
  return team_->Run(
      NumTasks(rows_, kRowsPerTask), [&](int64_t task, int worker) {
        WorkerRows& own = worker_rows_[static_cast<size_t>(worker)];
        const int64_t at = task * kRowsPerTask * columns;
        const int64_t count = std::min(kRowsPerTask * columns, size() - at);
        float* const part = own.left.Reserve(count);
        const float* const given = AsFloats(dy + at, count, own.left);
        if (given != part) std::copy_n(given, count, part);
        GradientOfReluAndDropout(input_scale, x + at, count, part);
        AddRow(AsFloats(dx + at, count, own.right), count, 1, part);
        if constexpr (std::is_same_v<Number, float>) {
          std::copy_n(part, count, dx + at);
        } else {
          StoreRows(part, count, dx + at);
        }
      });
}

std::unique_ptr<const LayerInference> WithHiddenStage(
    const HiddenStageOptions& options, absl::Span<const float> weights,
    std::unique_ptr<const LayerInference> layer) {
  return std::make_unique<HiddenInference>(options, weights, std::move(layer));
}

template class HiddenStage<float>;
template class HiddenStage<Bfloat16>;

}  // namespace fgnn
