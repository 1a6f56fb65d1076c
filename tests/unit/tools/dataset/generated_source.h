// Sources for importers with planted oddities, drawn from a seed. Whoever draws
// one counts what becomes of each line, without the importers' code.
#ifndef FGNN_TESTS_UNIT_TOOLS_DATASET_GENERATED_SOURCE_H_
#define FGNN_TESTS_UNIT_TOOLS_DATASET_GENERATED_SOURCE_H_

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/npy_bytes.h"
#include "tools/dataset/importing/import.h"

namespace fgnn {

// The right account of a table.
struct Expected {
  uint64_t read = 0;
  uint64_t made = 0;
  uint64_t merged = 0;
  std::map<std::string, uint64_t> added;
  std::map<std::string, uint64_t> left_out;
};

using Edges = std::vector<std::pair<int64_t, int64_t>>;

// Returns the arrays "indptr" and "indices" of lists by the edges' second ends,
// or first ones. Lists do not ascend.
inline std::map<std::string, std::string> CompressedLists(const Edges& edges,
                                                          uint64_t num_nodes,
                                                          bool by_source) {
  std::vector<int64_t> indptr = {0};
  std::vector<int32_t> indices;
  for (int64_t v = 0; v < static_cast<int64_t>(num_nodes); ++v) {
    for (const auto& [source, destination] : edges) {
      if ((by_source ? source : destination) != v) continue;
      indices.push_back(static_cast<int32_t>(by_source ? destination : source));
    }
    indptr.push_back(static_cast<int64_t>(indices.size()));
  }
  return {{"indptr", Npy(indptr)}, {"indices", Npy(indices)}};
}

// Returns the ends of all edges, first the sources.
inline std::string EdgeIndex(const Edges& edges) {
  std::vector<int64_t> ends;
  for (const auto& edge : edges) ends.push_back(edge.first);
  for (const auto& edge : edges) ends.push_back(edge.second);
  return Npy<int64_t>({2, edges.size()}, ends);
}

class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}

  // A number below `end`.
  uint64_t Below(uint64_t end) { return engine_() % end; }
  bool OneOf(uint64_t times) { return Below(times) == 0; }
  template <typename T>
  const T& Of(const std::vector<T>& values) {
    return values[Below(values.size())];
  }

  // Edges with repeats, reverses and self-loops.
  Edges MakeEdges(uint64_t num_nodes) {
    Edges edges;
    const uint64_t count = 1 + Below(30);
    for (uint64_t e = 0; e < count; ++e) {
      auto edge = std::pair(static_cast<int64_t>(Below(num_nodes)),
                            static_cast<int64_t>(Below(num_nodes)));
      if (!edges.empty() && OneOf(4)) edge = Of(edges);
      if (!edges.empty() && OneOf(6)) {
        edge = Of(edges);
        std::swap(edge.first, edge.second);
      }
      if (OneOf(12)) edge.second = edge.first;
      edges.push_back(edge);
    }
    return edges;
  }

  void MakeOptions(ImportOptions* options) {
    options->symmetric = OneOf(2);
    options->keep_duplicates = OneOf(4);
    options->drop_self_loops = OneOf(3);
    options->equal_edges = static_cast<EqualEdges>(Below(3));
  }

  // A value that is missing, in one of the ways that people write it.
  std::string Missing() {
    std::string word(Of(std::vector<std::string>{
        "", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None",
        "\\N", "?", "NaT", " ", "nil", "-NaN", "#NA"}));
    return word;
  }

 private:
  std::mt19937_64 engine_;
};

// Counts what becomes of the edges.
inline void CountEdges(const Edges& edges, const ImportOptions& options,
                       Expected* expected) {
  std::multiset<std::pair<int64_t, int64_t>> given;
  for (const auto& edge : edges) {
    if (options.drop_self_loops && edge.first == edge.second) {
      ++expected->left_out["self-loops"];
    } else {
      given.insert(edge);
    }
  }
  const std::set<std::pair<int64_t, int64_t>> different(given.begin(),
                                                        given.end());
  if (!options.keep_duplicates) {
    expected->merged = given.size() - different.size();
    given = {different.begin(), different.end()};
  }
  expected->made = given.size();
  for (const auto& [from, to] : given) {
    if (!options.symmetric || from == to || different.count({to, from}) > 0) {
      continue;
    }
    ++expected->added["reverses"];
    ++expected->made;
  }
}

// A text file that is written line by line, with lines of no data between.
class GeneratedText {
 public:
  // `comments`: lines that may stand between others.
  GeneratedText(Draw& draw, std::vector<std::string> comments)
      : draw_(draw),
        comments_(std::move(comments)),
        line_end_(draw.OneOf(3) ? "\r\n" : "\n"),
        text_(draw.OneOf(3) ? "\xEF\xBB\xBF" : "") {}

  // Adds a line of data, and perhaps others before it.
  void Add(const std::string& line) {
    while (draw_.OneOf(6)) AddLine(draw_.Of(blanks_), "blank");
    while (!comments_.empty() && draw_.OneOf(6)) {
      AddLine(draw_.Of(comments_), "comments");
    }
    AddLine(line, "");
  }
  void AddHeader(const std::string& line) {
    while (!comments_.empty() && draw_.OneOf(6)) {
      AddLine(draw_.Of(comments_), "comments");
    }
    AddLine(line, "header");
  }
  // Counts line ends inside a quoted field.
  void CountContinuations(uint64_t count) {
    if (count > 0) left_out_["further lines of quoted fields"] += count;
    lines_ += count;
  }

  // The text. The last line may have no end.
  std::string Take(Expected* expected) {
    expected->read = lines_;
    for (const auto& [reason, count] : left_out_) {
      expected->left_out[reason] += count;
    }
    if (draw_.OneOf(3)) text_.resize(text_.size() - line_end_.size());
    return text_;
  }

 private:
  void AddLine(const std::string& line, const std::string& reason) {
    text_ += line + line_end_;
    ++lines_;
    if (!reason.empty()) ++left_out_[reason];
  }

  Draw& draw_;
  std::vector<std::string> comments_;
  std::vector<std::string> blanks_ = {"", " ", "\t", "  \t "};
  std::string line_end_;
  std::string text_;
  uint64_t lines_ = 0;
  std::map<std::string, uint64_t> left_out_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TOOLS_DATASET_GENERATED_SOURCE_H_
