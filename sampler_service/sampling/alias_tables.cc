#include "sampler_service/sampling/alias_tables.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "shared/base/hash.h"
#include "shared/base/philox.h"
#include "shared/base/status.h"
#include "shared/base/threads/mutex.h"
#include "shared/base/threads/thread.h"
#include "shared/graph/edge_lists.h"
#include "shared/graph/npy.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMagic = 0x3253'4149'4c41'4746;  // "FGALIAS2"
constexpr char kEdgeWeights[] = "edge_weights.npy";
constexpr uint64_t kVerticesPerChunk = 1 << 12;

// Builds one vertex's table after the other. Thread-compatible.
class TableBuilder {
 public:
  // Returns false if all weights are 0, or one is negative or not finite:
  // see weights().
  bool Build(absl::Span<const float> mapped, AliasCell* cells) {
    // What is checked is what is used.
    weights_.assign(mapped.begin(), mapped.end());
    const absl::Span<const float> weights = weights_;
    const auto degree = static_cast<uint32_t>(weights.size());
    double total = 0;
    float largest = 0;
    uint32_t heaviest = 0;
    for (uint32_t i = 0; i < degree; ++i) {
      const float weight = weights[i];
      if (!(weight >= 0) || !std::isfinite(weight)) return false;
      if (weight > largest) {
        largest = weight;
        heaviest = i;
      }
      total += static_cast<double>(weight);
    }
    if (degree > 0 && !(total > 0)) return false;
    // odds[i]: what cell i still has of its place's share; a full cell has 1.
    odds_.resize(degree);
    light_.clear();
    heavy_.clear();
    for (uint32_t i = 0; i < degree; ++i) {
      odds_[i] = static_cast<double>(weights[i]) * degree / total;
      (odds_[i] < 1 ? light_ : heavy_).push_back(i);
    }
    while (!light_.empty() && !heavy_.empty()) {
      const uint32_t light = light_.back();
      light_.pop_back();
      const uint32_t heavy = heavy_.back();
      cells[light] = {Threshold(odds_[light]), heavy, 0, 0};
      odds_[heavy] -= 1 - odds_[light];
      if (odds_[heavy] < 1) {
        heavy_.pop_back();
        light_.push_back(heavy);
      }
    }
    // Cells that rounding left over count as full, except where nothing may be
    // drawn.
    for (const std::vector<uint32_t>* rest : {&light_, &heavy_}) {
      for (const uint32_t i : *rest) {
        cells[i] = weights[i] > 0 ? AliasCell{UINT32_MAX, i, 0, 0}
                                  : AliasCell{0, heaviest, 0, 0};
      }
    }
    return true;
  }

  // The weights that the last Build() has read. Those of the file may be others
  // by now.
  absl::Span<const float> weights() const { return weights_; }

 private:
  static uint32_t Threshold(double odds) {
    return static_cast<uint32_t>(
        std::min(std::max(odds, 0.0) * 0x1p32, 0x1p32 - 1));
  }

  std::vector<float> weights_;
  std::vector<double> odds_;
  std::vector<uint32_t> light_;
  std::vector<uint32_t> heavy_;
};

// Says what is wrong with the weights of v, whose list begins at edge `begin`.
absl::Status WrongWeights(absl::Span<const float> weights, uint64_t begin,
                          uint64_t v) {
  for (uint64_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0) || !std::isfinite(weights[i])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the weight of edge ", begin + i, ", into vertex ", v, ", is ",
          weights[i], "; weights are finite and not negative"));
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("all ", weights.size(), " edges into vertex ", v,
                   " have weight 0 (from edge ", begin,
                   " on); give at least one a positive one"));
}

// Fills the cells of the list of `degree` edges that begins at `edge` with
// their vertices. Returns the largest index.
uint64_t SetVertices(const CscView& graph, size_t edge, size_t degree,
                     AliasCell* cells) {
  return std::visit(
      [&](auto indices) {
        uint64_t largest = 0;
        for (size_t i = 0; i < degree; ++i) {
          const auto index = static_cast<uint64_t>(ReadOnce(indices[edge + i]));
          largest = std::max(largest, index);
          cells[i].vertex = static_cast<GlobalId>(index);
          // Another thread may have written the cell, if the list has changed.
          const size_t other = std::min<size_t>(cells[i].other, degree - 1);
          cells[i].other_vertex =
              static_cast<GlobalId>(ReadOnce(indices[edge + other]));
        }
        return largest;
      },
      graph.indices);
}

// Builds the table of v. Errors: its weights are wrong, or its list is.
absl::Status BuildList(const CscView& graph, absl::Span<const float> weights,
                       uint64_t v, TableBuilder& builder, AliasCell* cells) {
  FGNN_ASSIGN_OR_RETURN(const EdgeList list, ReadEdgeList(graph, v));
  if (list.degree > UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat("vertex ", v, " has ", list.degree,
                     " edges, and weights are for fewer than 2^32"));
  }
  AliasCell* const own = cells + list.begin;
  if (!builder.Build(weights.subspan(list.begin, list.degree), own)) {
    return WrongWeights(builder.weights(), list.begin, v);
  }
  return CheckLargestIndex(graph,
                           SetVertices(graph, list.begin, list.degree, own));
}

// Fills `cells` [num_edges].
absl::Status BuildCells(const CscView& graph, absl::Span<const float> weights,
                        uint32_t num_threads, AliasCell* cells) {
  if (weights.size() != graph.num_edges()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", weights.size(), " weights for ",
                     graph.num_edges(), " edges"));
  }
  const uint64_t num_nodes = graph.num_nodes();
  std::atomic<uint64_t> next = 0;
  std::atomic<uint64_t> first_wrong = UINT64_MAX;
  Mutex mutex;
  absl::Status wrong;  // Error of the first wrong vertex; guarded by `mutex`.
  {
    std::vector<Thread> threads;
    for (uint32_t t = 0; t < std::max(num_threads, 1u); ++t) {
      threads.emplace_back("fgnn-alias", [&] {
        TableBuilder builder;
        for (uint64_t begin; (begin = next.fetch_add(kVerticesPerChunk)) <
                             std::min(num_nodes, first_wrong.load());) {
          const uint64_t end = std::min(begin + kVerticesPerChunk, num_nodes);
          for (uint64_t v = begin; v < end; ++v) {
            absl::Status built = BuildList(graph, weights, v, builder, cells);
            if (built.ok()) continue;
            // The lowest wrong vertex is named, whichever thread finds its own
            // first.
            const MutexLock lock(&mutex);
            if (v < first_wrong.load()) {
              first_wrong = v;
              wrong = std::move(built);
            }
            break;
          }
        }
      });
    }
  }
  return wrong;
}

// Returns weights per edge, made from one weight per vertex.
absl::StatusOr<std::vector<float>> WeightsOfSources(
    const CscView& graph, absl::Span<const float> of_vertex) {
  std::vector<float> weights(graph.num_edges());
  float* next = weights.data();
  FGNN_RETURN_IF_ERROR(
      ForEachSource(graph, {.begin = 0, .degree = graph.num_edges()},
                    [&](GlobalId u) { *next++ = of_vertex[u]; }));
  return weights;
}

// Opens the weights' file, an f32 array of the expected length.
absl::StatusOr<NpyArray> OpenVertexFile(const fs::path& path,
                                        uint64_t num_nodes) {
  FGNN_ASSIGN_OR_RETURN(NpyArray array, NpyArray::Open(path));
  if (array.header().type == NpyType::kF32 &&
      array.header().shape == std::vector<uint64_t>{num_nodes}) {
    return array;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path.string(), ": expected f32 of shape (", num_nodes,
                   ",), a weight per vertex"));
}

// Returns a key that names the state of everything that the tables depend on.
absl::StatusOr<uint64_t> KeyOf(const Dataset& dataset,
                               const std::string& weights_file) {
  uint64_t key = Mix64(dataset.Fingerprint());
  if (weights_file == kEdgeWeights) return key;
  const fs::path path = dataset.folder() / weights_file;
  struct stat state = {};
  if (::stat(path.c_str(), &state) != 0) {
    return absl::NotFoundError(
        absl::StrCat(path.string(),
                     " of sampling.weights is not there: give the name of a "
                     "file of the dataset's folder"));
  }
  for (const char c : weights_file) {
    key = Mix64(key ^ static_cast<unsigned char>(c));
  }
  for (const int64_t part :
       {int64_t{state.st_size}, int64_t{state.st_mtim.tv_sec},
        int64_t{state.st_mtim.tv_nsec}, static_cast<int64_t>(state.st_ino)}) {
    key = Mix64(key ^ static_cast<uint64_t>(part));
  }
  return key;
}

template <typename T>
std::string_view BytesOfSpan(absl::Span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(T)};
}

}  // namespace

// The header of derived/alias-….bin. Cells follow it, then weights where
// has_weights is set.
struct alignas(64) AliasTables::FileHeader {
  uint64_t magic;
  uint64_t key;  // Key of the state of the folder and of the weights' file.
  uint64_t num_edges;
  uint64_t has_weights;
  uint64_t all_positive;
};

absl::StatusOr<AliasTables> AliasTables::Build(const CscView& graph,
                                               absl::Span<const float> weights,
                                               uint32_t num_threads) {
  AliasTables tables;
  tables.built_cells_.resize(graph.num_edges());
  FGNN_RETURN_IF_ERROR(
      BuildCells(graph, weights, num_threads, tables.built_cells_.data()));
  tables.cells_ = tables.built_cells_;
  tables.weights_ = weights;
  tables.all_positive_ = std::all_of(weights.begin(), weights.end(),
                                     [](float weight) { return weight > 0; });
  return tables;
}

absl::StatusOr<AliasTables> AliasTables::Find(const std::string& name,
                                              const FileHeader& expected,
                                              const Dataset& dataset) {
  absl::Status status = absl::NotFoundError(name);
  for (const DerivedPlace place : kDerivedPlaces) {
    absl::StatusOr<MappedFile> file = dataset.derived().Map(place, name);
    if (!file.ok()) continue;
    absl::StatusOr<AliasTables> tables =
        Read(name, expected, dataset, *std::move(file));
    if (tables.ok()) return tables;
    status = tables.status();
  }
  return status;
}

absl::StatusOr<AliasTables> AliasTables::Read(const std::string& name,
                                              const FileHeader& expected,
                                              const Dataset& dataset,
                                              MappedFile file) {
  const bool has_weights = expected.has_weights != 0;
  const uint64_t num_edges = expected.num_edges;
  FileHeader header = {};
  if (file.bytes().size() >= sizeof(header)) {
    std::memcpy(&header, file.bytes().data(), sizeof(header));
  }
  if (header.magic != expected.magic || header.key != expected.key) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, " is of another state of the dataset"));
  }
  if (header.num_edges != num_edges ||
      header.has_weights != expected.has_weights ||
      file.bytes().size() !=
          sizeof(header) +
              num_edges * (sizeof(AliasCell) +
                           (has_weights ? sizeof(float) : size_t{0}))) {
    return absl::DataLossError(absl::StrCat(name, " is damaged"));
  }
  AliasTables tables;
  tables.file_ = std::move(file);
  tables.all_positive_ = header.all_positive != 0;
  const std::byte* const data = tables.file_.bytes().data();
  tables.cells_ = {reinterpret_cast<const AliasCell*>(data + sizeof(header)),
                   num_edges};
  tables.weights_ =
      has_weights
          ? absl::MakeConstSpan(
                reinterpret_cast<const float*>(tables.cells_.end()), num_edges)
          : dataset.edge_weights();
  return tables;
}

absl::StatusOr<AliasTables> AliasTables::BuildFor(
    const Dataset& dataset, const std::string& weights_file,
    uint32_t num_threads) {
  std::vector<float> of_edges;
  const bool of_vertices = weights_file != kEdgeWeights;
  if (of_vertices) {
    FGNN_ASSIGN_OR_RETURN(
        const NpyArray array,
        OpenVertexFile(dataset.folder() / weights_file, dataset.num_nodes()));
    FGNN_ASSIGN_OR_RETURN(of_edges,
                          WeightsOfSources(dataset.graph(), array.As<float>()));
  }
  absl::StatusOr<AliasTables> tables = Build(
      dataset.graph(),
      of_vertices ? absl::MakeConstSpan(of_edges) : dataset.edge_weights(),
      num_threads);
  if (!tables.ok()) {
    return Annotate(tables.status(),
                    (dataset.folder() / weights_file).string());
  }
  if (of_vertices) {
    tables->built_weights_ = std::move(of_edges);
    tables->weights_ = tables->built_weights_;
  }
  return tables;
}

absl::StatusOr<AliasTables> AliasTables::Open(const Dataset& dataset,
                                              const std::string& weights_file,
                                              uint32_t num_threads) {
  const bool of_vertices = weights_file != kEdgeWeights;
  if (!of_vertices && dataset.edge_weights().empty()) {
    return absl::NotFoundError(absl::StrCat(
        dataset.folder().string(),
        " has no edge_weights.npy; add one, or name a file with a weight per "
        "vertex in sampling.weights"));
  }
  FGNN_ASSIGN_OR_RETURN(const uint64_t key, KeyOf(dataset, weights_file));
  FileHeader header = {.magic = kMagic,
                       .key = key,
                       .num_edges = dataset.num_edges(),
                       .has_weights = of_vertices,
                       .all_positive = 0};
  const std::string name = absl::StrCat("alias-", weights_file, ".bin");
  absl::StatusOr<AliasTables> saved = Find(name, header, dataset);
  if (saved.ok()) return saved;
  if (!absl::IsNotFound(saved.status())) {
    LogInfo("{}: built again", MessageOf(saved.status()));
  }

  FGNN_ASSIGN_OR_RETURN(AliasTables tables,
                        BuildFor(dataset, weights_file, num_threads));
  header.all_positive = tables.all_positive_;
  const std::string_view head{reinterpret_cast<const char*>(&header),
                              sizeof(header)};
  const absl::Status written = dataset.derived().Keep(
      name, {head, BytesOfSpan(tables.cells_),
             of_vertices ? BytesOfSpan(tables.weights_) : std::string_view()});
  // Pages of the file can be shared and dropped; pages of this process cannot.
  saved = written.ok() ? Find(name, header, dataset) : written;
  if (saved.ok()) return saved;
  LogWarning("the weights' tables stay in memory: {}",
             MessageOf(saved.status()));
  return tables;
}

}  // namespace fgnn
