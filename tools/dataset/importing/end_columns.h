// The two columns of ids of a table of edges: of one kind of vertices, or of
// two kinds that count apart.
#ifndef FGNN_TOOLS_DATASET_IMPORTING_END_COLUMNS_H_
#define FGNN_TOOLS_DATASET_IMPORTING_END_COLUMNS_H_

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/base/types.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_target.h"

namespace fgnn {

// Returns whether two words are usual names of the columns of one kind of
// vertices, such as "source" and "target".
bool AreUsualEnds(std::string_view first, std::string_view second);

// Counts the vertices that both columns name, if these have names as of two
// kinds. Not thread-safe. Memory: a bit for each vertex and column.
class EndColumns {
 public:
  EndColumns(std::string first, std::string second, bool bipartite)
      : names_{std::move(first), std::move(second)},
        bipartite_(bipartite),
        counts_(!bipartite && names_[0] != names_[1] &&
                !AreUsualEnds(names_[0], names_[1])) {}

  // Kind of the vertices of column 0 or 1; empty: there is one kind.
  std::string_view kind(size_t end) const {
    return bipartite_ ? std::string_view(names_[end]) : std::string_view();
  }
  void Mark(GlobalId first, GlobalId second) {
    if (!counts_) return;
    MarkOne(first, marks_[0]);
    MarkOne(second, marks_[1]);
  }
  // Notes how many vertices both columns name.
  void NoteShared(ImportTarget& target) const;

 private:
  static void MarkOne(GlobalId vertex, std::vector<bool>& marks) {
    if (vertex >= marks.size()) marks.resize(2 * size_t{vertex} + 64);
    marks[vertex] = true;
  }

  std::array<std::string, 2> names_;
  bool bipartite_;
  bool counts_;
  std::array<std::vector<bool>, 2> marks_;
};

// A file of the vertices of a kind; empty without source.bipartite.
struct NodesOfKind {
  std::filesystem::path path;
  std::string kind;
};

// Returns which file describes which kind. With source.bipartite a file is of
// the kind whose column it has, or of the one that "KIND=FILE" says.
// InvalidArgument names the file that is of no kind, of both, or one too many,
// or says that vertices of the two kinds may have equal names.
absl::StatusOr<std::vector<NodesOfKind>> NodesByKind(const CsvSource& source);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_IMPORTING_END_COLUMNS_H_
