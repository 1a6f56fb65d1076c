#include "trainer_service/infer/evaluate_targets.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/device/memory.h"
#include "trainer_service/compute/scratch.h"
#include "trainer_service/infer/scores.h"
#include "trainer_service/infer/shared_inference.h"

namespace fgnn {
namespace {

using Splits = std::vector<absl::Span<const int64_t>>;

absl::StatusOr<std::vector<GlobalId>> VerticesWithTargets(
    const CscView& graph, const Splits& splits, const TargetView& targets) {
  std::vector<GlobalId> vertices;
  const uint64_t num_nodes = std::min(graph.num_nodes(), targets.rows);
  for (const absl::Span<const int64_t> split : splits) {
    for (size_t i = 0; i < split.size(); ++i) {
      FGNN_ASSIGN_OR_RETURN(const GlobalId v,
                            ReadSplit(graph.places, split, i, num_nodes));
      if (!targets.Has(v)) {
        return absl::InvalidArgumentError(
            absl::StrCat("vertex ", v,
                         " of a split has no targets, or lacks "
                         "one of them"));
      }
      vertices.push_back(v);
    }
  }
  return vertices;
}

// Keeps all predictions: sums of floats have to be made in one order.
absl::StatusOr<std::vector<SplitScore>> EvaluateValues(
    const InferenceInput& input, const TargetView& targets,
    const Splits& splits, absl::Span<const GlobalId> vertices) {
  const size_t columns = targets.columns;
  Scratch<float> own;
  FGNN_ASSIGN_OR_RETURN(
      float* const predictions,
      ReserveArray(input.shared, vertices.size() * columns, own));
  FGNN_RETURN_IF_ERROR(InferLogits(
      input, vertices, [&](size_t first, int64_t rows, const float* values) {
        std::copy_n(values, static_cast<size_t>(rows) * columns,
                    predictions + first * columns);
      }));
  std::vector<SplitScore> scores;
  size_t first = 0;
  for (const absl::Span<const int64_t> split : splits) {
    SplitScore& score = scores.emplace_back();
    score.num_vertices = split.size();
    if (split.empty()) continue;
    const ValueScores values =
        ScoreValues(targets, vertices.subspan(first, split.size()),
                    predictions + first * columns);
    score.loss = values.mean_squared_error;
    score.scores.rmse = values.rmse;
    score.scores.mae = values.mae;
    score.scores.r2 = values.r2;
    first += split.size();
  }
  return scores;
}

// Counts the classes of vertices, and their losses.
class SetCounter {
 public:
  // counts [splits, columns], all 0. losses [vertices].
  SetCounter(const TargetView& targets, absl::Span<const GlobalId> vertices,
             const Splits& splits, ClassCounts* counts, float* losses)
      : targets_(targets),
        vertices_(vertices),
        counts_(counts),
        losses_(losses) {
    for (const auto split : splits) {
      ends_.push_back((ends_.empty() ? 0 : ends_.back()) + split.size());
    }
  }

  // Takes the logits [rows, columns] of vertices [first, first + rows). Several
  // threads may call it at once. Counts are whole numbers, so that the order of
  // the calls does not matter.
  void Add(size_t first, int64_t rows, const float* logits) const {
    const size_t columns = targets_.columns;
    std::vector<float> wanted(columns);
    std::vector<ClassCounts> counts(columns);
    size_t split = SplitOf(first);
    for (size_t i = first; i < first + static_cast<size_t>(rows); ++i) {
      if (i == ends_[split]) {
        AddTo(split, counts);
        counts.assign(columns, {});
        split = SplitOf(i);
      }
      targets_.Read(vertices_[i], wanted.data());
      losses_[i] = CountRow(wanted.data(), logits, counts);
      logits += columns;
    }
    AddTo(split, counts);
  }

 private:
  size_t SplitOf(size_t i) const {
    return static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), i) -
                               ends_.begin());
  }

  // Returns the mean loss of a vertex over all classes.
  static float CountRow(const float* wanted, const float* logits,
                        std::vector<ClassCounts>& counts) {
    double loss = 0;
    for (size_t c = 0; c < counts.size(); ++c) {
      const double logit = logits[c];
      const bool is_wanted = wanted[c] != 0;
      const bool is_predicted = logit > 0;
      counts[c].right += is_wanted && is_predicted ? 1U : 0U;
      counts[c].named += (is_wanted ? 1U : 0U) + (is_predicted ? 1U : 0U);
      loss += std::max(logit, 0.0) - (is_wanted ? logit : 0.0) +
              std::log1p(std::exp(-std::abs(logit)));
    }
    return static_cast<float>(loss / static_cast<double>(counts.size()));
  }

  // Other processes add to the same counts.
  void AddTo(size_t split, const std::vector<ClassCounts>& counts) const {
    const auto add = [](uint64_t& to, uint64_t count) {
      if (count == 0) return;
      std::atomic_ref<uint64_t>(to).fetch_add(count, std::memory_order_relaxed);
    };
    for (size_t c = 0; c < counts.size(); ++c) {
      ClassCounts& of_split = counts_[split * counts.size() + c];
      add(of_split.right, counts[c].right);
      add(of_split.named, counts[c].named);
    }
  }

  const TargetView& targets_;
  const absl::Span<const GlobalId> vertices_;
  ClassCounts* const counts_;
  float* const losses_;
  std::vector<size_t> ends_;  // Ends of the splits among the vertices.
};

absl::StatusOr<std::vector<SplitScore>> EvaluateSets(
    const InferenceInput& input, const TargetView& targets,
    const Splits& splits, absl::Span<const GlobalId> vertices) {
  const size_t columns = targets.columns;
  const size_t num_counts = splits.size() * columns;
  Scratch<ClassCounts> own_counts;
  Scratch<float> own_losses;
  FGNN_ASSIGN_OR_RETURN(ClassCounts* const counts,
                        ReserveArray(input.shared, num_counts, own_counts));
  // Shared memory is 0 until some process counts.
  if (input.shared == nullptr) std::fill_n(counts, num_counts, ClassCounts());
  FGNN_ASSIGN_OR_RETURN(
      float* const losses,
      ReserveArray(input.shared, vertices.size(), own_losses));
  const SetCounter counter(targets, vertices, splits, counts, losses);
  FGNN_RETURN_IF_ERROR(InferLogits(
      input, vertices, [&](size_t first, int64_t rows, const float* logits) {
        counter.Add(first, rows, logits);
      }));
  std::vector<SplitScore> scores;
  size_t first = 0;
  for (size_t s = 0; s < splits.size(); ++s) {
    SplitScore& score = scores.emplace_back();
    score.num_vertices = splits[s].size();
    if (splits[s].empty()) continue;
    for (const size_t end = first + splits[s].size(); first < end; ++first) {
      score.loss += double{losses[first]};
    }
    score.loss /= static_cast<double>(splits[s].size());
    const absl::Span<const ClassCounts> of_split(counts + s * columns, columns);
    score.scores.micro_f1 = MicroF1(of_split);
    score.scores.macro_f1 = MacroF1OfSets(of_split);
  }
  return scores;
}

}  // namespace

absl::StatusOr<std::vector<SplitScore>> EvaluateTargets(
    const InferenceInput& input, const TargetView& targets,
    const Splits& splits) {
  const ModelOptions& options = input.model->options();
  if (targets.columns != options.num_classes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the dataset has ", targets.columns,
        " columns of targets; the model knows ", options.num_classes));
  }
  FGNN_ASSIGN_OR_RETURN(const std::vector<GlobalId> vertices,
                        VerticesWithTargets(*input.graph, splits, targets));
  uint64_t need = TargetScoreBytes(options, vertices.size());
  if (input.shared != nullptr) need = input.shared->Growth(need);
  FGNN_RETURN_IF_ERROR(CheckMemory(
      need, absl::StrCat("the scores of ", vertices.size(), " vertices need"),
      "set training.evaluate_every to 0"));
  return options.objective == Objective::kValues
             ? EvaluateValues(input, targets, splits, vertices)
             : EvaluateSets(input, targets, splits, vertices);
}

uint64_t TargetScoreBytes(const ModelOptions& options, uint64_t num_vertices) {
  const uint64_t columns = options.num_classes;
  return options.objective == Objective::kValues
             ? num_vertices * columns * sizeof(float)
             : num_vertices * sizeof(float) + columns * sizeof(ClassCounts);
}

}  // namespace fgnn
