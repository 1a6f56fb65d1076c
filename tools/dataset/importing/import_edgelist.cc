// fgnn dataset import edgelist.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "tools/dataset/building/vertex_numbering.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_arrays.h"
#include "tools/dataset/importing/import_target.h"
#include "tools/dataset/reading/array_stream.h"
#include "tools/dataset/reading/line_reader.h"
#include "tools/dataset/reading/number_text.h"

namespace fgnn {
namespace {

constexpr uint64_t kProgressLines = 4096;
constexpr size_t kShownBytes = 60;  // Most bytes of a line in a message.

VertexNumbering::Kind KindOf(const EdgeListSource& source) {
  if (source.string_ids) return VertexNumbering::Kind::kNames;
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
  constexpr std::string_view kUsual[][2] = {{"source", "target"},
                                            {"source", "destination"},
                                            {"src", "dst"},
                                            {"from", "to"},
                                            {"head", "tail"}};
  const auto is = [&words](size_t i, std::string_view name) {
    return absl::EqualsIgnoreCase({words.word[i].data(), words.word[i].size()},
                                  {name.data(), name.size()});
  };
  return std::any_of(
      std::begin(kUsual), std::end(kUsual),
      [&is](const auto& names) { return is(0, names[0]) && is(1, names[1]); });
}

class EdgeListReader {
 public:
  EdgeListReader(const EdgeListSource& source, LineReader lines,
                 ImportTarget& target)
      : source_(source),
        lines_(std::move(lines)),
        numbering_(KindOf(source)),
        target_(target) {}

  absl::Status Read() {
    std::string_view line;
    for (;;) {
      FGNN_ASSIGN_OR_RETURN(const bool more, lines_.Next(&line));
      if (!more) break;
      line = TrimBlanks(line);
      if (line.empty() || line.front() == '#' || line.front() == '%') {
        FGNN_RETURN_IF_ERROR(CheckComment(line));
        continue;
      }
      if (absl::Status status = AddLine(line); !status.ok()) {
        return Annotate(status, lines_.Place());
      }
      if (lines_.line_number() % kProgressLines == 0) {
        target_.Progress("reading edges", lines_.bytes_done(),
                         lines_.bytes_in_all());
      }
    }
    return Annotate(numbering_.CheckDense(target_.num_edges_added()),
                    lines_.what());
  }

  const VertexNumbering& numbering() const { return numbering_; }

 private:
  absl::Status CheckComment(std::string_view line) const {
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
    if (!is_first || !IsHeader(words, source_.string_ids)) return false;
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
    FGNN_ASSIGN_OR_RETURN(const GlobalId from,
                          numbering_.Number(words.word[0]));
    FGNN_ASSIGN_OR_RETURN(const GlobalId to, numbering_.Number(words.word[1]));
    float weight = 1.0F;
    if (words.count == 3 && !source_.ignore_weights &&
        (!ParseNumber(words.word[2], &weight) || !(weight >= 0) ||
         std::isinf(weight))) {
      return absl::InvalidArgumentError(absl::StrCat(
          "weight '", std::string(words.word[2]),
          "' is not a finite number of 0 or more; --ignore-weights leaves "
          "weights out"));
    }
    return target_.AddEdge(from, to, weight);
  }

  const EdgeListSource& source_;
  LineReader lines_;
  VertexNumbering numbering_;
  ImportTarget& target_;
  bool at_first_line_ = true;  // No line of words was read yet.
  size_t num_words_ = 0;  // Number of words of each line; 0 before the first.
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
  if (source.string_ids && (source.one_based || !source.features.empty() ||
                            !source.labels.empty())) {
    return absl::InvalidArgumentError(
        "--string-ids numbers the vertices anew, which --one-based, --features "
        "and --labels contradict; put features and labels into a nodes file "
        "and import csv");
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
  if (source.string_ids) {
    const StringIds& names = reader.numbering().names();
    FGNN_RETURN_IF_ERROR(
        target->WriteLines("names.txt", names.size(),
                           [&names](uint64_t v) { return names.text(v); }));
  }
  return target->Finish(num_nodes);
}

}  // namespace fgnn
