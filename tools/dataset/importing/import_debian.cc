// fgnn dataset import debian.
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "tools/dataset/building/class_labels.h"
#include "tools/dataset/building/string_ids.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_target.h"
#include "tools/dataset/importing/word_hashing.h"
#include "tools/dataset/reading/debian_index.h"
#include "tools/dataset/reading/skipped_lines.h"

namespace fgnn {
namespace {

constexpr uint32_t kMaxFeatureColumns = 1 << 20;
constexpr uint64_t kProgressPackages = 256;

// Relations are kept by name until all packages are read, as they may name
// packages that come later. A relation takes 8 bytes, as many as its edge takes
// on disk.
class PackageGraph {
 public:
  PackageGraph(uint32_t feature_columns, ImportTarget& target)
      : row_(feature_columns), target_(target) {}

  absl::Status ReadIndex(const std::filesystem::path& path) {
    FGNN_ASSIGN_OR_RETURN(DebianIndexReader index,
                          DebianIndexReader::Open(path));
    DebianPackage package;
    for (;;) {
      FGNN_ASSIGN_OR_RETURN(const bool more, index.Next(&package));
      if (!more) return absl::OkStatus();
      FGNN_RETURN_IF_ERROR(Add(package));
      if (package_names_.size() % kProgressPackages == 0) {
        target_.Progress("reading packages", package_names_.size(), 0);
      }
    }
  }

  absl::StatusOr<ImportSummary> Finish() {
    FGNN_RETURN_IF_ERROR(AddEdges());
    Account();
    FGNN_RETURN_IF_ERROR(target_.writer().WriteLines(
        "names.txt", package_names_.size(),
        [this](uint64_t v) { return names_.text(package_names_[v]); }));
    ClassLabels::Result sections = sections_.Take(/*integers_count=*/false);
    target_.labels().SetNames(std::move(sections.class_names));
    target_.labels().SetClasses(std::move(sections.labels), "the sections");
    return target_.Finish(package_names_.size());
  }

 private:
  struct Relation {
    uint32_t package;  // Global id of the package.
    uint32_t name;     // Number in names_.
  };

  // The first package of a name stays: later indexes hold its updates.
  absl::Status Add(const DebianPackage& package) {
    const uint32_t name = names_.Intern(package.name);
    if (PackageOf(name) != StringIds::kNone) {
      repeated_.Add(package.name, [] { return "package"; });
      return absl::OkStatus();
    }
    const auto id = static_cast<uint32_t>(package_names_.size());
    packages_.resize(names_.size(), StringIds::kNone);
    packages_[name] = id;
    package_names_.push_back(name);
    if (package.section.empty()) ++num_without_section_;
    sections_.Add(package.section);
    ForEachRelation(package.relations, [this, id](std::string_view other) {
      relations_.push_back({id, names_.Intern(other)});
    });
    ForEachRelation(package.provides, [this, id](std::string_view other) {
      provides_.push_back({id, names_.Intern(other)});
    });
    HashWords(package.description, absl::MakeSpan(row_));
    return target_.features().Append(row_);
  }

  uint32_t PackageOf(uint32_t name) const {
    return name < packages_.size() ? packages_[name] : StringIds::kNone;
  }

  absl::Status AddEdges() {
    std::vector<std::vector<uint32_t>> providers(names_.size());
    for (const Relation& provide : provides_) {
      providers[provide.name].push_back(provide.package);
    }
    for (const Relation& relation : relations_) {
      const uint32_t other = PackageOf(relation.name);
      if (other != StringIds::kNone) {
        FGNN_RETURN_IF_ERROR(target_.AddEdge(other, relation.package));
        continue;
      }
      const std::vector<uint32_t>& provided_by = providers[relation.name];
      for (const uint32_t provider : provided_by) {
        FGNN_RETURN_IF_ERROR(target_.AddEdge(provider, relation.package));
      }
      if (provided_by.empty()) {
        unknown_.Add(names_.text(relation.name), [] { return "name"; });
      } else {
        num_further_ += provided_by.size() - 1;
      }
    }
    return absl::OkStatus();
  }

  void Account() {
    AccountTable packages = {.source = "packages",
                             .unit = "stanzas",
                             .read = package_names_.size() + repeated_.count(),
                             .product = "vertices",
                             .made = package_names_.size()};
    AddReason("of a package that was there before", repeated_.count(),
              repeated_.first(), packages.left_out);
    target_.account().tables.push_back(std::move(packages));
    AccountTable relations = {
        .source = "relations", .unit = "names", .read = relations_.size()};
    AddReason("further providers", num_further_, "", relations.added);
    AddReason("that no package has or provides", unknown_.count(),
              unknown_.first(), relations.left_out);
    target_.AccountForEdges(std::move(relations));
    const auto add = [this](const char* name, const char* use,
                            uint64_t missing) {
      AddColumn({.source = "packages",
                 .names = name,
                 .use = use,
                 .missing = missing,
                 .words = missing == 0 ? "" : absl::StrCat("empty ", missing)},
                target_.account());
    };
    add("Package", "id", 0);
    add("Section", "label", num_without_section_);
    add("words of Description", "feature", 0);
  }

  StringIds names_;  // Names of packages, and names in their relations.
  std::vector<uint32_t> packages_;       // [names_] Global id or kNone.
  std::vector<uint32_t> package_names_;  // [packages] Numbers in names_.
  std::vector<Relation> relations_;
  std::vector<Relation> provides_;
  SkippedLines repeated_;     // Stanzas of packages that are known already.
  SkippedLines unknown_;      // Relations to names of nobody.
  uint64_t num_further_ = 0;  // Providers beyond the first of a relation.
  uint64_t num_without_section_ = 0;
  ClassLabels sections_;
  std::vector<float> row_;
  ImportTarget& target_;
};

std::string Describe(const std::vector<std::filesystem::path>& paths) {
  return paths.size() == 1
             ? absl::StrCat("Debian package index ", paths[0].string())
             : absl::StrCat("Debian package indexes of this machine, ",
                            paths.size(), " files");
}

}  // namespace

absl::StatusOr<ImportSummary> ImportDebian(const DebianSource& source,
                                           const ImportOptions& options) {
  if (source.feature_columns == 0 ||
      source.feature_columns > kMaxFeatureColumns) {
    return absl::InvalidArgumentError(
        absl::StrCat("--columns is ", source.feature_columns,
                     "; words are hashed into 1 to ", kMaxFeatureColumns));
  }
  std::vector<std::filesystem::path> paths = {source.path};
  if (source.path.empty()) {
    FGNN_ASSIGN_OR_RETURN(paths, FindDebianIndexes());
  }
  ImportOptions debian = options;
  debian.symmetric = true;
  debian.drop_self_loops = true;
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<ImportTarget> target,
                        ImportTarget::Create(debian, Describe(paths)));
  // The index has some hundred thousand edges, whatever its size in bytes.
  FGNN_RETURN_IF_ERROR(target->BeginEdges(/*with_weights=*/false, 1));
  FGNN_RETURN_IF_ERROR(
      target->features().Begin(source.feature_columns, "the descriptions"));
  PackageGraph graph(source.feature_columns, *target);
  for (const std::filesystem::path& path : paths) {
    FGNN_RETURN_IF_ERROR(graph.ReadIndex(path));
  }
  return graph.Finish();
}

}  // namespace fgnn
