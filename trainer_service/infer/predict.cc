#include "trainer_service/infer/predict.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "trainer_service/infer/files/row_file.h"

namespace fgnn {
namespace {

// The kinds' words, in the order of PredictionKind.
constexpr const char* kWords[] = {"classes", "probabilities", "embeddings",
                                  "scores",  "neighbours",    "values"};

// Chooses the classes of a vertex's largest logits. NaN is the lowest.
class BestClasses {
 public:
  BestClasses(int64_t num_classes, uint32_t num_best)
      : num_best_(num_best), order_(static_cast<size_t>(num_classes)) {}

  // Borrows `logits`, one of each class.
  void Choose(const float* logits) {
    logits_ = logits;
    std::iota(order_.begin(), order_.end(), int64_t{0});
    std::partial_sort(order_.begin(), order_.begin() + num_best_, order_.end(),
                      [this](int64_t a, int64_t b) {
                        const float of_a = Rank(a);
                        const float of_b = Rank(b);
                        return of_a != of_b ? of_a > of_b : a < b;
                      });
    total_ = 0;
    for (size_t c = 0; c < order_.size(); ++c) {
      total_ += std::exp(BelowBest(static_cast<int64_t>(c)));
    }
  }

  int64_t operator[](size_t k) const { return order_[k]; }
  float Probability(size_t k) const {
    return static_cast<float>(std::exp(BelowBest(order_[k])) / total_);
  }

 private:
  float Rank(int64_t c) const {
    return std::isnan(logits_[c]) ? -INFINITY : logits_[c];
  }
  double BelowBest(int64_t c) const {
    return static_cast<double>(logits_[c]) -
           static_cast<double>(logits_[order_[0]]);
  }

  const uint32_t num_best_;
  std::vector<int64_t> order_;
  const float* logits_ = nullptr;
  double total_ = 0;
};

// Appends the softmax of one vertex's logits.
void AppendSoftmax(absl::Span<const float> logits, std::vector<float>* out) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (const float logit : logits) total += std::exp(logit - largest);
  for (const float logit : logits) {
    out->push_back(static_cast<float>(std::exp(logit - largest) / total));
  }
}

// Appends the probability of each of these logits by itself.
void AppendSigmoid(absl::Span<const float> logits, std::vector<float>* out) {
  for (const float logit : logits) {
    out->push_back(static_cast<float>(1 / (1 + std::exp(-double{logit}))));
  }
}

// Returns the logits' probabilities, of whole rows.
std::vector<float> ProbabilitiesOf(absl::Span<const float> logits,
                                   size_t columns, Objective objective) {
  std::vector<float> probabilities;
  probabilities.reserve(logits.size());
  if (objective == Objective::kLabelSets) {
    AppendSigmoid(logits, &probabilities);
    return probabilities;
  }
  for (size_t at = 0; at < logits.size(); at += columns) {
    AppendSoftmax(logits.subspan(at, columns), &probabilities);
  }
  return probabilities;
}

// Returns the kinds that a model of this objective has, beside embeddings.
absl::Span<const PredictionKind> KindsOf(Objective objective) {
  static constexpr PredictionKind kOfClasses[] = {
      PredictionKind::kClasses, PredictionKind::kProbabilities};
  static constexpr PredictionKind kOfLinks[] = {PredictionKind::kScores,
                                                PredictionKind::kNeighbours};
  static constexpr PredictionKind kOfValues[] = {PredictionKind::kValues};
  switch (objective) {
    case Objective::kLinks:
      return kOfLinks;
    case Objective::kValues:
      return kOfValues;
    case Objective::kClasses:
    case Objective::kLabelSets:
      break;
  }
  return kOfClasses;
}

}  // namespace

const char* WordOf(PredictionKind kind) {
  return kWords[static_cast<size_t>(kind)];
}

PredictionKind UsualKind(const ModelOptions& model) {
  return model.objective == Objective::kValues ? PredictionKind::kValues
                                               : PredictionKind::kClasses;
}

absl::StatusOr<PredictionKind> PredictionKindOf(std::string_view word) {
  for (size_t kind = 0; kind < std::size(kWords); ++kind) {
    if (word == kWords[kind]) return static_cast<PredictionKind>(kind);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--what '", std::string(word),
      "' is not known; choose from: ", absl::StrJoin(kWords, ", ")));
}

std::vector<GlobalId> AllVertices(uint64_t num_nodes) {
  std::vector<GlobalId> vertices(num_nodes);
  std::iota(vertices.begin(), vertices.end(), GlobalId{0});
  return vertices;
}

absl::StatusOr<Predictions> Predict(const InferenceInput& input,
                                    absl::Span<const GlobalId> vertices,
                                    uint32_t num_best) {
  const int64_t num_classes = input.model->options().num_classes;
  Predictions predictions;
  predictions.num_best = num_best;
  predictions.classes.resize(vertices.size() * num_best);
  predictions.probabilities.resize(vertices.size() * num_best);
  FGNN_RETURN_IF_ERROR(InferLogits(
      input, vertices, [&](size_t first, int64_t rows, const float* logits) {
        BestClasses best(num_classes, num_best);
        for (int64_t r = 0; r < rows; ++r) {
          best.Choose(logits + r * num_classes);
          const size_t place = (first + static_cast<size_t>(r)) * num_best;
          for (size_t k = 0; k < num_best; ++k) {
            predictions.classes[place + k] = best[k];
            predictions.probabilities[place + k] = best.Probability(k);
          }
        }
      }));
  return predictions;
}

absl::StatusOr<RowFile> PredictRows(const InferenceInput& input,
                                    absl::Span<const GlobalId> vertices,
                                    PredictionKind kind,
                                    const std::filesystem::path& path) {
  const ModelOptions& model = input.model->options();
  const bool embeddings = kind == PredictionKind::kEmbeddings;
  const size_t columns = embeddings ? model.hidden : model.num_classes;
  FGNN_ASSIGN_OR_RETURN(RowFile file,
                        RowFile::Create(path, vertices.size(), columns));
  FirstError unwritten;
  InferenceInput checked = input;
  checked.check = [&] {
    if (unwritten.any()) return unwritten.status();
    return input.check ? input.check() : absl::OkStatus();
  };
  const auto write = [&](size_t first, int64_t rows, const float* values) {
    const absl::Span<const float> all(values,
                                      static_cast<size_t>(rows) * columns);
    if (embeddings || kind == PredictionKind::kValues) {
      return unwritten.Note(file.Write(first, all));
    }
    unwritten.Note(
        file.Write(first, ProbabilitiesOf(all, columns, model.objective)));
  };
  FGNN_RETURN_IF_ERROR(embeddings ? InferEmbeddings(checked, vertices, write)
                                  : InferLogits(checked, vertices, write));
  FGNN_RETURN_IF_ERROR(unwritten.status());
  return file;
}

bool IsOfLinks(PredictionKind kind) {
  return kind == PredictionKind::kScores || kind == PredictionKind::kNeighbours;
}

absl::Status CheckPrediction(const ModelOptions& model, PredictionKind kind) {
  const absl::Span<const PredictionKind> kinds = KindsOf(model.objective);
  if (kind == PredictionKind::kEmbeddings ||
      std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
    return absl::OkStatus();
  }
  std::string known = "embeddings";
  for (const PredictionKind other : kinds) {
    absl::StrAppend(&known, other == kinds.back() ? " or " : ", ",
                    WordOf(other));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--what ", WordOf(kind), ": the model was trained for ",
      std::string(TaskOf(model.objective)),
      IsOfLinks(kind)                   ? " and scores no pairs"
      : kind == PredictionKind::kValues ? " and knows no numbers"
                                        : " and knows no classes",
      "; use --what ", known,
      IsOfLinks(kind) ? ", or a run with training.task: link_prediction" : ""));
}

absl::Status CheckPredictionsPath(const std::filesystem::path& path,
                                  PredictionKind kind) {
  const bool table = kind == PredictionKind::kClasses ||
                     kind == PredictionKind::kValues || IsOfLinks(kind);
  if (path.extension() == ".npy" || (table && path.extension() == ".csv")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--out ", path.string(),
      table ? ": end it in .npy (numbers alone) or .csv (names and "
              "probabilities too)"
            : ": end it in .npy; a .csv file holds --what classes, values, "
              "scores or neighbours"));
}

}  // namespace fgnn
