// Columns of text, aligned: what commands print for people.
#ifndef FGNN_TOOLS_FGNN_REPORTS_TEXT_TABLE_H_
#define FGNN_TOOLS_FGNN_REPORTS_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace fgnn {

// Not thread-safe.
class TextTable {
 public:
  // `right_aligned` names the columns of numbers, by place.
  explicit TextTable(std::vector<std::string> header,
                     std::vector<size_t> right_aligned = {});

  // Missing cells are empty. Each is shown as PrintableText(): it may hold
  // others' words.
  void AddRow(std::vector<std::string> cells);

  // Header and rows, two spaces between columns, each line ended by '\n'.
  std::string ToString() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // The header is the first.
  std::vector<size_t> right_aligned_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_TEXT_TABLE_H_
