#include "trainer_service/infer/link_table.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/graph/npy.h"
#include "trainer_service/infer/array_file.h"
#include "trainer_service/infer/csv_fields.h"
#include "trainer_service/infer/score_pairs.h"

namespace fgnn {
namespace {

// Appends "id,name,".
void AppendVertex(GlobalId v, const Dataset& dataset, std::string* csv) {
  absl::StrAppend(csv, v, ",");
  AppendCsvField(dataset.NodeName(v), csv);
  csv->push_back(',');
}

// Appends "score,probability" and ends the line.
void AppendScore(float score, std::string* csv) {
  AppendShortest(score, csv);
  csv->push_back(',');
  AppendProbability(ProbabilityOfScore(score), csv);
  csv->push_back('\n');
}

}  // namespace

absl::Status WritePairScores(const std::filesystem::path& path,
                             absl::Span<const GlobalId> pairs,
                             absl::Span<const float> scores,
                             const Dataset& dataset) {
  if (path.extension() != ".csv") {
    const uint64_t shape[] = {scores.size()};
    return WriteArray(path, NpyType::kF32, shape, scores);
  }
  std::string csv =
      "source,source_name,destination,destination_name,score,probability\n";
  for (size_t i = 0; i < scores.size(); ++i) {
    AppendVertex(pairs[2 * i], dataset, &csv);
    AppendVertex(pairs[2 * i + 1], dataset, &csv);
    AppendScore(scores[i], &csv);
  }
  return WriteFileAtomically(path, csv);
}

absl::Status WriteNewNeighbors(const std::filesystem::path& path,
                               absl::Span<const GlobalId> vertices,
                               const NewNeighbors& found,
                               const Dataset& dataset) {
  if (path.extension() != ".csv") {
    const uint64_t shape[] = {vertices.size(), found.num_best};
    return WriteArray(path, NpyType::kI64, shape,
                      absl::MakeConstSpan(found.vertices));
  }
  std::string csv = "id,name,rank,neighbour,neighbour_name,score,probability\n";
  for (size_t i = 0; i < found.vertices.size(); ++i) {
    if (found.vertices[i] < 0) continue;
    AppendVertex(vertices[i / found.num_best], dataset, &csv);
    absl::StrAppend(&csv, i % found.num_best + 1, ",");
    AppendVertex(static_cast<GlobalId>(found.vertices[i]), dataset, &csv);
    AppendScore(found.scores[i], &csv);
  }
  return WriteFileAtomically(path, csv);
}

}  // namespace fgnn
