#include "trainer_service/commands/id_file.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "shared/base/files/file.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/graph/npy.h"
#include "shared/graph/vertex_names.h"

namespace fgnn {
namespace {

constexpr size_t kMostTextBytes = size_t{1} << 34;
constexpr size_t kMostQuotedBytes = 60;
constexpr std::string_view kBlanks = " \t\r,";

// Returns what a row should have been.
std::string Expected(size_t columns, uint64_t num_nodes) {
  return absl::StrCat(
      columns == 1 ? "the id of a vertex" : "two ids of vertices", ", in [0, ",
      num_nodes, ")");
}

// Returns the same of text about a dataset whose vertices are of several kinds.
std::string ExpectedNames(size_t columns) {
  return columns == 1 ? "the name of a vertex" : "two names of vertices";
}

// Returns false unless `text` starts with an id below `num_nodes` that a blank
// or the end follows. Removes the id from `text`.
bool TakeId(std::string_view* text, uint64_t num_nodes, GlobalId* id) {
  uint64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || number >= num_nodes) return false;
  text->remove_prefix(static_cast<size_t>(stop - text->data()));
  if (!text->empty() && kBlanks.find(text->front()) == std::string_view::npos) {
    return false;
  }
  *id = static_cast<GlobalId>(number);
  return true;
}

void SkipBlanks(std::string_view* text) {
  text->remove_prefix(std::min(text->find_first_not_of(kBlanks), text->size()));
}

// Appends a line's ids. Errors go on from "line N is …, but".
absl::Status AppendNumbered(std::string_view line, size_t columns,
                            uint64_t num_nodes, std::vector<GlobalId>* ids) {
  bool fits = true;
  for (size_t column = 0; column < columns && fits; ++column) {
    SkipBlanks(&line);
    fits = TakeId(&line, num_nodes, &ids->emplace_back());
  }
  SkipBlanks(&line);
  if (fits && line.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("each line has ", Expected(columns, num_nodes)));
}

// Takes a quoted name off `text`, to behind the closing quote; doubled quotes
// are one. Returns false if there is no closing quote.
bool TakeQuoted(std::string_view* text, std::string* name) {
  for (size_t i = 1; i < text->size(); ++i) {
    const bool is_quote = (*text)[i] == '"';
    if (is_quote && !text->substr(i + 1).starts_with('"')) {
      text->remove_prefix(i + 1);
      return true;
    }
    i += is_quote ? 1 : 0;
    name->push_back((*text)[i]);
  }
  return false;
}

// Takes the name at the start of `text`, which a blank or the end follows.
bool TakeName(std::string_view* text, std::string* name) {
  if (text->starts_with('"')) {
    return TakeQuoted(text, name) &&
           (text->empty() ||
            kBlanks.find(text->front()) != std::string_view::npos);
  }
  name->assign(text->substr(0, text->find_first_of(kBlanks)));
  text->remove_prefix(name->size());
  return !name->empty();
}

// Returns the names on a line, or nullopt if it has not `columns` of them, and
// nothing else.
std::optional<std::vector<std::string>> PartNames(std::string_view line,
                                                  size_t columns) {
  std::vector<std::string> names(columns);
  for (std::string& name : names) {
    SkipBlanks(&line);
    if (!TakeName(&line, &name)) return std::nullopt;
  }
  SkipBlanks(&line);
  if (!line.empty()) return std::nullopt;
  return names;
}

// Appends the vertices that a line names. Errors go on from "line N is …, but".
absl::Status AppendNamed(std::string_view line, size_t columns,
                         const VertexFinder& finder,
                         std::vector<GlobalId>* ids) {
  const std::optional<std::vector<std::string>> names =
      PartNames(line, columns);
  if (!names.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("each line has ", ExpectedNames(columns),
                     "; put double quotes around names with blanks or commas"));
  }
  for (const std::string& name : *names) {
    FGNN_ASSIGN_OR_RETURN(const GlobalId v, finder.Find(name));
    ids->push_back(v);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<GlobalId>> ReadText(
    const std::filesystem::path& path, size_t columns, const Dataset& dataset) {
  FGNN_ASSIGN_OR_RETURN(const std::string text,
                        ReadSmallFile(path, kMostTextBytes));
  std::optional<VertexFinder> finder;
  if (!dataset.kinds().empty()) finder.emplace(dataset);
  std::vector<GlobalId> ids;
  std::string_view rest = text;
  for (uint64_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.find_first_not_of(kBlanks) == std::string_view::npos) continue;
    const absl::Status status =
        finder.has_value()
            ? AppendNamed(line, columns, *finder, &ids)
            : AppendNumbered(line, columns, dataset.num_nodes(), &ids);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path.string(), ": line ", number, " is '",
          PrintableText(line, kMostQuotedBytes), "', but ", MessageOf(status)));
    }
  }
  return ids;
}

template <typename T>
absl::Status AppendElements(const NpyArray& array, size_t columns,
                            uint64_t num_nodes, std::vector<GlobalId>* ids) {
  const absl::Span<const T> elements = array.As<T>();
  ids->reserve(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    const T id = elements[i];
    if (id < T{0} || static_cast<uint64_t>(id) >= num_nodes) {
      return absl::InvalidArgumentError(
          absl::StrCat("row ", i / columns, " has ", id, ", but each row has ",
                       Expected(columns, num_nodes)));
    }
    ids->push_back(static_cast<GlobalId>(id));
  }
  return absl::OkStatus();
}

absl::Status AppendArray(const NpyArray& array, size_t columns,
                         uint64_t num_nodes, std::vector<GlobalId>* ids) {
  const std::vector<uint64_t>& shape = array.header().shape;
  const bool fits = shape.size() == 2 ? shape[1] == columns
                                      : shape.size() == 1 && columns == 1;
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has another shape than ", columns == 1 ? "[n]" : "[n, 2]"));
  }
  switch (array.header().type) {
    case NpyType::kI8:
      return AppendElements<int8_t>(array, columns, num_nodes, ids);
    case NpyType::kU8:
      return AppendElements<uint8_t>(array, columns, num_nodes, ids);
    case NpyType::kU16:
      return AppendElements<uint16_t>(array, columns, num_nodes, ids);
    case NpyType::kI32:
      return AppendElements<int32_t>(array, columns, num_nodes, ids);
    case NpyType::kU32:
      return AppendElements<uint32_t>(array, columns, num_nodes, ids);
    case NpyType::kI64:
      return AppendElements<int64_t>(array, columns, num_nodes, ids);
    case NpyType::kU64:
      return AppendElements<uint64_t>(array, columns, num_nodes, ids);
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("holds ", std::string(DescrOf(array.header().type)),
                       ", but ids are integers, such as '<i8'"));
  }
}

}  // namespace

absl::StatusOr<std::vector<GlobalId>> ReadIdFile(
    const std::filesystem::path& path, size_t columns, const Dataset& dataset) {
  const bool is_array = path.extension() == ".npy";
  const uint64_t num_nodes = dataset.num_nodes();
  std::vector<GlobalId> ids;
  if (is_array) {
    FGNN_ASSIGN_OR_RETURN(const NpyArray array, NpyArray::Open(path));
    FGNN_RETURN_IF_ERROR(
        Annotate(AppendArray(array, columns, num_nodes, &ids), path.string()));
  } else {
    FGNN_ASSIGN_OR_RETURN(ids, ReadText(path, columns, dataset));
  }
  if (!ids.empty()) return ids;
  return absl::InvalidArgumentError(absl::StrCat(
      path.string(), ": has no ids; each line has ",
      is_array || dataset.kinds().empty() ? Expected(columns, num_nodes)
                                          : ExpectedNames(columns)));
}

}  // namespace fgnn
