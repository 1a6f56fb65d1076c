#include "trainer_service/sync/optimizer_step.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "trainer_service/compute/target_clones.h"
#include "trainer_service/sync/adam.h"
#include "trainer_service/sync/finite_step.h"
#include "trainer_service/sync/sgd.h"

namespace fgnn {
namespace {

// Most floats of one thread's task. The sum of that many gradients stays in the
// first-level cache.
constexpr uint64_t kFloatsPerTask = 4096;

// One part of a parameter.
struct Piece {
  uint64_t offset;
  uint64_t count;
  bool decay;
  bool measured;
};

std::vector<Piece> CutIntoPieces(const std::vector<ParameterInfo>& parameters) {
  std::vector<Piece> pieces;
  for (const ParameterInfo& parameter : parameters) {
    for (uint64_t at = 0; at < parameter.size(); at += kFloatsPerTask) {
      pieces.push_back({parameter.offset + at,
                        std::min(kFloatsPerTask, parameter.size() - at),
                        parameter.decay, parameter.measured});
    }
  }
  return pieces;
}

// One rounding on every processor, as on a GPU that adds.
FGNN_TARGET_CLONES
void AddScaled(float scale, const float* __restrict from, uint64_t count,
               float* __restrict to) {
  for (uint64_t i = 0; i < count; ++i) to[i] = std::fma(scale, from[i], to[i]);
}

// Returns the sum of squares. Adds in eight chains, one for each place modulo
// eight: the order is fixed, and vector instructions can follow it.
FGNN_TARGET_CLONES
double SumOfSquares(const float* values, uint64_t count) {
  constexpr uint64_t kChains = 8;
  double sums[kChains] = {};
  uint64_t i = 0;
  for (; i + kChains <= count; i += kChains) {
    for (uint64_t chain = 0; chain < kChains; ++chain) {
      const double value = values[i + chain];
      sums[chain] += value * value;
    }
  }
  for (; i < count; ++i) {
    const double value = values[i];
    sums[i % kChains] += value * value;
  }
  double sum = 0;
  for (const double of_chain : sums) sum += of_chain;
  return sum;
}

absl::Status CheckSizes(uint64_t num_parameters,
                        const OptimizerOptions& options,
                        const StepTensors& tensors) {
  const uint64_t state_size = num_parameters * StateFloatsPerParameter(options);
  bool agree = tensors.old_weights.size() == num_parameters &&
               tensors.new_weights.size() == num_parameters &&
               tensors.old_optimizer_state.size() == state_size &&
               tensors.new_optimizer_state.size() == state_size &&
               tensors.gradients.size() == tensors.batch_examples.size();
  for (const absl::Span<const float> gradient : tensors.gradients) {
    agree = agree && gradient.size() == num_parameters;
  }
  if (agree) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the segment's weights (", tensors.old_weights.size(),
      " floats), their optimizer state (", tensors.new_optimizer_state.size(),
      ") or gradients are not those of a model of ", num_parameters,
      " parameters; was the job planned for another model?"));
}

void AdamPiece(const OptimizerOptions& options, const StepTensors& tensors,
               const Piece& piece, const float* gradient) {
  AdamOptions adam;
  adam.learning_rate = options.learning_rate;
  adam.weight_decay = piece.decay ? options.weight_decay : 0;
  adam.decoupled_decay = options.kind == OptimizerKind::kAdamW;
  AdamRange range;
  range.count = piece.count;
  range.gradient = gradient;
  range.old_weights = tensors.old_weights.data() + piece.offset;
  range.old_m = tensors.old_optimizer_state.data() + piece.offset;
  range.old_v = range.old_m + tensors.old_weights.size();
  range.new_weights = tensors.new_weights.data() + piece.offset;
  range.new_m = tensors.new_optimizer_state.data() + piece.offset;
  range.new_v = range.new_m + tensors.old_weights.size();
  AdamStep(adam, tensors.step_number, range);
}

void SgdPiece(const OptimizerOptions& options, const StepTensors& tensors,
              const Piece& piece, const float* gradient) {
  SgdOptions sgd;
  sgd.learning_rate = options.learning_rate;
  sgd.momentum = options.momentum;
  sgd.weight_decay = piece.decay ? options.weight_decay : 0;
  SgdRange range;
  range.count = piece.count;
  range.gradient = gradient;
  range.old_weights = tensors.old_weights.data() + piece.offset;
  range.new_weights = tensors.new_weights.data() + piece.offset;
  if (sgd.momentum > 0) {
    range.old_direction = tensors.old_optimizer_state.data() + piece.offset;
    range.new_direction = tensors.new_optimizer_state.data() + piece.offset;
  }
  SgdStep(sgd, range);
}

// Moves a measured parameter's piece towards `measured`, [piece.count]. The
// optimizer's state of the piece does not change.
void MovePiece(const StepTensors& tensors, const Piece& piece,
               const float* measured) {
  const uint64_t num_parameters = tensors.old_weights.size();
  for (uint64_t i = 0; i < piece.count; ++i) {
    const float old = tensors.old_weights[piece.offset + i];
    tensors.new_weights[piece.offset + i] =
        old + kMeasuredShare * (measured[i] - old);
  }
  for (uint64_t at = piece.offset; at < tensors.old_optimizer_state.size();
       at += num_parameters) {
    std::copy_n(tensors.old_optimizer_state.data() + at, piece.count,
                tensors.new_optimizer_state.data() + at);
  }
}

// Makes the step of one piece. `gradient`: sum over the batches, [piece.count].
void StepPiece(const OptimizerOptions& options, const StepTensors& tensors,
               const Piece& piece, const float* gradient) {
  if (options.kind == OptimizerKind::kSgd) {
    SgdPiece(options, tensors, piece, gradient);
  } else {
    AdamPiece(options, tensors, piece, gradient);
  }
}

// A sum of the step's gradients.
struct StepSum {
  std::vector<float> scales;      // Factor of each gradient.
  absl::Span<const float> added;  // [P], where an adder has added them.
};

// `scales` times `factor`.
absl::StatusOr<StepSum> MakeSum(const StepTensors& tensors,
                                const std::vector<float>& scales,
                                float factor) {
  StepSum sum = {scales, {}};
  for (float& scale : sum.scales) scale *= factor;
  if (tensors.adder == nullptr) return sum;
  FGNN_ASSIGN_OR_RETURN(sum.added, tensors.adder->Add(scales, factor));
  if (sum.added.size() == tensors.old_weights.size()) return sum;
  return absl::InternalError(
      absl::StrCat("a sum of ", sum.added.size(), " floats for ",
                   tensors.old_weights.size(), " weights"));
}

// Writes the step's gradient to `sum`, [piece.count]. Adds in the order of
// batches, then of parts.
void SumGradients(const StepTensors& tensors, const StepSum& of,
                  const Piece& piece, float* sum) {
  if (tensors.adder != nullptr) {
    std::copy_n(of.added.data() + piece.offset, piece.count, sum);
    return;
  }
  const std::vector<float>& scales = of.scales;
  std::fill_n(sum, piece.count, 0.0F);
  for (size_t i = 0; i < scales.size(); ++i) {
    AddScaled(scales[i], tensors.gradients[i].data() + piece.offset,
              piece.count, sum);
  }
}

// Returns the factor by which the step's gradient is multiplied.
absl::StatusOr<float> ClipScale(double clip_norm,
                                const std::vector<Piece>& pieces,
                                const StepTensors& tensors, const StepSum& of,
                                ThreadTeam& team) {
  if (clip_norm == 0) return 1;
  std::vector<double> squares(pieces.size());
  FGNN_RETURN_IF_ERROR(
      team.Run(static_cast<int64_t>(pieces.size()), [&](int64_t task, int) {
        const size_t index = static_cast<size_t>(task);
        if (pieces[index].measured) return;
        alignas(64) float gradient[kFloatsPerTask];
        SumGradients(tensors, of, pieces[index], gradient);
        squares[index] = SumOfSquares(gradient, pieces[index].count);
      }));
  double sum = 0;
  for (const double of_piece : squares) sum += of_piece;
  const double norm = std::sqrt(sum);
  // With a norm that is not a number the factor is 1. The weights get values
  // that are not numbers then, which the step refuses.
  return norm > clip_norm ? static_cast<float>(clip_norm / norm) : 1;
}

// Makes the step of each piece. Returns the first one whose weights or state
// are not finite; nullopt: all are.
absl::StatusOr<std::optional<Piece>> StepPieces(
    const OptimizerOptions& options, const StepTensors& tensors,
    const std::vector<Piece>& pieces, const StepSum& sum,
    const StepSum& clipped, ThreadTeam& team) {
  std::vector<uint8_t> finite(pieces.size());
  FGNN_RETURN_IF_ERROR(
      team.Run(static_cast<int64_t>(pieces.size()), [&](int64_t task, int) {
        const auto index = static_cast<size_t>(task);
        const Piece& piece = pieces[index];
        alignas(64) float gradient[kFloatsPerTask];
        SumGradients(tensors, piece.measured ? sum : clipped, piece, gradient);
        if (piece.measured) {
          MovePiece(tensors, piece, gradient);
        } else {
          StepPiece(options, tensors, piece, gradient);
        }
        // What was written is still in the processor's cache.
        finite[index] = IsFinite(tensors, piece.offset, piece.count) ? 1 : 0;
      }));
  const auto wrong = std::find(finite.begin(), finite.end(), 0);
  if (wrong == finite.end()) return std::nullopt;
  return pieces[static_cast<size_t>(wrong - finite.begin())];
}

}  // namespace

std::vector<float> StepScales(absl::Span<const uint32_t> batch_examples,
                              uint32_t parts) {
  double of_all_parts = 0;
  for (const uint32_t examples : batch_examples) of_all_parts += examples;
  // Exact: both are whole numbers below 2^53, and each batch is in the sum once
  // for each of its parts.
  const double all_examples = of_all_parts / parts;
  std::vector<float> scales;
  for (const uint32_t examples : batch_examples) {
    scales.push_back(static_cast<float>(examples / all_examples));
  }
  return scales;
}

absl::Status MakeOptimizerStep(const std::vector<ParameterInfo>& parameters,
                               const OptimizerOptions& options,
                               const StepTensors& tensors, ThreadTeam& team) {
  const uint64_t num_parameters =
      parameters.back().offset + parameters.back().size();
  FGNN_RETURN_IF_ERROR(CheckSizes(num_parameters, options, tensors));
  const std::vector<uint32_t>& examples = tensors.batch_examples;
  if (std::all_of(examples.begin(), examples.end(),
                  [](uint32_t of_batch) { return of_batch == 0; })) {
    return absl::InvalidArgumentError(
        absl::StrCat("step ", tensors.step_number, " has ",
                     examples.size() / tensors.parts, " batches and no seed"));
  }
  FGNN_ASSIGN_OR_RETURN(
      const StepSum sum,
      MakeSum(tensors, StepScales(examples, tensors.parts), 1));
  OptimizerOptions of_step = options;
  of_step.learning_rate = LearningRateAt(options, tensors.step_number);
  const std::vector<Piece> pieces = CutIntoPieces(parameters);
  FGNN_ASSIGN_OR_RETURN(
      const float clip_scale,
      ClipScale(options.clip_norm, pieces, tensors, sum, team));
  StepSum clipped = sum;
  if (clip_scale != 1) {
    FGNN_ASSIGN_OR_RETURN(clipped, MakeSum(tensors, sum.scales, clip_scale));
  }
  FGNN_ASSIGN_OR_RETURN(
      const std::optional<Piece> wrong,
      StepPieces(of_step, tensors, pieces, sum, clipped, team));
  if (!wrong.has_value()) return absl::OkStatus();
  std::vector<float> gradient(wrong->count);
  SumGradients(tensors, sum, *wrong, gradient.data());
  return CheckFinite(parameters, options, tensors, wrong->offset, gradient);
}

absl::Status MakeStep(const Model& model, uint64_t seed,
                      const OptimizerOptions& options,
                      const StepTensors& tensors, ThreadTeam& team) {
  if (!tensors.is_initial()) {
    return MakeOptimizerStep(model.parameters(), options, tensors, team);
  }
  if (tensors.new_weights.size() != model.num_parameters()) {
    return CheckSizes(model.num_parameters(), options, tensors);
  }
  model.Initialize(seed, tensors.new_weights);
  std::fill(tensors.new_optimizer_state.begin(),
            tensors.new_optimizer_state.end(), 0.0F);
  return absl::OkStatus();
}

}  // namespace fgnn
