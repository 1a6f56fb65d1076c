#include "trainer_service/infer/predict.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "shared/graph/npy.h"
#include "trainer_service/infer/row_file.h"

namespace fgnn {
namespace {

// Appends a field as RFC 4180 writes it: quoted if it has a separator, a quote
// or a line break.
void AppendCsvField(std::string_view field, std::string* line) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    line->append(field);
    return;
  }
  line->push_back('"');
  for (const char c : field) {
    if (c == '"') line->push_back('"');
    line->push_back(c);
  }
  line->push_back('"');
}

std::string CsvOf(const Predictions& predictions, const ClassMap& map,
                  const Dataset& dataset) {
  std::string csv = "id,name,class,probability,class_name\n";
  for (size_t v = 0; v < predictions.classes.size(); ++v) {
    absl::StrAppend(&csv, v, ",");
    AppendCsvField(dataset.NodeName(static_cast<GlobalId>(v)), &csv);
    char probability[32];
    const auto end =
        std::to_chars(probability, probability + sizeof(probability),
                      predictions.probabilities[v], std::chars_format::fixed, 6)
            .ptr;
    const auto c = static_cast<size_t>(predictions.classes[v]);
    absl::StrAppend(&csv, ",", map.numbers[c], ",",
                    std::string(probability, end), ",");
    AppendCsvField(map.names[c], &csv);
    csv.push_back('\n');
  }
  return csv;
}

std::vector<GlobalId> AllVertices(const InferenceInput& input) {
  std::vector<GlobalId> vertices(input.graph->num_nodes());
  std::iota(vertices.begin(), vertices.end(), GlobalId{0});
  return vertices;
}

// Appends the softmax of one vertex's logits.
void AppendSoftmax(absl::Span<const float> logits, std::vector<float>* out) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (const float logit : logits) total += std::exp(logit - largest);
  for (const float logit : logits) {
    out->push_back(static_cast<float>(std::exp(logit - largest) / total));
  }
}

}  // namespace

absl::StatusOr<PredictionKind> PredictionKindOf(std::string_view word) {
  if (word == "classes") return PredictionKind::kClasses;
  if (word == "probabilities") return PredictionKind::kProbabilities;
  if (word == "embeddings") return PredictionKind::kEmbeddings;
  return absl::InvalidArgumentError(
      absl::StrCat("--what '", std::string(word),
                   "' is not known; choose from: classes, probabilities, "
                   "embeddings"));
}

absl::StatusOr<Predictions> Predict(const InferenceInput& input) {
  const uint64_t num_nodes = input.graph->num_nodes();
  const int64_t num_classes = input.model->options().num_classes;
  const std::vector<GlobalId> vertices = AllVertices(input);
  Predictions predictions;
  predictions.classes.resize(num_nodes);
  predictions.probabilities.resize(num_nodes);
  FGNN_RETURN_IF_ERROR(InferLogits(
      input, vertices, [&](size_t first, int64_t rows, const float* logits) {
        for (int64_t r = 0; r < rows; ++r) {
          const float* row = logits + r * num_classes;
          const int64_t best = std::max_element(row, row + num_classes) - row;
          double total = 0;
          for (int64_t c = 0; c < num_classes; ++c) {
            total += std::exp(static_cast<double>(row[c]) -
                              static_cast<double>(row[best]));
          }
          const size_t v = first + static_cast<size_t>(r);
          predictions.classes[v] = best;
          predictions.probabilities[v] = static_cast<float>(1 / total);
        }
      }));
  return predictions;
}

absl::Status PredictRows(const InferenceInput& input, PredictionKind kind,
                         const std::filesystem::path& path) {
  const ModelOptions& model = input.model->options();
  const bool embeddings = kind == PredictionKind::kEmbeddings;
  const size_t columns = embeddings ? model.hidden : model.num_classes;
  const std::vector<GlobalId> vertices = AllVertices(input);
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<RowFile> file,
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
    if (embeddings) return unwritten.Note(file->Write(first, all));
    std::vector<float> probabilities;
    probabilities.reserve(all.size());
    for (size_t at = 0; at < all.size(); at += columns) {
      AppendSoftmax(all.subspan(at, columns), &probabilities);
    }
    unwritten.Note(file->Write(first, probabilities));
  };
  FGNN_RETURN_IF_ERROR(embeddings ? InferEmbeddings(checked, vertices, write)
                                  : InferLogits(checked, vertices, write));
  FGNN_RETURN_IF_ERROR(unwritten.status());
  return file->Commit();
}

absl::Status CheckPrediction(const ModelOptions& model, PredictionKind kind) {
  if (!model.predicts_links || kind == PredictionKind::kEmbeddings) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--what ", kind == PredictionKind::kClasses ? "classes" : "probabilities",
      ": the model was trained for link_prediction and knows no classes; use "
      "--what embeddings, whose dot products score edges"));
}

absl::Status CheckPredictionsPath(const std::filesystem::path& path,
                                  PredictionKind kind) {
  const bool classes = kind == PredictionKind::kClasses;
  if (path.extension() == ".npy" || (classes && path.extension() == ".csv")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--out ", path.string(),
      classes ? ": end it in .npy (classes) or .csv (id, name, class, "
                "probability, class_name)"
              : ": end it in .npy; a .csv file holds --what classes alone"));
}

absl::Status WritePredictions(const std::filesystem::path& path,
                              const Predictions& predictions,
                              const ClassMap& map, const Dataset& dataset) {
  if (path.extension() == ".csv") {
    return WriteFileAtomically(path, CsvOf(predictions, map, dataset));
  }
  std::vector<int64_t> numbers;
  numbers.reserve(predictions.classes.size());
  for (const int64_t c : predictions.classes) {
    numbers.push_back(map.numbers[static_cast<size_t>(c)]);
  }
  const uint64_t num_nodes = numbers.size();
  const std::string header = MakeNpyHeader(NpyType::kI64, {&num_nodes, 1});
  const std::string_view pieces[] = {
      header,
      {reinterpret_cast<const char*>(numbers.data()),
       num_nodes * sizeof(int64_t)}};
  return WriteFileAtomically(path, pieces);
}

}  // namespace fgnn
