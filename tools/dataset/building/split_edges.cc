#include "tools/dataset/building/split_edges.h"

#include <array>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "shared/graph/dataset.h"
#include "shared/graph/edge_lists.h"
#include "shared/graph/metadata.h"
#include "shared/graph/npy.h"
#include "tools/dataset/building/csc_builder.h"
#include "tools/dataset/building/dataset_writer.h"
#include "tools/dataset/inspecting/edge_symmetry.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// Files, in the order of their numbers.
constexpr std::array<const char*, 3> kFiles = {
    "train_edges.npy", "valid_edges.npy", "test_edges.npy"};
constexpr size_t kTrain = 0;
constexpr size_t kValid = 1;
constexpr size_t kTest = 2;
// Files that do not depend on edges.
constexpr std::array<const char*, 10> kKeptFiles = {
    "features.npy",      "labels.npy",      "targets.npy", "train.npy",
    "valid.npy",         "test.npy",        "names.txt",   "class_names.txt",
    "feature_names.txt", "target_names.txt"};
constexpr uint64_t kEdgesPerReport = uint64_t{1} << 20;

absl::Status Check(const SplitEdgesOptions& options) {
  // Written so that NaN fails.
  for (const auto& [flag, share] : {std::pair("--valid", options.valid),
                                    std::pair("--test", options.test)}) {
    if (!(share >= 0 && share < 1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          flag, " is ", share, "; it is a share of the edges, in [0, 1)"));
    }
  }
  if (options.valid + options.test < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--valid ", options.valid, " and --test ", options.test,
                   " leave no edge to train on; lower one of them"));
}

absl::Status CheckUnsplit(const fs::path& dataset) {
  for (const char* const file : kFiles) {
    std::error_code ignored;
    if (!fs::exists(dataset / file, ignored)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat((dataset / file).string(),
                     ": the edges are split already; split the dataset that "
                     "this was made of, or remove its *_edges.npy"));
  }
  return absl::OkStatus();
}

absl::Status CopyFiles(const fs::path& from, const fs::path& to) {
  for (const char* const file : kKeptFiles) {
    std::error_code error;
    if (!fs::exists(from / file, error)) continue;
    fs::copy_file(from / file, to / file, error);
    if (error) {
      return ErrnoToStatus(
          error.value(),
          absl::StrCat("copy ", (from / file).string(), " to ", to.string()));
    }
  }
  return absl::OkStatus();
}

// Decides which file an edge goes to.
class Parts {
 public:
  explicit Parts(const SplitEdgesOptions& options)
      : valid_(options.valid),
        valid_or_test_(options.valid + options.test),
        key_(MakePhiloxKey(options.seed, 0, 0, 0, Purpose::kEdgeSplit)) {}

  // Both directions of a pair go to the same file. A model that trains on one
  // of them knows the other.
  size_t Of(GlobalId source, GlobalId destination) const {
    if (source > destination) std::swap(source, destination);
    const PhiloxBlock block = Philox4x32({source, destination, 0, 0}, key_);
    const uint64_t bits = uint64_t{block.words[1]} << 32 | block.words[0];
    const double draw = static_cast<double>(bits >> 11) * 0x1.0p-53;
    if (draw < valid_) return kValid;
    return draw < valid_or_test_ ? kTest : kTrain;
  }

 private:
  double valid_;
  double valid_or_test_;
  PhiloxKey key_;
};

// The three files, and the number of edges of each.
class EdgeFiles {
 public:
  static absl::StatusOr<EdgeFiles> Create(const fs::path& folder) {
    EdgeFiles files;
    for (const char* const file : kFiles) {
      FGNN_ASSIGN_OR_RETURN(
          NpyWriter writer,
          NpyWriter::Create(folder / file, NpyType::kU32, {2}));
      files.writers_.push_back(std::move(writer));
    }
    return files;
  }

  absl::Status Add(size_t part, GlobalId source, GlobalId destination) {
    const GlobalId ends[] = {source, destination};
    ++counts_[part];
    return writers_[part].Append(ends, sizeof(ends));
  }
  absl::Status Close() {
    for (NpyWriter& writer : writers_) FGNN_RETURN_IF_ERROR(writer.Close());
    return absl::OkStatus();
  }
  uint64_t count(size_t part) const { return counts_[part]; }

 private:
  std::vector<NpyWriter> writers_;
  std::array<uint64_t, kFiles.size()> counts_ = {};
};

void Report(const SplitEdgesOptions& options, std::string_view stage,
            uint64_t done, uint64_t total) {
  if (options.progress) options.progress(stage, done, total);
}

// Writes the edges to the files, and adds those for training to the graph.
absl::Status Distribute(const SplitEdgesOptions& options,
                        const Dataset& dataset, const Parts& parts,
                        CscBuilder& builder, EdgeFiles& files) {
  const CscView& graph = dataset.graph();
  const absl::Span<const float> weights = dataset.edge_weights();
  uint64_t place = 0;
  for (GlobalId v = 0; v < graph.num_nodes(); ++v) {
    FGNN_ASSIGN_OR_RETURN(const EdgeList list, ReadEdgeList(graph, v));
    for (const uint64_t end = list.begin + list.degree; place < end; ++place) {
      GlobalId source = 0;
      FGNN_RETURN_IF_ERROR(
          ForEachSource(graph, {place, 1}, [&](GlobalId u) { source = u; }));
      const size_t part = parts.Of(source, v);
      FGNN_RETURN_IF_ERROR(files.Add(part, source, v));
      if (part == kTrain) {
        FGNN_RETURN_IF_ERROR(
            builder.Add(source, v, weights.empty() ? 1.0F : weights[place]));
      }
      if (place % kEdgesPerReport == 0) {
        Report(options, "edges", place, graph.num_edges());
      }
    }
  }
  return files.Close();
}

}  // namespace

absl::StatusOr<SplitEdgesSummary> SplitEdges(const SplitEdgesOptions& options) {
  FGNN_RETURN_IF_ERROR(Check(options));
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(options.dataset, Validation::kStructure));
  FGNN_RETURN_IF_ERROR(CheckHasAllRows(dataset));
  FGNN_RETURN_IF_ERROR(CheckUnsplit(options.dataset));
  FGNN_ASSIGN_OR_RETURN(DatasetMetadata metadata,
                        ReadMetadata(options.dataset));
  FGNN_ASSIGN_OR_RETURN(DatasetWriter writer,
                        DatasetWriter::Create(options.out, options.interrupt));
  FGNN_ASSIGN_OR_RETURN(
      const std::unique_ptr<CscBuilder> builder,
      CscBuilder::Create(writer.folder(),
                         {.deduplicate = false,
                          .with_weights = !dataset.edge_weights().empty()}));
  FGNN_ASSIGN_OR_RETURN(EdgeFiles files, EdgeFiles::Create(writer.folder()));
  FGNN_RETURN_IF_ERROR(
      Distribute(options, dataset, Parts(options), *builder, files));
  const SplitEdgesSummary summary = {.num_train = files.count(kTrain),
                                     .num_valid = files.count(kValid),
                                     .num_test = files.count(kTest)};
  if (summary.num_train == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.dataset.string(), ": of its ", dataset.num_edges(),
        " edges none is left to train on; lower --valid or --test"));
  }
  FGNN_ASSIGN_OR_RETURN(
      const CscTotals totals,
      builder->Finish(dataset.num_nodes(),
                      [&options](uint64_t done, uint64_t total) {
                        Report(options, "sorting edges", done, total);
                      }));
  FGNN_RETURN_IF_ERROR(CopyFiles(options.dataset, writer.folder()));
  metadata.name.clear();
  metadata.source =
      absl::StrCat(metadata.source, metadata.source.empty() ? "" : "; ",
                   "edges split, valid ", options.valid, ", test ",
                   options.test, ", seed ", options.seed);
  metadata.num_edges = totals.num_edges;
  FGNN_ASSIGN_OR_RETURN(metadata.symmetric, IsSymmetric(writer.folder()));
  FGNN_RETURN_IF_ERROR(writer.Commit(metadata));
  return summary;
}

}  // namespace fgnn
