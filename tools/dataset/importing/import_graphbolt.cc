// fgnn dataset import graphbolt.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"
#include "tools/dataset/importing/csv_table.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_arrays.h"
#include "tools/dataset/importing/import_target.h"
#include "tools/dataset/importing/seed_labels.h"
#include "tools/dataset/importing/split_array.h"
#include "tools/dataset/reading/array_stream.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

struct ArrayFile {
  std::string name;
  fs::path path;
};

struct TaskSet {
  std::string split;  // "train", "valid", "test".
  fs::path seeds;
  fs::path labels;  // Empty: none.
};

// The part of metadata.yaml that an import needs.
struct GraphBoltMetadata {
  uint64_t num_nodes = 0;
  std::string edge_format;
  fs::path edges;
  std::vector<ArrayFile> node_features;
  std::vector<std::string> left_out;  // Names of features of edges.
  uint32_t num_classes = 0;
  std::vector<TaskSet> sets;
};

// Reads metadata.yaml. Its calls throw YAML::Exception on a value of a wrong
// kind; ReadGraphBoltMetadata() turns that into a Status.
class MetadataParser {
 public:
  MetadataParser(const GraphBoltSource& source, std::string file)
      : source_(source), file_(std::move(file)) {}

  absl::StatusOr<GraphBoltMetadata> Parse(const YAML::Node& root) {
    GraphBoltMetadata metadata;
    FGNN_RETURN_IF_ERROR(ParseGraph(root["graph"], &metadata));
    FGNN_RETURN_IF_ERROR(ParseFeatures(root["feature_data"], &metadata));
    FGNN_RETURN_IF_ERROR(ParseTask(root["tasks"], &metadata));
    return metadata;
  }

 private:
  template <typename... Parts>
  absl::Status Bad(const Parts&... parts) const {
    return absl::InvalidArgumentError(absl::StrCat(file_, ": ", parts...));
  }

  static bool HasType(const YAML::Node& node) {
    const YAML::Node type = node["type"];
    return type && !type.IsNull() && !type.as<std::string>().empty();
  }

  // Returns the only entry of a list, which must have no type.
  absl::StatusOr<YAML::Node> OnlyEntry(const YAML::Node& list,
                                       const std::string& key) const {
    if (!list || !list.IsSequence() || list.size() == 0) {
      return Bad("has no list '", key, "'; is this a GraphBolt dataset?");
    }
    if (list.size() > 1 || HasType(list[0])) {
      return Bad("'", key, "' has ", list.size(),
                 " entries or types: heterogeneous graphs are not supported; "
                 "import one relation as csv");
    }
    return list[0];
  }

  // Returns the path in the folder that the text of metadata.yaml names. The
  // text may be a stranger's, so it must not lead out of the folder. Links are
  // the user's own, and may lead out.
  absl::StatusOr<fs::path> PathInFolder(const YAML::Node& entry,
                                        const std::string& key) const {
    if (!entry["path"]) return Bad("an entry of '", key, "' has no path");
    const fs::path path = entry["path"].as<std::string>();
    if (path.is_absolute() ||
        std::find(path.begin(), path.end(), "..") != path.end()) {
      return Bad("'", path.string(), "' of '", key,
                 "' leaves the folder; put the file into it, or a link to it");
    }
    return source_.folder / path;
  }

  // Returns the path of an array that can be read here.
  absl::StatusOr<fs::path> ArrayPath(const YAML::Node& entry,
                                     const std::string& key) const {
    FGNN_ASSIGN_OR_RETURN(fs::path path, PathInFolder(entry, key));
    const auto format = entry["format"].as<std::string>("numpy");
    if (format != "numpy" || path.extension() == ".pt") {
      return Bad("'", entry["path"].as<std::string>(), "' of '", key,
                 "' is a torch file; save it with numpy.save and write format: "
                 "numpy");
    }
    return path;
  }

  absl::Status ParseGraph(const YAML::Node& graph,
                          GraphBoltMetadata* metadata) const {
    if (!graph || !graph.IsMap()) {
      return Bad(
          "has no 'graph'; SOURCE is the folder as it was before GraphBolt "
          "preprocessed it");
    }
    FGNN_ASSIGN_OR_RETURN(const YAML::Node nodes,
                          OnlyEntry(graph["nodes"], "graph.nodes"));
    metadata->num_nodes = nodes["num"].as<uint64_t>(0);
    if (metadata->num_nodes == 0 || metadata->num_nodes > kMaxNodes) {
      return Bad("graph.nodes.num is ", metadata->num_nodes,
                 "; it must be from 1 to 2^32 - 1");
    }
    FGNN_ASSIGN_OR_RETURN(const YAML::Node edges,
                          OnlyEntry(graph["edges"], "graph.edges"));
    metadata->edge_format = edges["format"].as<std::string>("");
    if (metadata->edge_format != "csv" && metadata->edge_format != "numpy") {
      return Bad("graph.edges.format is '", metadata->edge_format,
                 "'; it is csv or numpy");
    }
    FGNN_ASSIGN_OR_RETURN(metadata->edges, PathInFolder(edges, "graph.edges"));
    return absl::OkStatus();
  }

  absl::Status ParseFeatures(const YAML::Node& list,
                             GraphBoltMetadata* metadata) const {
    if (!list || list.IsNull()) return absl::OkStatus();
    for (const YAML::Node& entry : list) {
      const auto domain = entry["domain"].as<std::string>("node");
      if (domain != "node") {
        metadata->left_out.push_back(absl::StrCat(
            domain, " feature ", entry["name"].as<std::string>("")));
        continue;
      }
      if (HasType(entry)) {
        return Bad(
            "feature_data has types: heterogeneous graphs are not "
            "supported; import one relation as csv");
      }
      const auto name = entry["name"].as<std::string>("");
      // A torch file that is not wanted is no error.
      if (!source_.feature.empty() && name != source_.feature) continue;
      FGNN_ASSIGN_OR_RETURN(const fs::path path,
                            ArrayPath(entry, "feature_data"));
      metadata->node_features.push_back({name, path});
    }
    return absl::OkStatus();
  }

  absl::StatusOr<YAML::Node> ChooseTask(const YAML::Node& tasks) const {
    std::vector<std::string> names;
    for (const YAML::Node& task : tasks) {
      names.push_back(task["name"].as<std::string>(""));
      if (source_.task.empty() || names.back() == source_.task) return task;
    }
    return Bad("has no task '", source_.task, "'; it has ",
               absl::StrJoin(names, ", "));
  }

  absl::Status ParseTask(const YAML::Node& tasks,
                         GraphBoltMetadata* metadata) const {
    if (!tasks || tasks.IsNull() || tasks.size() == 0) return absl::OkStatus();
    FGNN_ASSIGN_OR_RETURN(const YAML::Node task, ChooseTask(tasks));
    metadata->num_classes = task["num_classes"].as<uint32_t>(0);
    for (const auto& [key, split] :
         {std::pair<std::string, std::string>{"train_set", "train"},
          {"validation_set", "valid"},
          {"test_set", "test"}}) {
      const YAML::Node list = task[key];
      if (!list || list.IsNull() || list.size() == 0) continue;
      FGNN_ASSIGN_OR_RETURN(const YAML::Node entry,
                            OnlyEntry(list, "tasks." + key));
      FGNN_ASSIGN_OR_RETURN(TaskSet set, ParseSet(entry["data"], key));
      set.split = split;
      metadata->sets.push_back(std::move(set));
    }
    return absl::OkStatus();
  }

  // Reads a set by names, or seeds first and labels second, as early versions
  // wrote them.
  absl::StatusOr<TaskSet> ParseSet(const YAML::Node& data,
                                   const std::string& key) const {
    TaskSet set;
    size_t place = 0;
    if (!data || !data.IsSequence()) return Bad("tasks.", key, " has no data");
    for (const YAML::Node& entry : data) {
      const auto name =
          entry["name"].as<std::string>(place == 0 ? "seeds" : "labels");
      ++place;
      if (name != "seeds" && name != "seed_nodes" && name != "labels") {
        return Bad("tasks.", key, " has '", name,
                   "'; only node classification (seeds, labels) is supported");
      }
      FGNN_ASSIGN_OR_RETURN(const fs::path path,
                            ArrayPath(entry, "tasks." + key));
      (name == "labels" ? set.labels : set.seeds) = path;
    }
    if (set.seeds.empty()) return Bad("tasks.", key, " has no seeds");
    return set;
  }

  const GraphBoltSource& source_;
  std::string file_;
};

absl::StatusOr<GraphBoltMetadata> ReadGraphBoltMetadata(
    const GraphBoltSource& source) {
  const fs::path path = source.folder / "metadata.yaml";
  FGNN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path));
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          path.string(), ":", documents[1].Mark().line + 1,
          ": a second document begins here; put all keys into one"));
    }
    return MetadataParser(source, path.string())
        .Parse(documents.empty() ? YAML::Node() : documents[0]);
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ":", error.mark.line + 1, ": ", error.msg,
                     "; mend the file"));
  }
}

class GraphBoltImporter {
 public:
  GraphBoltImporter(const GraphBoltSource& source, GraphBoltMetadata metadata,
                    ImportTarget& target)
      : source_(source), metadata_(std::move(metadata)), target_(target) {}

  absl::StatusOr<ImportSummary> Run() {
    target_.LeaveOut("left out, only features of vertices are read",
                     metadata_.left_out);
    FGNN_RETURN_IF_ERROR(ReadEdges());
    FGNN_RETURN_IF_ERROR(ReadFeatures());
    // Memory holds a label for every vertex, also for those that have none.
    FGNN_RETURN_IF_ERROR(target_.CheckDense(metadata_.num_nodes));
    FGNN_RETURN_IF_ERROR(ReadSets());
    return target_.Finish(metadata_.num_nodes);
  }

 private:
  absl::Status ReadEdges() {
    if (metadata_.edge_format == "csv") {
      return ReadEdgePairs(metadata_.edges, metadata_.num_nodes,
                           "metadata.yaml", target_);
    }
    FGNN_ASSIGN_OR_RETURN(ArrayStream sources,
                          ArrayStream::OpenFile(metadata_.edges));
    FGNN_ASSIGN_OR_RETURN(ArrayStream destinations,
                          ArrayStream::OpenFile(metadata_.edges));
    return ImportEdgeIndex(std::move(sources), std::move(destinations),
                           metadata_.num_nodes, target_)
        .status();
  }

  absl::Status ReadFeatures() {
    std::vector<ArrayFile>& features = metadata_.node_features;
    std::vector<std::string> names;
    const ArrayFile* chosen = features.size() == 1 ? &features[0] : nullptr;
    for (const ArrayFile& feature : features) {
      names.push_back(feature.name);
      if (feature.name == "feat" && source_.feature.empty()) chosen = &feature;
    }
    if (chosen == nullptr) {
      if (features.empty() && source_.feature.empty()) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat(
          source_.folder.string(), "/metadata.yaml: ",
          features.empty()
              ? absl::StrCat("has no node feature '", source_.feature, "'")
              : absl::StrCat("has several node features, ",
                             absl::StrJoin(names, ", ")),
          "; choose one with --feature"));
    }
    if (features.size() > 1) {
      target_.Note(absl::StrCat("took the feature ", chosen->name, " of ",
                                absl::StrJoin(names, ", ")));
    }
    FGNN_ASSIGN_OR_RETURN(ArrayStream array,
                          ArrayStream::OpenFile(chosen->path));
    return ImportDenseFeatures(std::move(array), target_);
  }

  absl::Status ReadSets() {
    SeedLabels labels(metadata_.num_nodes, target_.labels());
    for (const TaskSet& set : metadata_.sets) {
      FGNN_ASSIGN_OR_RETURN(ArrayStream array,
                            ArrayStream::OpenFile(set.seeds));
      FGNN_ASSIGN_OR_RETURN(
          std::vector<int64_t> seeds,
          ReadSplit(std::move(array), set.seeds.stem().string(),
                    metadata_.num_nodes));
      if (!set.labels.empty()) {
        FGNN_RETURN_IF_ERROR(labels.Add(set.labels, set.seeds, seeds));
      }
      target_.SetSplit(set.split, std::move(seeds), set.seeds.string());
    }
    target_.labels().StateNumClasses(metadata_.num_classes);
    return labels.HandOver((source_.folder / "metadata.yaml").string());
  }

  const GraphBoltSource& source_;
  GraphBoltMetadata metadata_;
  ImportTarget& target_;
};

}  // namespace

absl::StatusOr<ImportSummary> ImportGraphBolt(const GraphBoltSource& source,
                                              const ImportOptions& options) {
  FGNN_ASSIGN_OR_RETURN(GraphBoltMetadata metadata,
                        ReadGraphBoltMetadata(source));
  FGNN_ASSIGN_OR_RETURN(
      const std::unique_ptr<ImportTarget> target,
      ImportTarget::Create(options,
                           absl::StrCat("graphbolt ", source.folder.string())));
  return GraphBoltImporter(source, std::move(metadata), *target).Run();
}

}  // namespace fgnn
