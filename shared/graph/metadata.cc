#include "shared/graph/metadata.h"

#include <yaml-cpp/yaml.h>

#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr size_t kMaxMetadataBytes = 1 << 20;

// Reads keys of one mapping, and keeps the first error.
class KeyReader {
 public:
  // `section`: what stands before each key in messages.
  KeyReader(std::string file, YAML::Node root, std::string section = "")
      : file_(std::move(file)),
        root_(std::move(root)),
        section_(std::move(section)) {}

  template <typename T>
  T Get(const std::string& key, T otherwise, std::string_view wanted) {
    const YAML::Node node = std::as_const(root_)[key];
    if (!node) return otherwise;
    T value;
    // yaml-cpp reads "-1" as a uint64_t that wraps, so the text is checked.
    const bool negative = node.IsScalar() && !node.Scalar().empty() &&
                          node.Scalar().front() == '-';
    if (!node.IsScalar() || (!std::is_same_v<T, std::string> && negative) ||
        !YAML::convert<T>::decode(node, value)) {
      Fail(absl::StrCat("line ", node.Mark().line + 1, ": ", section_, key,
                        " is not ", std::string(wanted)));
      return otherwise;
    }
    return value;
  }

  // Returns a number of 16 hex digits, which has to be there.
  uint64_t GetHex(const std::string& key) {
    Require(key);
    const std::string text = Get<std::string>(key, "0", "a word");
    uint64_t value = 0;
    if (!absl::SimpleHexAtoi(text, &value)) {
      Fail(absl::StrCat(section_, key, " '", text, "' is no hex number"));
    }
    return value;
  }

  // Returns the words of a list; none without the key.
  std::vector<std::string> GetWords(const std::string& key) {
    const YAML::Node node = std::as_const(root_)[key];
    std::vector<std::string> words;
    if (!node || YAML::convert<std::vector<std::string>>::decode(node, words)) {
      return words;
    }
    Fail(absl::StrCat("line ", node.Mark().line + 1, ": ", key,
                      " is not a list of words"));
    return {};
  }

  void Require(const std::string& key) {
    if (!std::as_const(root_)[key])
      Fail(absl::StrCat("key ", section_, key, " is missing"));
  }

  void Fail(std::string_view reason) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(absl::StrCat(
        file_, ": ", std::string(reason),
        "; mend it, or make the folder again with 'fgnn dataset'"));
  }

  // Takes the error of another mapping of the file.
  void Update(const absl::Status& status) { status_.Update(status); }
  const absl::Status& status() const { return status_; }

 private:
  std::string file_;
  YAML::Node root_;
  std::string section_;
  absl::Status status_;
};

FeatureType GetFeatureType(KeyReader& keys) {
  const std::string text =
      keys.Get<std::string>("feature_type", "f32", "a word");
  const std::optional<FeatureType> type = FeatureTypeOf(text);
  if (type.has_value()) return *type;
  keys.Fail(
      absl::StrCat("feature_type '", text, "' is none of f32, f16, bf16"));
  return FeatureType::kFloat32;
}

TargetType GetTargetType(KeyReader& keys) {
  const std::string text =
      keys.Get<std::string>("target_type", "f32", "a word");
  const std::optional<TargetType> type = TargetTypeOf(text);
  if (type.has_value()) return *type;
  keys.Fail(absl::StrCat("target_type '", text, "' is none of f32, u8"));
  return TargetType::kFloat32;
}

// Checks the numbers that shapes of arrays follow from.
void CheckCounts(const DatasetMetadata& metadata, KeyReader& keys) {
  const auto check_most = [&keys](std::string_view key, uint64_t value,
                                  uint64_t most) {
    if (value <= most) return;
    keys.Fail(absl::StrCat(std::string(key), " is ", value,
                           ", which is more than ", most));
  };
  if (metadata.num_nodes == 0 || metadata.num_nodes > kMaxNodes) {
    keys.Fail(absl::StrCat("num_nodes is ", metadata.num_nodes,
                           ", which is not in [1, ", kMaxNodes, "]"));
  }
  if (metadata.num_edges >
      static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    keys.Fail(absl::StrCat("num_edges is ", metadata.num_edges,
                           ", which is more than 2^63 - 1"));
  }
  check_most("feature_columns", metadata.feature_columns, kMostFeatureColumns);
  check_most("num_classes", metadata.num_classes, kMostClasses);
  check_most("target_columns", metadata.target_columns, kMostTargetColumns);
}

constexpr std::string_view kCount = "a whole number that is not negative";

// Returns what host_rows says, for a folder of these sizes.
std::optional<HostFolder> GetHostFolder(const std::string& file,
                                        const YAML::Node& node,
                                        const DatasetMetadata& metadata,
                                        KeyReader& keys) {
  if (!node) return std::nullopt;
  HostFolder folder;
  KeyReader own(file, node, "host_rows.");
  if (!node.IsMap()) {
    keys.Fail("host_rows is not a mapping of keys to values");
    return folder;
  }
  for (const char* const key : {"rows", "owners", "owner"}) own.Require(key);
  HostRows& host = folder.host;
  host.book = own.GetHex("book");
  host.owners = own.Get<uint32_t>("owners", 1, kCount);
  host.owner = own.Get<uint32_t>("owner", 0, kCount);
  folder.num_rows = own.Get<uint64_t>("rows", 0, kCount);
  folder.content = own.GetHex("content");
  folder.own_content = own.GetHex("own_content");
  if (host.owners == 0 || host.owners > kMostOwners) {
    own.Fail(absl::StrCat("host_rows.owners is ", host.owners,
                          ", which is not in [1, ", kMostOwners, "]"));
  }
  if (host.owner >= host.owners) {
    own.Fail(absl::StrCat("host_rows.owner is ", host.owner, ", but there are ",
                          host.owners, " owners"));
  }
  if (folder.num_rows > metadata.num_nodes) {
    own.Fail(absl::StrCat("host_rows.rows is ", folder.num_rows,
                          ", which is more than num_nodes ",
                          metadata.num_nodes));
  }
  if (metadata.feature_columns == 0) {
    own.Fail("host_rows is there, but feature_columns is 0");
  }
  keys.Update(own.status());
  return folder;
}

absl::StatusOr<DatasetMetadata> FromYaml(const std::string& file,
                                         const YAML::Node& root) {
  KeyReader keys(file, root);
  if (!root.IsMap()) {
    keys.Fail("is not a mapping of keys to values");
    return keys.status();
  }
  DatasetMetadata metadata;
  keys.Require("num_nodes");
  keys.Require("num_edges");
  metadata.name = keys.Get<std::string>("name", "", "a word");
  metadata.source = keys.Get<std::string>("source", "", "a line of text");
  metadata.num_nodes = keys.Get<uint64_t>("num_nodes", 1, kCount);
  metadata.num_edges = keys.Get<uint64_t>("num_edges", 0, kCount);
  metadata.feature_columns = keys.Get<uint64_t>("feature_columns", 0, kCount);
  metadata.feature_type = GetFeatureType(keys);
  metadata.num_classes = keys.Get<uint32_t>("num_classes", 0, kCount);
  metadata.target_columns = keys.Get<uint32_t>("target_columns", 0, kCount);
  metadata.target_type = GetTargetType(keys);
  metadata.symmetric = keys.Get<bool>("symmetric", false, "true or false");
  metadata.left_out = keys.GetWords("left_out");
  metadata.kinds = keys.GetWords("kinds");
  CheckCounts(metadata, keys);
  metadata.host_rows = GetHostFolder(file, root["host_rows"], metadata, keys);
  if (!keys.status().ok()) return keys.status();
  return metadata;
}

// yaml-cpp's messages end with the place; ours end with the way out.
absl::StatusOr<DatasetMetadata> Parse(const std::string& file,
                                      const std::string& text) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          file, ": line ", documents[1].Mark().line + 1,
          ": a second document begins here; put all keys into one"));
    }
    return FromYaml(file, documents.empty() ? YAML::Node() : documents[0]);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": line ", error.mark.line + 1, ": ", error.msg,
        "; mend it, or make the folder again with 'fgnn dataset'"));
  }
}

}  // namespace

NpyType StoredType(FeatureType type) {
  switch (type) {
    case FeatureType::kFloat32:
      return NpyType::kF32;
    case FeatureType::kFloat16:
      return NpyType::kF16;
    case FeatureType::kBfloat16:
      break;
  }
  return NpyType::kU16;
}

NpyType StoredType(TargetType type) {
  return type == TargetType::kFloat32 ? NpyType::kF32 : NpyType::kU8;
}

absl::StatusOr<DatasetMetadata> ReadMetadata(
    const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "metadata.yaml";
  const absl::StatusOr<std::string> text =
      ReadSmallFile(path, kMaxMetadataBytes);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(absl::StrCat(
        path.string(), ": missing; ", folder.string(),
        " is no dataset folder: make one with 'fgnn dataset import' or "
        "'fgnn dataset generate'"));
  }
  if (!text.ok()) return text.status();
  FGNN_ASSIGN_OR_RETURN(DatasetMetadata metadata, Parse(path.string(), *text));
  if (metadata.name.empty()) {
    const std::filesystem::path whole =
        std::filesystem::absolute(folder).lexically_normal();
    metadata.name = whole.has_filename()
                        ? whole.filename().string()
                        : whole.parent_path().filename().string();
  }
  return metadata;
}

namespace {

std::string HexOf(uint64_t number) {
  return absl::StrCat(absl::Hex(number, absl::kZeroPad16));
}

void FormatHostFolder(const HostFolder& folder, YAML::Emitter& out) {
  out << YAML::BeginMap;
  out << YAML::Key << "book" << YAML::Value << HexOf(folder.host.book);
  out << YAML::Key << "owners" << YAML::Value << folder.host.owners;
  out << YAML::Key << "owner" << YAML::Value << folder.host.owner;
  out << YAML::Key << "rows" << YAML::Value << folder.num_rows;
  out << YAML::Key << "content" << YAML::Value << HexOf(folder.content);
  out << YAML::Key << "own_content" << YAML::Value << HexOf(folder.own_content);
  out << YAML::EndMap;
}

}  // namespace

std::string FormatMetadata(const DatasetMetadata& metadata) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  out << YAML::Key << "name" << YAML::Value << metadata.name;
  out << YAML::Key << "source" << YAML::Value << metadata.source;
  out << YAML::Key << "num_nodes" << YAML::Value << metadata.num_nodes;
  out << YAML::Key << "num_edges" << YAML::Value << metadata.num_edges;
  out << YAML::Key << "feature_columns" << YAML::Value
      << metadata.feature_columns;
  out << YAML::Key << "feature_type" << YAML::Value
      << std::string(NameOf(metadata.feature_type));
  out << YAML::Key << "num_classes" << YAML::Value << metadata.num_classes;
  if (metadata.target_columns > 0) {
    out << YAML::Key << "target_columns" << YAML::Value
        << metadata.target_columns;
    out << YAML::Key << "target_type" << YAML::Value
        << std::string(NameOf(metadata.target_type));
  }
  out << YAML::Key << "symmetric" << YAML::Value << metadata.symmetric;
  if (!metadata.left_out.empty()) {
    out << YAML::Key << "left_out" << YAML::Value << metadata.left_out;
  }
  if (!metadata.kinds.empty()) {
    out << YAML::Key << "kinds" << YAML::Value << metadata.kinds;
  }
  if (metadata.host_rows.has_value()) {
    out << YAML::Key << "host_rows" << YAML::Value;
    FormatHostFolder(*metadata.host_rows, out);
  }
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace fgnn
