// Aligned columns of text, which commands print for people.
#ifndef FGNN_TOOLS_FGNN_REPORTS_TEXT_TABLE_H_
#define FGNN_TOOLS_FGNN_REPORTS_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace fgnn {

// Not thread-safe.
class TextTable {
 public:
  // `right_aligned` has the places of the columns of numbers.
  explicit TextTable(std::vector<std::string> header,
                     std::vector<size_t> right_aligned = {});

  // Missing cells are empty. Each cell is shown as PrintableText(), as it may
  // hold other people's text.
  void AddRow(std::vector<std::string> cells);

  // Returns header and rows, two spaces between columns, each line ended by
  // '\n'.
  std::string ToString() const;

 private:
  // Rows; the first is the header.
  std::vector<std::vector<std::string>> rows_;
  std::vector<size_t> right_aligned_;
};

}  // namespace fgnn

#endif  // FGNN_TOOLS_FGNN_REPORTS_TEXT_TABLE_H_
