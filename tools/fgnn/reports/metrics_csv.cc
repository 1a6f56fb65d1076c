#include "tools/fgnn/reports/metrics_csv.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/printable_text.h"

namespace fgnn {
namespace {

using Cells = std::vector<std::pair<std::string, std::string>>;

std::string TextOf(const EpochMetrics& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void AddCells(const EpochMetrics& object, const std::string& prefix,
              Cells& cells) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object()) {
      AddCells(value, absl::StrCat(prefix, key, "."), cells);
    } else if (!value.is_array()) {
      cells.emplace_back(prefix + key, TextOf(value));
    }
  }
}

}  // namespace

std::string MetricsCsv(const std::vector<EpochMetrics>& epochs) {
  std::vector<std::string> columns = {"epoch"};
  std::vector<std::map<std::string, std::string>> rows;
  for (const EpochMetrics& epoch : epochs) {
    Cells cells;
    AddCells(epoch, "", cells);
    for (const auto& [column, text] : cells) {
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
        columns.push_back(column);
      }
    }
    rows.emplace_back(cells.begin(), cells.end());
  }
  const auto line = [](const std::vector<std::string>& cells) {
    return absl::StrJoin(cells, ",",
                         [](std::string* out, const auto& cell) {
                           AppendCsvField(cell, out);
                         }) +
           "\n";
  };
  std::string csv = line(columns);
  for (auto& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& column : columns) cells.push_back(row[column]);
    csv += line(cells);
  }
  return csv;
}

}  // namespace fgnn
