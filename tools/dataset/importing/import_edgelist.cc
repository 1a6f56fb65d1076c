// fgnn dataset import edgelist.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "tools/dataset/building/vertex_numbering.h"
#include "tools/dataset/importing/end_columns.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_arrays.h"
#include "tools/dataset/importing/import_target.h"
#include "tools/dataset/importing/line_account.h"
#include "tools/dataset/reading/array_stream.h"
#include "tools/dataset/reading/line_reader.h"
#include "tools/dataset/reading/number_text.h"

namespace fgnn {
namespace {

constexpr uint64_t kProgressLines = 4096;
constexpr size_t kShownBytes = 60;  // Most bytes of a line in a message.

VertexNumbering::Kind KindOf(const EdgeListSource& source) {
  if (source.string_ids || source.bipartite)
    return VertexNumbering::Kind::kNames;
  return source.one_based ? VertexNumbering::Kind::kOneBased
                          : VertexNumbering::Kind::kIntegers;
}

// Up to four words of a line; the fourth stands for all further words.
struct Words {
  std::string_view word[4];
  size_t count = 0;
};

Words SplitAtBlanks(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r\v\f";
  Words words;
  while (words.count < 4) {
    const size_t first = line.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) break;
    line.remove_prefix(first);
    const size_t end = line.find_first_of(kBlanks);
    words.word[words.count++] = line.substr(0, end);
    if (end == std::string_view::npos) break;
    line.remove_prefix(end);
  }
  return words;
}

bool IsName(std::string_view word) {
  return absl::ascii_isalpha(static_cast<unsigned char>(word.front())) ||
         word.front() == '_' || word.front() == '"';
}

// Whether words of the first line are names of columns. Ids that are any text
// look like names, so that only usual ones count there.
bool IsHeader(const Words& words, bool string_ids) {
  if (words.count < 2) return false;
  if (!string_ids) return IsName(words.word[0]) && IsName(words.word[1]);
  return AreUsualEnds(words.word[0], words.word[1]);
}

// Whether a line that is not blank is a comment.
bool IsComment(std::string_view line, const EdgeListSource& source) {
  constexpr std::string_view kMarks = "#%";
  if (source.comments.has_value()) {
    return source.comments->find(line.front()) != std::string::npos;
  }
  if (kMarks.find(line.front()) == std::string_view::npos) return false;
  // A name may begin with a mark; a mark alone is none.
  return !source.string_ids || SplitAtBlanks(line).word[0].find_first_not_of(
                                   kMarks) == std::string_view::npos;
}

class EdgeListReader {
 public:
  EdgeListReader(const EdgeListSource& source, LineReader lines,
                 ImportTarget& target)
      : source_(source),
        lines_(std::move(lines)),
        numbering_(KindOf(source)),
        ends_("source", "destination", source.bipartite),
        target_(target) {}

  absl::Status Read() {
    std::string_view line;
    for (;;) {
      FGNN_ASSIGN_OR_RETURN(const bool more, lines_.Next(&line));
      if (!more) break;
      line = TrimBlanks(line);
      FGNN_ASSIGN_OR_RETURN(const bool skipped, Skip(line));
      if (skipped) continue;
      if (absl::Status status = AddLine(line); !status.ok()) {
        return Annotate(status, lines_.Place());
      }
      if (lines_.line_number() % kProgressLines == 0) {
        target_.Progress("reading edges", lines_.bytes_done(),
                         lines_.bytes_in_all());
      }
    }
    FGNN_RETURN_IF_ERROR(Account());
    return Annotate(numbering_.CheckDense(target_.num_edges_added()),
                    lines_.what());
  }

  const VertexNumbering& numbering() const { return numbering_; }

 private:
  // Returns true if the line has no edge, and counts it then.
  absl::StatusOr<bool> Skip(std::string_view line) {
    const auto place = [this] { return lines_.Line(); };
    if (line.empty()) {
      skipped_.blanks.Add(line, place);
      return true;
    }
    if (IsComment(line, source_)) {
      FGNN_RETURN_IF_ERROR(CheckComment(line));
      skipped_.comments.Add(line, place);
      return true;
    }
    if (line.front() == '#' || line.front() == '%') {
      skipped_.like_comments.Add(line, place);
    }
    return false;
  }

  absl::Status Account() {
    AccountTable lines = AccountForLines(lines_, skipped_, target_);
    const std::string source = lines.source;
    target_.AccountForEdges(std::move(lines));
    AddColumn({.source = source, .names = "word 1", .use = "source"},
              target_.account());
    AddColumn({.source = source, .names = "word 2", .use = "destination"},
              target_.account());
    if (source_.ignore_weights && most_words_ > 2) {
      AddColumn({.source = source,
                 .names = "further words",
                 .use = "left out: --ignore-weights"},
                target_.account());
    }
    if (source_.ignore_weights || num_words_ != 3) return absl::OkStatus();
    return target_.AccountForWeights(
        lines_.what(), {.source = source,
                        .names = "word 3",
                        .use = "weight",
                        .missing = missing_weights_.count(),
                        .words = missing_weights_.Words(),
                        .first_missing = missing_weights_.first()});
  }

  absl::Status CheckComment(std::string_view line) {
    if (lines_.line_number() == 1 && line.starts_with("% bip") &&
        !source_.bipartite) {
      target_.Note(absl::StrCat(lines_.Place(), ": '",
                                PrintableText(line, kShownBytes),
                                "' speaks of two kinds of vertices; "
                                "--bipartite keeps apart what both "
                                "columns number from 1"));
    }
    if (lines_.line_number() != 1 || line.substr(0, 14) != "%%MatrixMarket") {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        lines_.Place(),
        ": a Matrix Market file; take out its first line and the line of "
        "sizes, then pass --one-based"));
  }

  // The first line decides whether there are weights.
  absl::Status Begin(const Words& words) {
    num_words_ = words.count;
    return target_.BeginEdges(words.count == 3 && !source_.ignore_weights,
                              lines_.bytes_in_all());
  }

  absl::Status CheckWords(const Words& words, std::string_view line) const {
    const std::string way_out =
        line.find(',') != std::string_view::npos
            ? "; import commas as csv"
            : "; --ignore-weights takes the first two words alone";
    if (words.count < 2 || (words.count > 3 && !source_.ignore_weights)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", std::string(line.substr(0, kShownBytes)),
                       "' is not 'source destination [weight]'", way_out));
    }
    if (words.count != num_words_ && !source_.ignore_weights) {
      return absl::InvalidArgumentError(
          absl::StrCat(words.count, " words where the lines before have ",
                       num_words_, way_out));
    }
    return absl::OkStatus();
  }

  // Returns true for the first line if it names columns.
  bool SkipHeader(const Words& words, std::string_view line) {
    const bool is_first = std::exchange(at_first_line_, false);
    const bool names = source_.string_ids || source_.bipartite;
    if (!is_first || !IsHeader(words, names)) return false;
    skipped_.headers.Add(line, [this] { return lines_.Line(); });
    target_.Note(absl::StrCat(lines_.Place(), ": '",
                              PrintableText(line, kShownBytes),
                              "' is taken for a header and left out"));
    return true;
  }

  absl::Status AddLine(std::string_view line) {
    const Words words = SplitAtBlanks(line);
    if (SkipHeader(words, line)) return absl::OkStatus();
    if (num_words_ == 0) FGNN_RETURN_IF_ERROR(Begin(words));
    FGNN_RETURN_IF_ERROR(CheckWords(words, line));
    most_words_ = std::max(most_words_, words.count);
    FGNN_ASSIGN_OR_RETURN(const GlobalId from, Number(words, 0));
    FGNN_ASSIGN_OR_RETURN(const GlobalId to, Number(words, 1));
    float weight = 1.0F;
    const bool weighted = words.count == 3 && !source_.ignore_weights;
    if (weighted && target_.options().missing.Has(words.word[2])) {
      missing_weights_.Add(words.word[2], [this] { return lines_.Line(); });
      return target_.AddEdge(from, to, std::numeric_limits<float>::quiet_NaN());
    }
    if (weighted && (!ParseNumber(words.word[2], &weight) || !(weight >= 0) ||
                     std::isinf(weight))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "weight '", std::string(words.word[2]),
          "' is not a finite number of 0 or more; --ignore-weights leaves "
          "weights out"));
    }
    return target_.AddEdge(from, to, weight);
  }

  absl::StatusOr<GlobalId> Number(const Words& words, size_t end) {
    const std::string_view word = words.word[end];
    if (target_.options().missing.Has(word)) return MissingId(word, "");
    return numbering_.Number(word, ends_.kind(end));
  }

  const EdgeListSource& source_;
  LineReader lines_;
  VertexNumbering numbering_;
  const EndColumns ends_;
  ImportTarget& target_;
  bool at_first_line_ = true;  // No line of words was read yet.
  size_t num_words_ = 0;  // Number of words of each line; 0 before the first.
  size_t most_words_ = 0;
  SkippedKinds skipped_;
  MissingCount missing_weights_;
};

absl::Status ReadCompanions(const EdgeListSource& source, ImportTarget& target,
                            uint64_t* num_nodes) {
  if (!source.features.empty()) {
    FGNN_ASSIGN_OR_RETURN(ArrayStream features,
                          ArrayStream::OpenFile(source.features));
    // The features count isolated vertices behind the last edge.
    *num_nodes = std::max(*num_nodes, features.rows());
    FGNN_RETURN_IF_ERROR(ImportDenseFeatures(std::move(features), target));
  }
  if (!source.labels.empty()) {
    FGNN_ASSIGN_OR_RETURN(ArrayStream labels,
                          ArrayStream::OpenFile(source.labels));
    *num_nodes = std::max(*num_nodes, labels.rows());
    FGNN_RETURN_IF_ERROR(ImportLabels(std::move(labels), target));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImportSummary> ImportEdgeList(const EdgeListSource& source,
                                             const ImportOptions& options) {
  const bool has_names = source.string_ids || source.bipartite;
  if (has_names && (source.one_based || !source.features.empty() ||
                    !source.labels.empty())) {
    return absl::InvalidArgumentError(absl::StrCat(
        source.string_ids ? "--string-ids" : "--bipartite",
        " numbers the vertices anew, which --one-based, --features "
        "and --labels contradict; put features and labels into a nodes file "
        "and import csv"));
  }
  FGNN_ASSIGN_OR_RETURN(LineReader lines, LineReader::OpenFile(source.path));
  FGNN_ASSIGN_OR_RETURN(
      const std::unique_ptr<ImportTarget> target,
      ImportTarget::Create(options,
                           absl::StrCat("edge list ", source.path.string())));
  EdgeListReader reader(source, std::move(lines), *target);
  FGNN_RETURN_IF_ERROR(reader.Read());
  uint64_t num_nodes = reader.numbering().num_nodes();
  FGNN_RETURN_IF_ERROR(ReadCompanions(source, *target, &num_nodes));
  if (has_names) {
    const StringIds& names = reader.numbering().names();
    FGNN_RETURN_IF_ERROR(target->writer().WriteLines(
        "names.txt", names.size(),
        [&names](uint64_t v) { return names.text(v); }));
  }
  std::vector<std::string> kinds;
  if (source.bipartite) kinds = {"source", "destination"};
  return target->Finish(num_nodes, std::move(kinds));
}

}  // namespace fgnn
