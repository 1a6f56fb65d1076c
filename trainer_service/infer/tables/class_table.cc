#include "trainer_service/infer/tables/class_table.h"

#include <cstddef>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/graph/npy.h"
#include "trainer_service/infer/files/array_file.h"
#include "trainer_service/infer/files/csv_fields.h"
#include "trainer_service/infer/files/csv_file.h"

namespace fgnn {
namespace {

// Returns the name of a label, in the dataset's numbering.
std::string_view NameOfLabel(const ClassMap& map, int64_t label) {
  const auto place = static_cast<size_t>(label);
  if (label < 0 || place >= map.label_names.size()) return {};
  return map.label_names[place];
}

void AppendHeading(const ClassTable& table, std::string* line) {
  AppendVertexHeading("", *table.dataset, line);
  line->append(",class,probability,class_name");
  if (table.truth->has_labels()) line->append(",label,label_name");
  if (table.truth->has_splits()) line->append(",split");
  for (uint32_t k = 2; k <= table.predictions->num_best; ++k) {
    absl::StrAppend(line, ",class_", k, ",probability_", k, ",class_name_", k);
  }
}

// Appends ",class,probability,class_name" of prediction `place`.
void AppendClass(const ClassTable& table, size_t place, std::string* csv) {
  const auto c = static_cast<size_t>(table.predictions->classes[place]);
  absl::StrAppend(csv, ",", table.map->numbers[c], ",");
  AppendProbability(table.predictions->probabilities[place], csv);
  csv->push_back(',');
  AppendCsvField(table.map->names[c], csv);
}

void AppendTruth(const ClassTable& table, GlobalId v, std::string* csv) {
  if (table.truth->has_labels()) {
    const int64_t label = table.truth->label(v);
    csv->push_back(',');
    if (label >= 0) absl::StrAppend(csv, label);
    csv->push_back(',');
    AppendCsvField(NameOfLabel(*table.map, label), csv);
  }
  if (table.truth->has_splits()) {
    csv->push_back(',');
    csv->append(table.truth->split(v));
  }
}

absl::Status WriteCsv(const std::filesystem::path& path,
                      const ClassTable& table) {
  FGNN_ASSIGN_OR_RETURN(CsvFile file, CsvFile::Create(path));
  std::string* const line = file.line();
  AppendHeading(table, line);
  FGNN_RETURN_IF_ERROR(file.EndLine());
  const size_t num_best = table.predictions->num_best;
  for (size_t i = 0; i < table.vertices.size(); ++i) {
    const GlobalId v = table.vertices[i];
    AppendVertex(v, *table.dataset, line);
    AppendClass(table, i * num_best, line);
    AppendTruth(table, v, line);
    for (size_t k = 1; k < num_best; ++k) {
      AppendClass(table, i * num_best + k, line);
    }
    FGNN_RETURN_IF_ERROR(file.EndLine());
  }
  return file.Commit();
}

}  // namespace

absl::Status WriteClassTable(const std::filesystem::path& path,
                             const ClassTable& table) {
  if (path.extension() == ".csv") return WriteCsv(path, table);
  std::vector<int64_t> numbers;
  numbers.reserve(table.predictions->classes.size());
  for (const int64_t c : table.predictions->classes) {
    numbers.push_back(table.map->numbers[static_cast<size_t>(c)]);
  }
  const uint64_t shape[] = {table.vertices.size(), table.predictions->num_best};
  const size_t dimensions = table.predictions->num_best == 1 ? 1 : 2;
  return WriteArray<int64_t>(path, NpyType::kI64, {shape, dimensions}, numbers);
}

PredictionMatches CountMatches(const ClassTable& table) {
  PredictionMatches matches;
  for (const char* split : {"train", "valid", "test", ""}) {
    matches.splits.push_back({split, {}});
  }
  MatchCount names;
  for (size_t i = 0; i < table.vertices.size(); ++i) {
    const GlobalId v = table.vertices[i];
    const int64_t label = table.truth->label(v);
    if (label < 0) continue;
    const auto c = static_cast<size_t>(
        table.predictions->classes[i * table.predictions->num_best]);
    for (PredictionMatches::OfSplit& of_split : matches.splits) {
      if (of_split.split != table.truth->split(v)) continue;
      ++of_split.count.labelled;
      of_split.count.matching += table.map->numbers[c] == label ? 1 : 0;
    }
    const std::string_view name = table.map->names[c];
    ++names.labelled;
    names.matching +=
        !name.empty() && name == NameOfLabel(*table.map, label) ? 1 : 0;
  }
  std::erase_if(matches.splits, [](const PredictionMatches::OfSplit& of_split) {
    return of_split.count.labelled == 0;
  });
  if (table.map->by_name && names.labelled > 0) matches.names = names;
  return matches;
}

}  // namespace fgnn
