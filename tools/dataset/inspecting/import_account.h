// The account of an import: what became of each line, row and column of the
// source. Every importer makes one; import.json in the dataset keeps it.
#ifndef FGNN_TOOLS_DATASET_INSPECTING_IMPORT_ACCOUNT_H_
#define FGNN_TOOLS_DATASET_INSPECTING_IMPORT_ACCOUNT_H_

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fgnn {

inline constexpr char kImportAccountFile[] = "import.json";

// So many lines of one reason.
struct AccountReason {
  std::string reason = {};  // "comments".
  uint64_t count = 0;
  std::string first = {};  // Place and text of the first one; empty: not known.
};

// A table of the source. read + added = made + merged + left out.
struct AccountTable {
  std::string source = {};  // Name of the file or array.
  std::string unit = {};    // What is read: "lines", "entries", "rows".
  uint64_t read = 0;
  std::vector<AccountReason> added = {};  // What the source does not have.
  std::string product = {};               // What is made: "edges", "vertices".
  uint64_t made = 0;
  uint64_t merged = 0;  // Equal ones of which one stays.
  std::vector<AccountReason> left_out = {};
};

// A column of a table, or several in a row that are used alike.
struct AccountColumn {
  std::string source = {};
  std::string names = {};  // "age, height, and 7 more".
  uint64_t count = 1;      // Number of columns.
  std::string use = {};    // "feature", "left out: text".
  uint64_t missing = 0;
  std::string words = {};          // "empty 2, na 1".
  std::string first_missing = {};  // Place of the first.
  std::string change = {};         // "filled with 0"; empty: none.
};

struct ImportAccount {
  std::vector<AccountTable> tables = {};
  std::vector<AccountColumn> columns = {};
};

// Adds the reason unless its count is 0.
void AddReason(std::string reason, uint64_t count, std::string first,
               std::vector<AccountReason>& reasons);

// Adds a column. A column without missing values is added to the one before if
// both are of one source and use.
void AddColumn(AccountColumn column, ImportAccount& account);

// Internal, naming the table: the numbers of a table do not add up, or the
// tables' products are other than the dataset's.
absl::Status CheckAccount(const ImportAccount& account, uint64_t num_nodes,
                          uint64_t num_edges);

// Returns a compact table, a line begins with two blanks.
std::string FormatAccount(const ImportAccount& account);
nlohmann::ordered_json AccountToJson(const ImportAccount& account);

// Writes `folder`/import.json.
absl::Status WriteAccount(const ImportAccount& account,
                          const std::filesystem::path& folder);
// Returns nullopt if the folder has none. InvalidArgument: the file is damaged.
absl::StatusOr<std::optional<ImportAccount>> ReadAccount(
    const std::filesystem::path& folder);

}  // namespace fgnn

#endif  // FGNN_TOOLS_DATASET_INSPECTING_IMPORT_ACCOUNT_H_
