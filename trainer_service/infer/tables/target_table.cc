#include "trainer_service/infer/tables/target_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "trainer_service/infer/files/csv_fields.h"
#include "trainer_service/infer/files/csv_file.h"

namespace fgnn {
namespace {

// Floats that are read from the file at a time, if a row has no more.
constexpr size_t kFloatsPerBlock = 1 << 16;

// Returns the dataset's targets, if they are of the table's type.
const TargetView* TruthOf(const TargetTable& table) {
  const TargetView& targets = table.dataset->targets();
  return targets.rows > 0 && targets.type == table.type ? &targets : nullptr;
}

// Calls `use` with the place of each vertex and its row, in order.
absl::Status ForEachRow(
    const TargetTable& table,
    absl::FunctionRef<absl::Status(size_t, absl::Span<const float>)> use) {
  const size_t columns = table.rows->columns();
  const size_t most = std::max<size_t>(kFloatsPerBlock / columns, 1);
  std::vector<float> block;
  for (size_t first = 0; first < table.vertices.size(); first += most) {
    const size_t rows = std::min(most, table.vertices.size() - first);
    block.resize(rows * columns);
    FGNN_RETURN_IF_ERROR(table.rows->Read(first, absl::MakeSpan(block)));
    for (size_t r = 0; r < rows; ++r) {
      FGNN_RETURN_IF_ERROR(use(
          first + r, absl::MakeConstSpan(block).subspan(r * columns, columns)));
    }
  }
  return absl::OkStatus();
}

std::string NameOfValue(const ClassMap& map, size_t column) {
  const std::string& name = map.names[column];
  return name.empty() ? absl::StrCat("value_", column + 1) : name;
}

// Returns the name of a class, or its number.
std::string NameOfClass(const std::vector<std::string>& names, size_t number) {
  const bool has_name = number < names.size() && !names[number].empty();
  return has_name ? names[number] : absl::StrCat(number);
}

void AppendSplit(const TargetTable& table, GlobalId v, std::string* line) {
  if (!table.truth->has_splits()) return;
  line->push_back(',');
  line->append(table.truth->split(v));
}

// Appends a field with the classes whose bit is true.
void AppendSet(const std::vector<std::string>& names, size_t num_classes,
               absl::FunctionRef<bool(size_t)> is_in, std::string* line) {
  std::string set;
  for (size_t c = 0; c < num_classes; ++c) {
    if (!is_in(c)) continue;
    absl::StrAppend(&set, set.empty() ? "" : ";", NameOfClass(names, c));
  }
  AppendCsvField(set, line);
}

// Lines of a table of numbers.
class ValueLines {
 public:
  explicit ValueLines(const TargetTable* table)
      : table_(*table), truth_(TruthOf(*table)) {
    if (truth_ != nullptr) row_.resize(truth_->columns);
  }

  void AppendHeading(std::string* line) const {
    const ClassMap& map = *table_.map;
    for (size_t c = 0; c < map.names.size(); ++c) {
      line->push_back(',');
      AppendCsvField(NameOfValue(map, c), line);
    }
    if (table_.truth->has_splits()) line->append(",split");
    for (size_t c = 0; c < map.names.size(); ++c) {
      if (!IsKnown(c)) continue;
      line->push_back(',');
      AppendCsvField("target_" + NameOfValue(map, c), line);
    }
  }

  void Append(GlobalId v, absl::Span<const float> row, std::string* line) {
    for (const float value : row) {
      line->push_back(',');
      AppendShortest(value, line);
    }
    AppendSplit(table_, v, line);
    if (truth_ == nullptr) return;
    truth_->Read(v, row_.data());
    for (size_t c = 0; c < row.size(); ++c) {
      if (!IsKnown(c)) continue;
      line->push_back(',');
      const float target = row_[static_cast<size_t>(table_.map->numbers[c])];
      if (!std::isnan(target)) AppendShortest(target, line);
    }
  }

 private:
  bool IsKnown(size_t column) const {
    return truth_ != nullptr && table_.map->numbers[column] >= 0;
  }

  const TargetTable& table_;
  const TargetView* const truth_;
  std::vector<float> row_;  // The true numbers of a vertex.
};

// Lines of a table of sets.
class SetLines {
 public:
  explicit SetLines(const TargetTable* table)
      : table_(*table), truth_(TruthOf(*table)) {
    if (truth_ != nullptr) row_.resize(truth_->columns);
  }

  void AppendHeading(std::string* line) const {
    line->append(",classes");
    for (size_t c = 0; c < table_.map->names.size(); ++c) {
      line->push_back(',');
      AppendCsvField("probability_" + NameOfClass(table_.map->names, c), line);
    }
    if (truth_ != nullptr) line->append(",labels");
    if (table_.truth->has_splits()) line->append(",split");
  }

  void Append(GlobalId v, absl::Span<const float> row, std::string* line) {
    line->push_back(',');
    AppendSet(
        table_.map->names, row.size(),
        [&](size_t c) { return row[c] > kLeastProbability; }, line);
    for (const float probability : row) {
      line->push_back(',');
      AppendProbability(probability, line);
    }
    if (truth_ != nullptr) {
      line->push_back(',');
      truth_->Read(v, row_.data());
      AppendSet(
          table_.map->label_names, truth_->Has(v) ? row_.size() : 0,
          [&](size_t c) { return row_[c] > 0; }, line);
    }
    AppendSplit(table_, v, line);
  }

 private:
  const TargetTable& table_;
  const TargetView* const truth_;
  std::vector<float> row_;  // The true set of a vertex: 1 or 0 of each class.
};

template <typename Lines>
absl::Status WriteLines(const std::filesystem::path& path,
                        const TargetTable& table) {
  Lines lines(&table);
  FGNN_ASSIGN_OR_RETURN(CsvFile file, CsvFile::Create(path));
  AppendVertexHeading("", *table.dataset, file.line());
  lines.AppendHeading(file.line());
  FGNN_RETURN_IF_ERROR(file.EndLine());
  FGNN_RETURN_IF_ERROR(
      ForEachRow(table, [&](size_t i, absl::Span<const float> row) {
        const GlobalId v = table.vertices[i];
        AppendVertex(v, *table.dataset, file.line());
        lines.Append(v, row, file.line());
        return file.EndLine();
      }));
  return file.Commit();
}

// How far the predictions of a split are from its targets.
struct SplitErrors {
  uint64_t vertices = 0;
  // Sums of the squares and of the absolute values, by column.
  std::vector<double> squares = {};
  std::vector<double> distances = {};
  // Pairs of a vertex and a class that is right, wrong, or missing.
  uint64_t right = 0;
  uint64_t wrong = 0;
  uint64_t missing = 0;
};

void AddPair(float predicted, float target, TargetType type, size_t column,
             SplitErrors& errors) {
  if (type == TargetType::kFloat32) {
    const double distance = double{predicted} - double{target};
    errors.squares[column] += distance * distance;
    errors.distances[column] += std::abs(distance);
    return;
  }
  const bool is_predicted = predicted > kLeastProbability;
  const bool is_true = target > 0;
  errors.right += is_predicted && is_true ? 1 : 0;
  errors.wrong += is_predicted && !is_true ? 1 : 0;
  errors.missing += !is_predicted && is_true ? 1 : 0;
}

Scores ScoresOf(const SplitErrors& errors, TargetType type,
                absl::Span<const int64_t> numbers) {
  if (type == TargetType::kBits) {
    const uint64_t named = 2 * errors.right + errors.wrong + errors.missing;
    return {.micro_f1 = named == 0 ? 0
                                   : 2 * static_cast<double>(errors.right) /
                                         static_cast<double>(named)};
  }
  double rmse = 0;
  double mae = 0;
  double columns = 0;
  const auto vertices = static_cast<double>(errors.vertices);
  for (size_t c = 0; c < numbers.size(); ++c) {
    if (numbers[c] < 0) continue;
    rmse += std::sqrt(errors.squares[c] / vertices);
    mae += errors.distances[c] / vertices;
    ++columns;
  }
  return {.rmse = rmse / columns, .mae = mae / columns};
}

}  // namespace

absl::StatusOr<std::vector<TargetScores>> ScoreTargets(
    const TargetTable& table) {
  const TargetView* const truth = TruthOf(table);
  std::vector<TargetScores> scores;
  if (truth == nullptr) return scores;
  const std::vector<int64_t>& numbers = table.map->numbers;
  constexpr std::string_view kSplits[] = {"train", "valid", "test", ""};
  std::vector<SplitErrors> errors(
      std::size(kSplits), {.squares = std::vector<double>(numbers.size()),
                           .distances = std::vector<double>(numbers.size())});
  std::vector<float> targets(truth->columns);
  FGNN_RETURN_IF_ERROR(
      ForEachRow(table, [&](size_t i, absl::Span<const float> row) {
        const GlobalId v = table.vertices[i];
        if (!truth->Has(v)) return absl::OkStatus();
        truth->Read(v, targets.data());
        const auto* const split = std::find(
            std::begin(kSplits), std::end(kSplits), table.truth->split(v));
        SplitErrors& of_split =
            errors[static_cast<size_t>(split - std::begin(kSplits))];
        ++of_split.vertices;
        for (size_t c = 0; c < row.size(); ++c) {
          if (numbers[c] < 0) continue;
          AddPair(row[c], targets[static_cast<size_t>(numbers[c])], table.type,
                  c, of_split);
        }
        return absl::OkStatus();
      }));
  for (size_t s = 0; s < errors.size(); ++s) {
    if (errors[s].vertices == 0) continue;
    scores.push_back({.split = std::string(kSplits[s]),
                      .vertices = errors[s].vertices,
                      .scores = ScoresOf(errors[s], table.type, numbers)});
  }
  return scores;
}

absl::Status WriteTargetTable(const std::filesystem::path& path,
                              const TargetTable& table) {
  return table.type == TargetType::kBits ? WriteLines<SetLines>(path, table)
                                         : WriteLines<ValueLines>(path, table);
}

}  // namespace fgnn
