#include "shared/graph/dataset.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/files/file.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "shared/graph/folder_state.h"
#include "shared/graph/metadata.h"
#include "shared/graph/npy.h"
#include "shared/graph/validate.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr char kFeatures[] = "features.npy";
constexpr char kNames[] = "names.txt";

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

// The type and shape that an array of the folder must have.
struct Wanted {
  std::vector<NpyType> types;
  std::vector<uint64_t> shape;
  std::string because;  // Reason for the shape, for messages.
};

absl::Status CheckKind(const fs::path& path, const NpyHeader& header,
                       const Wanted& wanted) {
  if (std::find(wanted.types.begin(), wanted.types.end(), header.type) ==
      wanted.types.end()) {
    std::vector<std::string> names;
    for (const NpyType type : wanted.types) {
      names.push_back(absl::StrCat("'", std::string(DescrOf(type)), "'"));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), ": its elements are '",
        std::string(DescrOf(header.type)), "', but ",
        absl::StrJoin(names, " or "), " is wanted; convert it with astype()"));
  }
  if (header.shape != wanted.shape) {
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), ": its shape is (", absl::StrJoin(header.shape, ", "),
        "), but (", absl::StrJoin(wanted.shape, ", "), ") is wanted by ",
        wanted.because, "; rebuild the dataset"));
  }
  return absl::OkStatus();
}

// Whether arrays are mapped, or only their headers read.
enum class Access : uint8_t { kMap, kHeaders };

absl::StatusOr<NpyArray> OpenArray(const fs::path& path, Access access) {
  return access == Access::kMap ? NpyArray::Open(path)
                                : NpyArray::OpenHeader(path);
}

absl::StatusOr<NpyArray> OpenWanted(const fs::path& path, Access access,
                                    const Wanted& wanted) {
  absl::StatusOr<NpyArray> array = OpenArray(path, access);
  if (absl::IsNotFound(array.status())) {
    return absl::NotFoundError(absl::StrCat(path.string(), ": missing, but ",
                                            wanted.because,
                                            " wants it; rebuild the dataset"));
  }
  if (!array.ok()) return array.status();
  FGNN_RETURN_IF_ERROR(CheckKind(path, array->header(), wanted));
  return array;
}

bool Exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::vector<std::string_view> SplitLines(std::string_view text,
                                         uint64_t num_nodes) {
  std::vector<std::string_view> lines;
  lines.reserve(std::min<uint64_t>(num_nodes, text.size()));
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

struct Dataset::Contents {
  // Does all of Open() but Validate().
  absl::Status Open();
  absl::Status OpenTopology();
  absl::Status OpenFeatures();
  absl::Status OpenLabels();
  absl::Status OpenSplit(const char* file, NpyArray* array);
  absl::Status OpenEdges(const char* file, NpyArray* array);
  absl::Status OpenOptional();
  absl::Status Validate(Validation validation,
                        absl::FunctionRef<absl::Status()> check) const;
  DatasetSizes Sizes() const;

  std::string PathOf(const char* file) const {
    return (folder / file).string();
  }
  absl::Span<const int64_t> Ids(const NpyArray& array) const {
    if (array.header().shape.empty()) return {};
    return array.As<int64_t>();
  }
  static EdgeView Edges(const NpyArray& array) {
    if (array.header().shape.empty()) return EdgeView();
    return array.header().type == NpyType::kI64
               ? EdgeView(array.As<int64_t>())
               : EdgeView(array.As<uint32_t>());
  }

  fs::path folder;
  Access access = Access::kMap;
  DatasetMetadata metadata;
  FolderState state;

  NpyArray indptr_array, indices_array, feature_array, label_array;
  NpyArray train_array, valid_array, test_array, weight_array;
  NpyArray train_edge_array, valid_edge_array, test_edge_array;
  std::optional<MappedFile> names;

  CscView graph;
  FeatureView features;
  absl::Span<const int64_t> labels;
  absl::Span<const float> weights;

  // Few callers ask for names, so the first call finds the lines.
  mutable std::once_flag lines_once;
  mutable std::vector<std::string_view> lines;
};

absl::Status Dataset::Contents::OpenTopology() {
  FGNN_ASSIGN_OR_RETURN(
      indptr_array, OpenWanted(folder / "csc_indptr.npy", access,
                               {{NpyType::kI64},
                                {metadata.num_nodes + 1},
                                absl::StrCat("metadata.yaml's num_nodes (",
                                             metadata.num_nodes, ") + 1")}));
  FGNN_ASSIGN_OR_RETURN(
      indices_array, OpenWanted(folder / "indices.npy", access,
                                {{NpyType::kU32, NpyType::kI32, NpyType::kI64},
                                 {metadata.num_edges},
                                 absl::StrCat("metadata.yaml's num_edges (",
                                              metadata.num_edges, ")")}));
  graph.indptr = indptr_array.As<EdgeOffset>();
  if (indices_array.header().type == NpyType::kI64) {
    graph.indices = indices_array.As<int64_t>();
  } else {
    graph.indices = indices_array.As<uint32_t>();
  }
  return absl::OkStatus();
}

absl::Status Dataset::Contents::OpenFeatures() {
  const fs::path path = folder / kFeatures;
  if (metadata.feature_columns == 0) {
    if (!Exists(path)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(),
                     ": is there, but metadata.yaml says feature_columns 0; "
                     "set it to the array's columns or remove the file"));
  }
  FGNN_ASSIGN_OR_RETURN(
      feature_array,
      OpenWanted(path, access,
                 {{StoredType(metadata.feature_type)},
                  {metadata.num_nodes, metadata.feature_columns},
                  absl::StrCat("metadata.yaml's num_nodes, feature_columns and "
                               "feature_type ",
                               std::string(NameOf(metadata.feature_type)))}));
  features = {feature_array.data(), metadata.feature_type, metadata.num_nodes,
              metadata.feature_columns};
  return absl::OkStatus();
}

absl::Status Dataset::Contents::OpenLabels() {
  const fs::path path = folder / "labels.npy";
  if (metadata.num_classes == 0) {
    if (!Exists(path)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(),
                     ": is there, but metadata.yaml says num_classes 0; set "
                     "it to the number of classes or remove the file"));
  }
  FGNN_ASSIGN_OR_RETURN(
      label_array, OpenWanted(path, access,
                              {{NpyType::kI64},
                               {metadata.num_nodes},
                               "metadata.yaml's num_nodes and num_classes"}));
  labels = label_array.As<int64_t>();
  return absl::OkStatus();
}

absl::Status Dataset::Contents::OpenSplit(const char* file, NpyArray* array) {
  const fs::path path = folder / file;
  if (!Exists(path)) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(NpyArray opened, OpenArray(path, access));
  if (opened.header().shape.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), ": has ", opened.header().shape.size(),
        " dimensions, but a list of global ids has one; save it flat"));
  }
  FGNN_RETURN_IF_ERROR(CheckKind(path, opened.header(),
                                 {{NpyType::kI64}, opened.header().shape, ""}));
  *array = std::move(opened);
  return absl::OkStatus();
}

absl::Status Dataset::Contents::OpenEdges(const char* file, NpyArray* array) {
  const fs::path path = folder / file;
  if (!Exists(path)) return absl::OkStatus();
  FGNN_ASSIGN_OR_RETURN(NpyArray opened, OpenArray(path, access));
  const std::vector<uint64_t>& shape = opened.header().shape;
  if (shape.size() != 2 || shape[1] != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        path.string(), ": its shape is (", absl::StrJoin(shape, ", "),
        "), but a list of edges has (n, 2): a source and a destination each"));
  }
  FGNN_RETURN_IF_ERROR(CheckKind(path, opened.header(),
                                 {{NpyType::kU32, NpyType::kI64}, shape, ""}));
  *array = std::move(opened);
  return absl::OkStatus();
}

absl::Status Dataset::Contents::OpenOptional() {
  FGNN_RETURN_IF_ERROR(OpenEdges("train_edges.npy", &train_edge_array));
  FGNN_RETURN_IF_ERROR(OpenEdges("valid_edges.npy", &valid_edge_array));
  FGNN_RETURN_IF_ERROR(OpenEdges("test_edges.npy", &test_edge_array));
  FGNN_RETURN_IF_ERROR(OpenSplit("train.npy", &train_array));
  FGNN_RETURN_IF_ERROR(OpenSplit("valid.npy", &valid_array));
  FGNN_RETURN_IF_ERROR(OpenSplit("test.npy", &test_array));
  if (Exists(folder / "edge_weights.npy")) {
    FGNN_ASSIGN_OR_RETURN(weight_array,
                          OpenWanted(folder / "edge_weights.npy", access,
                                     {{NpyType::kF32},
                                      {metadata.num_edges},
                                      "metadata.yaml's num_edges"}));
    weights = weight_array.As<float>();
  }
  if (Exists(folder / kNames)) {
    if (access == Access::kHeaders) {
      return OpenPlainFile(folder / kNames).status();
    }
    FGNN_ASSIGN_OR_RETURN(names, MappedFile::Open(folder / kNames));
  }
  return absl::OkStatus();
}

absl::Status Dataset::Contents::Open() {
  FGNN_RETURN_IF_ERROR(CheckFolder(folder));
  // The state is read before any file: a file that changes meanwhile changes
  // the key.
  state = StateOf(folder);
  FGNN_ASSIGN_OR_RETURN(metadata, ReadMetadata(folder));
  FGNN_RETURN_IF_ERROR(OpenTopology());
  FGNN_RETURN_IF_ERROR(OpenFeatures());
  FGNN_RETURN_IF_ERROR(OpenLabels());
  return OpenOptional();
}

DatasetSizes Dataset::Contents::Sizes() const {
  const uint64_t index_bytes = BytesOf(indices_array.header().type);
  const bool has_train_edges = !train_edge_array.header().shape.empty();
  return {.num_nodes = metadata.num_nodes,
          .num_edges = metadata.num_edges,
          .num_classes = metadata.num_classes,
          .has_labels = !labels.empty(),
          .has_train_edges = has_train_edges,
          .topology_bytes = graph.indptr.size() * sizeof(EdgeOffset) +
                            metadata.num_edges * index_bytes,
          .feature_row_bytes = features.row_bytes(),
          .num_train = Ids(train_array).size(),
          .num_valid = Ids(valid_array).size(),
          .num_test = Ids(test_array).size(),
          .num_train_edges = has_train_edges ? Edges(train_edge_array).size()
                                             : metadata.num_edges,
          .num_valid_edges = Edges(valid_edge_array).size(),
          .num_test_edges = Edges(test_edge_array).size()};
}

absl::Status Dataset::Contents::Validate(
    Validation validation, absl::FunctionRef<absl::Status()> check) const {
  if (validation == Validation::kShapes) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(
      CheckIndptr(PathOf("csc_indptr.npy"), graph.indptr, metadata.num_edges));
  FGNN_RETURN_IF_ERROR(check());
  FGNN_RETURN_IF_ERROR(
      CheckIndices(PathOf("indices.npy"), graph,
                   indices_array.header().type == NpyType::kI32));
  FGNN_RETURN_IF_ERROR(check());
  FGNN_RETURN_IF_ERROR(
      CheckLabels(PathOf("labels.npy"), labels, metadata.num_classes));
  const std::pair<const char*, const NpyArray*> splits[] = {
      {"train.npy", &train_array},
      {"valid.npy", &valid_array},
      {"test.npy", &test_array}};
  for (const auto& [file, array] : splits) {
    FGNN_RETURN_IF_ERROR(check());
    FGNN_RETURN_IF_ERROR(
        CheckSplit(PathOf(file), Ids(*array), labels, metadata.num_nodes));
  }
  const std::pair<const char*, const NpyArray*> edge_splits[] = {
      {"train_edges.npy", &train_edge_array},
      {"valid_edges.npy", &valid_edge_array},
      {"test_edges.npy", &test_edge_array}};
  for (const auto& [file, array] : edge_splits) {
    FGNN_RETURN_IF_ERROR(check());
    FGNN_RETURN_IF_ERROR(
        CheckEdges(PathOf(file), Edges(*array), metadata.num_nodes));
  }
  if (names.has_value()) {
    const auto bytes = names->bytes();
    FGNN_RETURN_IF_ERROR(
        CheckNames(PathOf(kNames),
                   {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                   metadata.num_nodes));
  }
  if (validation != Validation::kEverything) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(check());
  FGNN_RETURN_IF_ERROR(CheckFeatures(PathOf("features.npy"), features));
  FGNN_RETURN_IF_ERROR(check());
  return CheckEdgeWeights(PathOf("edge_weights.npy"), weights);
}

absl::StatusOr<Dataset> Dataset::Open(const fs::path& folder,
                                      Validation validation,
                                      absl::FunctionRef<absl::Status()> check) {
  auto contents = std::make_unique<Contents>();
  contents->folder = folder;
  FGNN_RETURN_IF_ERROR(contents->Open());
  FGNN_RETURN_IF_ERROR(contents->Validate(validation, check));
  return Dataset(std::move(contents));
}

absl::StatusOr<DatasetSizes> Dataset::ReadSizes(const fs::path& folder) {
  Contents contents;
  contents.folder = folder;
  contents.access = Access::kHeaders;
  FGNN_RETURN_IF_ERROR(contents.Open());
  return contents.Sizes();
}

// Names do not count, and metadata.yaml counts only by the fields that a job
// uses.
absl::StatusOr<uint64_t> Dataset::ContentFingerprint(
    absl::FunctionRef<absl::Status()> check) const {
  const Contents& c = *contents_;
  uint64_t hash = Mix64(c.metadata.num_classes);
  hash = Mix64(hash ^ static_cast<uint64_t>(c.metadata.feature_type));
  for (const NpyArray* array :
       {&c.indptr_array, &c.indices_array, &c.feature_array, &c.label_array,
        &c.train_array, &c.valid_array, &c.test_array, &c.weight_array,
        &c.train_edge_array, &c.valid_edge_array, &c.test_edge_array}) {
    FGNN_RETURN_IF_ERROR(check());
    const NpyHeader& header = array->header();
    const uint64_t bytes =
        header.shape.empty() ? 0 : header.num_elements() * BytesOf(header.type);
    hash = Mix64(hash ^ static_cast<uint64_t>(header.type));
    hash = Mix64(hash ^ bytes);
    hash = Mix64(hash ^ CrcOfMapped({array->data(), bytes}));
  }
  return std::max<uint64_t>(hash, 1);
}

DatasetSizes Dataset::sizes() const { return contents_->Sizes(); }

Dataset::Dataset(std::unique_ptr<Contents> contents)
    : contents_(std::move(contents)) {}
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;
Dataset::~Dataset() = default;

const std::string& Dataset::name() const { return contents_->metadata.name; }
const fs::path& Dataset::folder() const { return contents_->folder; }
uint64_t Dataset::num_nodes() const { return contents_->metadata.num_nodes; }
uint64_t Dataset::num_edges() const { return contents_->metadata.num_edges; }
uint32_t Dataset::num_classes() const {
  return contents_->metadata.num_classes;
}
const CscView& Dataset::graph() const { return contents_->graph; }
const FeatureView& Dataset::features() const { return contents_->features; }
FeatureFile Dataset::feature_file() const {
  const FeatureView& view = features();
  return {contents_->folder / kFeatures,
          contents_->feature_array.header().data_offset, view.type, view.rows,
          view.columns};
}
absl::Span<const int64_t> Dataset::labels() const { return contents_->labels; }
absl::Span<const int64_t> Dataset::train() const {
  return contents_->Ids(contents_->train_array);
}
absl::Span<const int64_t> Dataset::valid() const {
  return contents_->Ids(contents_->valid_array);
}
absl::Span<const int64_t> Dataset::test() const {
  return contents_->Ids(contents_->test_array);
}
bool Dataset::has_train_edges() const {
  return !contents_->train_edge_array.header().shape.empty();
}
EdgeView Dataset::train_edges() const {
  return has_train_edges() ? Contents::Edges(contents_->train_edge_array)
                           : EdgeView(&contents_->graph);
}
EdgeView Dataset::valid_edges() const {
  return Contents::Edges(contents_->valid_edge_array);
}
EdgeView Dataset::test_edges() const {
  return Contents::Edges(contents_->test_edge_array);
}
absl::Span<const float> Dataset::edge_weights() const {
  return contents_->weights;
}
bool Dataset::has_names() const { return contents_->names.has_value(); }
uint64_t Dataset::Fingerprint() const { return contents_->state.fingerprint; }
uint64_t Dataset::total_bytes() const { return contents_->state.array_bytes; }

std::string_view Dataset::NodeName(GlobalId v) const {
  if (!has_names()) return {};
  const Contents& c = *contents_;
  std::call_once(c.lines_once, [&c] {
    const auto bytes = c.names->bytes();
    c.lines =
        SplitLines({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                   c.metadata.num_nodes);
  });
  return v < c.lines.size() ? c.lines[v] : std::string_view();
}

}  // namespace fgnn
