#include "trainer_service/infer/tables/link_table.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/graph/npy.h"
#include "trainer_service/infer/files/array_file.h"
#include "trainer_service/infer/files/csv_fields.h"
#include "trainer_service/infer/files/csv_file.h"
#include "trainer_service/infer/score_pairs.h"

namespace fgnn {
namespace {

// Appends ",score,probability".
void AppendScore(float score, std::string* line) {
  line->push_back(',');
  AppendShortest(score, line);
  line->push_back(',');
  AppendProbability(ProbabilityOfScore(score), line);
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
  FGNN_ASSIGN_OR_RETURN(CsvFile file, CsvFile::Create(path));
  std::string* const line = file.line();
  AppendVertexHeading("source", dataset, line);
  line->push_back(',');
  AppendVertexHeading("destination", dataset, line);
  line->append(",score,probability");
  FGNN_RETURN_IF_ERROR(file.EndLine());
  for (size_t i = 0; i < scores.size(); ++i) {
    AppendVertex(pairs[2 * i], dataset, line);
    line->push_back(',');
    AppendVertex(pairs[2 * i + 1], dataset, line);
    AppendScore(scores[i], line);
    FGNN_RETURN_IF_ERROR(file.EndLine());
  }
  return file.Commit();
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
  FGNN_ASSIGN_OR_RETURN(CsvFile file, CsvFile::Create(path));
  std::string* const line = file.line();
  AppendVertexHeading("", dataset, line);
  line->append(",rank,");
  AppendVertexHeading("neighbour", dataset, line);
  line->append(",score,probability");
  FGNN_RETURN_IF_ERROR(file.EndLine());
  for (size_t i = 0; i < found.vertices.size(); ++i) {
    if (found.vertices[i] < 0) continue;
    AppendVertex(vertices[i / found.num_best], dataset, line);
    absl::StrAppend(line, ",", i % found.num_best + 1, ",");
    AppendVertex(static_cast<GlobalId>(found.vertices[i]), dataset, line);
    AppendScore(found.scores[i], line);
    FGNN_RETURN_IF_ERROR(file.EndLine());
  }
  return file.Commit();
}

}  // namespace fgnn
