#include "tools/dataset/importing/end_columns.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/graph/vertex_names.h"
#include "tools/dataset/importing/csv_table.h"

namespace fgnn {
namespace {

absl::Status BadNodes(const std::string& what, const CsvSource& source) {
  return absl::InvalidArgumentError(absl::StrCat(
      "--nodes ", what,
      "; with --bipartite name a file for each kind, --nodes ",
      source.source_column, "=FILE --nodes ", source.destination_column,
      "=FILE, or one that has a column of that name"));
}

// Refuses kinds by whose names vertices cannot be told apart.
absl::Status CheckKinds(const CsvSource& source) {
  const std::string& first = source.source_column;
  const std::string& second = source.destination_column;
  if (first == second) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--bipartite: both columns of ids are '", first,
        "'; name two with --source-column and --destination-column"));
  }
  // Vertex b:5 of kind "a" has the name of vertex 5 of kind "a:b".
  if (first.starts_with(KindPrefix(second)) ||
      second.starts_with(KindPrefix(first))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--bipartite: one of the columns '", first, "' and '", second,
        "' begins with the other and a colon, so that names of vertices may be "
        "equal; rename a column"));
  }
  return absl::OkStatus();
}

// Parts "KIND=FILE" if KIND is one of the two.
NodesOfKind Part(const std::string& text, const CsvSource& source) {
  for (const std::string& kind :
       {source.source_column, source.destination_column}) {
    if (text.starts_with(kind + "=")) {
      return {text.substr(kind.size() + 1), kind};
    }
  }
  return {text, ""};
}

// Returns the kind whose column the file has; empty: none, or both.
absl::StatusOr<std::string> KindOf(const std::filesystem::path& path,
                                   const CsvSource& source) {
  FGNN_ASSIGN_OR_RETURN(
      const CsvTable table,
      CsvTable::Open(path, source.separator, source.comments));
  const bool first = table.Has(source.source_column);
  const bool second = table.Has(source.destination_column);
  if (first == second) return "";
  return first ? source.source_column : source.destination_column;
}

}  // namespace

bool AreUsualEnds(std::string_view first, std::string_view second) {
  constexpr std::string_view kUsual[][2] = {{"source", "target"},
                                            {"source", "destination"},
                                            {"src", "dst"},
                                            {"from", "to"},
                                            {"head", "tail"}};
  const auto is = [](std::string_view word, std::string_view name) {
    return absl::EqualsIgnoreCase({word.data(), word.size()},
                                  {name.data(), name.size()});
  };
  return std::any_of(std::begin(kUsual), std::end(kUsual),
                     [&](const auto& names) {
                       return is(first, names[0]) && is(second, names[1]);
                     });
}

void EndColumns::NoteShared(ImportTarget& target) const {
  uint64_t shared = 0;
  const size_t size = std::min(marks_[0].size(), marks_[1].size());
  for (size_t v = 0; v < size; ++v) {
    shared += static_cast<uint64_t>(marks_[0][v] && marks_[1][v]);
  }
  if (shared == 0) return;
  target.Note(absl::StrCat("columns '", names_[0], "' and '", names_[1],
                           "' share ", FormatCount(shared),
                           " values, and each of these is one vertex; if they "
                           "count apart, --bipartite keeps ",
                           names_[0], ":5 and ", names_[1], ":5 two vertices"));
}

absl::StatusOr<std::vector<NodesOfKind>> NodesByKind(const CsvSource& source) {
  std::vector<NodesOfKind> files;
  if (!source.bipartite) {
    if (source.nodes.size() > 1) {
      return absl::InvalidArgumentError(
          "--nodes names several files; one describes all vertices, and two "
          "those of two kinds, with --bipartite");
    }
    for (const std::string& path : source.nodes) files.push_back({path, ""});
    return files;
  }
  FGNN_RETURN_IF_ERROR(CheckKinds(source));
  for (const std::string& text : source.nodes) {
    NodesOfKind file = Part(text, source);
    if (file.kind.empty()) {
      FGNN_ASSIGN_OR_RETURN(file.kind, KindOf(file.path, source));
    }
    if (file.kind.empty()) {
      return BadNodes(text + " has not exactly one of the columns '" +
                          source.source_column + "' and '" +
                          source.destination_column + "'",
                      source);
    }
    if (std::any_of(files.begin(), files.end(), [&](const NodesOfKind& other) {
          return other.kind == file.kind;
        })) {
      return BadNodes(text + " is a second file of " + file.kind, source);
    }
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace fgnn
