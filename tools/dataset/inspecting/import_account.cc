#include "tools/dataset/inspecting/import_account.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "shared/base/files/file.h"
#include "shared/base/json_text.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/base/units.h"

namespace fgnn {
namespace {

using Json = nlohmann::ordered_json;

// Most names of columns in one row, and most rows of columns.
constexpr uint64_t kMostNames = 12;
constexpr size_t kMostColumns = 200;
constexpr size_t kMostNameBytes = 60;

uint64_t SumOf(const std::vector<AccountReason>& reasons) {
  uint64_t sum = 0;
  for (const AccountReason& reason : reasons) sum += reason.count;
  return sum;
}

uint64_t MadeOf(const ImportAccount& account, const std::string& product) {
  uint64_t sum = 0;
  for (const AccountTable& table : account.tables) {
    if (table.product == product) sum += table.made;
  }
  return sum;
}

Json ReasonsToJson(const std::vector<AccountReason>& reasons) {
  Json list = Json::array();
  for (const AccountReason& reason : reasons) {
    list.push_back({{"reason", reason.reason},
                    {"count", reason.count},
                    {"first", reason.first}});
  }
  return list;
}

std::vector<AccountReason> ReasonsFromJson(const Json& list) {
  std::vector<AccountReason> reasons;
  for (const Json& reason : list) {
    reasons.push_back({reason.at("reason"), reason.at("count").get<uint64_t>(),
                       reason.at("first")});
  }
  return reasons;
}

// Throws what nlohmann's parser throws.
ImportAccount AccountFromJson(const Json& document) {
  ImportAccount account;
  for (const Json& table : document.at("tables")) {
    account.tables.push_back(
        {table.at("source"), table.at("unit"), table.at("read").get<uint64_t>(),
         ReasonsFromJson(table.at("added")), table.at("product"),
         table.at("made").get<uint64_t>(), table.at("merged").get<uint64_t>(),
         ReasonsFromJson(table.at("left_out"))});
  }
  for (const Json& column : document.at("columns")) {
    account.columns.push_back(
        {column.at("source"), column.at("names"),
         column.at("count").get<uint64_t>(), column.at("use"),
         column.at("missing").get<uint64_t>(), column.at("words"),
         column.at("first_missing"), column.at("change")});
  }
  return account;
}

// Returns "3 comments (edges.csv:1: '# x'), 1 blank line (edges.csv:4)".
std::string FormatReasons(const std::vector<AccountReason>& reasons) {
  return absl::StrJoin(
      reasons, ", ", [](std::string* text, const AccountReason& reason) {
        absl::StrAppend(text, FormatCount(reason.count), " ", reason.reason,
                        reason.first.empty()
                            ? ""
                            : absl::StrCat(" (first ", reason.first, ")"));
      });
}

std::string FormatTable(const AccountTable& table) {
  std::string text = absl::StrFormat("  %-12s %s %s", table.source,
                                     FormatCount(table.read), table.unit);
  for (const AccountReason& reason : table.added) {
    absl::StrAppend(&text, " + ", FormatCount(reason.count), " ",
                    reason.reason);
  }
  absl::StrAppend(&text, " = ", FormatCount(table.made), " ", table.product);
  if (table.merged > 0) {
    absl::StrAppend(&text, " + ", FormatCount(table.merged), " merged");
  }
  const uint64_t left_out = SumOf(table.left_out);
  if (left_out > 0) {
    absl::StrAppend(&text, " + ", FormatCount(left_out),
                    " left out: ", FormatReasons(table.left_out));
  }
  return PrintableText(text) + "\n";
}

std::string FormatColumn(const AccountColumn& column) {
  std::string text = absl::StrFormat("  %-12s %s: %s", column.source,
                                     column.names, column.use);
  if (column.missing > 0) {
    absl::StrAppend(&text, "; missing ", FormatCount(column.missing), " (",
                    column.words,
                    column.first_missing.empty() ? "" : "; first ",
                    column.first_missing, ")");
  }
  if (!column.change.empty()) absl::StrAppend(&text, "; ", column.change);
  return PrintableText(text) + "\n";
}

}  // namespace

void AddReason(std::string reason, uint64_t count, std::string first,
               std::vector<AccountReason>& reasons) {
  if (count == 0) return;
  reasons.push_back({std::move(reason), count, std::move(first)});
}

void AddColumn(AccountColumn column, ImportAccount& account) {
  column.names = PrintableText(column.names, kMostNameBytes);
  std::vector<AccountColumn>& columns = account.columns;
  const bool is_plain = column.missing == 0 && column.change.empty();
  if (is_plain && !columns.empty() && columns.back().missing == 0 &&
      columns.back().change.empty() && columns.back().use == column.use &&
      columns.back().source == column.source) {
    AccountColumn& last = columns.back();
    const uint64_t behind =
        last.count >= kMostNames ? last.count - kMostNames + 1 : 0;
    if (behind == 0) {
      absl::StrAppend(&last.names, ", ", column.names);
    } else {
      const size_t cut = last.names.rfind(", and ");
      if (behind > 1) last.names.resize(cut);
      absl::StrAppend(&last.names, ", and ", behind, " more");
    }
    last.count += column.count;
    return;
  }
  if (columns.size() < kMostColumns) {
    columns.push_back(std::move(column));
    return;
  }
  AccountColumn& last = columns.back();
  last.names = "further columns";
  last.use = "as above";
  last.count += column.count;
  last.missing += column.missing;
}

absl::Status CheckAccount(const ImportAccount& account, uint64_t num_nodes,
                          uint64_t num_edges) {
  for (const AccountTable& table : account.tables) {
    const uint64_t in = table.read + SumOf(table.added);
    const uint64_t out = table.made + table.merged + SumOf(table.left_out);
    if (in == out) continue;
    return absl::InternalError(absl::StrCat(
        table.source, ": the account of the import does not add up: ", in, " ",
        table.unit, " went in, ", out,
        " came out; this is a fault of "
        "fgnn, please report it with the file"));
  }
  const uint64_t edges = MadeOf(account, "edges");
  const uint64_t vertices = MadeOf(account, "vertices");
  if (edges == num_edges && (vertices == 0 || vertices == num_nodes)) {
    return absl::OkStatus();
  }
  return absl::InternalError(absl::StrCat(
      "the account of the import has ", edges, " edges and ", vertices,
      " vertices, but the dataset has ", num_edges, " and ", num_nodes,
      "; this is a fault of fgnn, please report it with the source"));
}

std::string FormatAccount(const ImportAccount& account) {
  std::string text;
  for (const AccountTable& table : account.tables) text += FormatTable(table);
  for (const AccountColumn& column : account.columns) {
    text += FormatColumn(column);
  }
  return text;
}

Json AccountToJson(const ImportAccount& account) {
  Json document = {{"tables", Json::array()}, {"columns", Json::array()}};
  for (const AccountTable& table : account.tables) {
    document["tables"].push_back({{"source", table.source},
                                  {"unit", table.unit},
                                  {"read", table.read},
                                  {"added", ReasonsToJson(table.added)},
                                  {"product", table.product},
                                  {"made", table.made},
                                  {"merged", table.merged},
                                  {"left_out", ReasonsToJson(table.left_out)}});
  }
  for (const AccountColumn& column : account.columns) {
    document["columns"].push_back({{"source", column.source},
                                   {"names", column.names},
                                   {"count", column.count},
                                   {"use", column.use},
                                   {"missing", column.missing},
                                   {"words", column.words},
                                   {"first_missing", column.first_missing},
                                   {"change", column.change}});
  }
  return document;
}

absl::Status WriteAccount(const ImportAccount& account,
                          const std::filesystem::path& folder) {
  return WriteFileAtomically(folder / kImportAccountFile,
                             JsonText(AccountToJson(account), 1) + "\n");
}

absl::StatusOr<std::optional<ImportAccount>> ReadAccount(
    const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kImportAccountFile;
  const absl::StatusOr<std::string> text = ReadSmallFile(path);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  FGNN_RETURN_IF_ERROR(text.status());
  try {
    return AccountFromJson(Json::parse(*text));
  } catch (const nlohmann::json::exception&) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ": is no account of an import; remove it"));
  }
}

}  // namespace fgnn
