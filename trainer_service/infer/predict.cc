#include "trainer_service/infer/predict.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/file.h"
#include "shared/base/status.h"
#include "shared/graph/npy.h"

namespace fgnn {
namespace {

// As RFC 4180 has it: quoted where a separator, a quote or a line break is in.
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

std::string CsvOf(const Predictions& predictions, const Dataset& dataset) {
  std::string csv = "id,name,class,probability\n";
  for (size_t v = 0; v < predictions.classes.size(); ++v) {
    absl::StrAppend(&csv, v, ",");
    AppendCsvField(dataset.NodeName(static_cast<GlobalId>(v)), &csv);
    char probability[32];
    const auto end =
        std::to_chars(probability, probability + sizeof(probability),
                      predictions.probabilities[v], std::chars_format::fixed, 6)
            .ptr;
    absl::StrAppend(&csv, ",", predictions.classes[v], ",",
                    std::string(probability, end), "\n");
  }
  return csv;
}

}  // namespace

absl::StatusOr<Predictions> Predict(const InferenceInput& input) {
  const uint64_t num_nodes = input.graph->num_nodes();
  const int64_t num_classes = input.model->options().num_classes;
  std::vector<GlobalId> vertices(num_nodes);
  for (size_t v = 0; v < num_nodes; ++v) vertices[v] = static_cast<GlobalId>(v);
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

absl::Status CheckPredictionsPath(const std::filesystem::path& path) {
  if (path.extension() == ".npy" || path.extension() == ".csv") {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--out ", path.string(),
                   ": end it in .npy (classes) or .csv (id, name, "
                   "class, probability)"));
}

absl::Status WritePredictions(const std::filesystem::path& path,
                              const Predictions& predictions,
                              const Dataset& dataset) {
  FGNN_RETURN_IF_ERROR(CheckPredictionsPath(path));
  if (path.extension() == ".csv") {
    return WriteFileAtomically(path, CsvOf(predictions, dataset));
  }
  const uint64_t num_nodes = predictions.classes.size();
  const std::string header = MakeNpyHeader(NpyType::kI64, {&num_nodes, 1});
  const std::string_view pieces[] = {
      header,
      {reinterpret_cast<const char*>(predictions.classes.data()),
       num_nodes * sizeof(int64_t)}};
  return WriteFileAtomically(path, pieces);
}

}  // namespace fgnn
