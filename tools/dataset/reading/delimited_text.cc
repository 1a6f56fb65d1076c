#include "tools/dataset/reading/delimited_text.h"

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "tools/dataset/reading/number_text.h"

namespace fgnn {

absl::StatusOr<DelimitedReader> DelimitedReader::Open(
    const std::filesystem::path& path, char separator, std::string comments) {
  FGNN_ASSIGN_OR_RETURN(LineReader lines, LineReader::OpenFile(path));
  return DelimitedReader(std::move(lines), separator, std::move(comments));
}

// Returns true if the line is no record, and counts it then.
bool DelimitedReader::Skips(std::string_view line) {
  // Nearly all lines end here.
  if (!line.empty() && static_cast<unsigned char>(line.front()) > '%' &&
      comments_.empty()) {
    return false;
  }
  line = TrimBlanks(line);
  const auto place = [this] { return lines_.Line(); };
  if (line.empty()) {
    skipped_.blanks.Add(line, place);
    return true;
  }
  if (comments_.find(line.front()) != std::string::npos) {
    skipped_.comments.Add(line, place);
    return true;
  }
  if (line.front() == '#' || line.front() == '%') {
    skipped_.like_comments.Add(line, place);
  }
  return false;
}

absl::StatusOr<bool> DelimitedReader::Next() {
  std::string_view line;
  do {
    FGNN_ASSIGN_OR_RETURN(const bool more, lines_.Next(&line));
    if (!more) return false;
  } while (Skips(line));
  record_line_ = lines_.line_number();
  fields_.clear();
  quoted_.clear();
  if (line.find('"') == std::string_view::npos) {
    Split(line);
  } else {
    FGNN_RETURN_IF_ERROR(SplitQuoted(line));
  }
  return true;
}

void DelimitedReader::Split(std::string_view line) {
  for (;;) {
    const size_t end = line.find(separator_);
    fields_.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return;
    line.remove_prefix(end + 1);
  }
}

absl::Status DelimitedReader::SplitQuoted(std::string_view line) {
  unquoted_.clear();
  ends_.clear();
  enum class At { kFieldStart, kPlain, kQuoted, kAfterQuote };
  At at = At::kFieldStart;
  for (size_t i = 0;; ++i) {
    if (i == line.size()) {
      if (at != At::kQuoted) break;
      unquoted_.push_back('\n');
      FGNN_ASSIGN_OR_RETURN(const bool more, lines_.Next(&line));
      if (!more || unquoted_.size() > LineReader::kMaxLineBytes) {
        return absl::InvalidArgumentError(absl::StrCat(
            Place(), ": a quoted field starts here and never closes"));
      }
      skipped_.continuations.Add(line, [this] { return lines_.Line(); });
      i = static_cast<size_t>(-1);
      continue;
    }
    const char c = line[i];
    if (at == At::kQuoted) {
      if (c == '"') {
        at = At::kAfterQuote;
      } else {
        unquoted_.push_back(c);
      }
    } else if (c == separator_) {
      ends_.push_back(unquoted_.size());
      quoted_.push_back(at == At::kAfterQuote);
      at = At::kFieldStart;
    } else if (c == '"' && at == At::kFieldStart) {
      at = At::kQuoted;
    } else if (at == At::kAfterQuote) {
      if (c != '"') {
        return absl::InvalidArgumentError(absl::StrCat(
            Place(), ": text behind the closing quote of field ",
            ends_.size() + 1, "; double a quote that is part of the field"));
      }
      unquoted_.push_back('"');
      at = At::kQuoted;
    } else {
      unquoted_.push_back(c);
      at = At::kPlain;
    }
  }
  ends_.push_back(unquoted_.size());
  quoted_.push_back(at == At::kAfterQuote);
  size_t begin = 0;
  for (const size_t end : ends_) {
    fields_.push_back(std::string_view(unquoted_).substr(begin, end - begin));
    begin = end;
  }
  return absl::OkStatus();
}

std::string DelimitedReader::Place() const {
  return absl::StrCat(lines_.what(), ":", record_line_);
}

std::string DelimitedReader::Line() const {
  return absl::StrCat("line ", record_line_);
}

absl::StatusOr<int64_t> DelimitedReader::Integer(size_t i) const {
  int64_t value = 0;
  if (ParseNumber(fields_[i], &value)) return value;
  return absl::InvalidArgumentError(absl::StrCat(Place(), ": field ", i + 1,
                                                 ", '", std::string(fields_[i]),
                                                 "', is not an integer"));
}

absl::StatusOr<double> DelimitedReader::Float(size_t i) const {
  double value = 0;
  if (ParseNumber(fields_[i], &value)) return value;
  return absl::InvalidArgumentError(absl::StrCat(Place(), ": field ", i + 1,
                                                 ", '", std::string(fields_[i]),
                                                 "', is not a number"));
}

absl::Status DelimitedReader::ExpectFields(size_t count) const {
  if (fields_.size() == count) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Place(), ": ", fields_.size(), " fields where ", count,
                   " are expected; quote a field that holds the separator"));
}

}  // namespace fgnn
