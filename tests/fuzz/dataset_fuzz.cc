// Byte 0 chooses a file of one of three sound datasets, which have labels,
// numbers, or sets; the rest replaces it.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <variant>
#include <vector>

#include "shared/graph/dataset.h"
#include "tests/fakes/temp_folder.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/unit/scheduler/ring_dataset.h"

namespace fgnn {
namespace {

struct DatasetFile {
  const char* name;
  RingLabels labels = RingLabels::kClasses;
};

constexpr DatasetFile kFiles[] = {
    {"metadata.yaml"},
    {"csc_indptr.npy"},
    {"indices.npy"},
    {"features.npy"},
    {"labels.npy"},
    {"train.npy"},
    {"valid.npy"},
    {"test.npy"},
    {"names.txt"},
    {"edge_weights.npy"},
    {"train_edges.npy"},
    {"valid_edges.npy"},
    {"targets.npy", RingLabels::kNumbers},
    {"targets.npy", RingLabels::kSets},
    {"target_names.txt", RingLabels::kNumbers},
    {"metadata.yaml", RingLabels::kSets},
};

constexpr RingLabels kAllLabels[] = {RingLabels::kClasses, RingLabels::kNumbers,
                                     RingLabels::kSets};

std::filesystem::path FolderOf(const std::filesystem::path& temp,
                               RingLabels labels) {
  return temp / std::to_string(static_cast<int>(labels));
}

void Write(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// What a daemon reads of a dataset that was accepted.
void ReadAll(const Dataset& dataset) {
  uint64_t sum = 0;
  const CscView& graph = dataset.graph();
  for (uint64_t v = 0; v < dataset.num_nodes(); ++v) {
    Require(graph.indptr[v] <= graph.indptr[v + 1], "indptr falls");
    sum += dataset.NodeName(static_cast<GlobalId>(v)).size();
  }
  std::visit(
      [&](const auto& indices) {
        for (const auto v : indices) {
          Require(static_cast<uint64_t>(v) < dataset.num_nodes(),
                  "an index out of range");
        }
      },
      graph.indices);
  for (const auto& split : {dataset.train(), dataset.valid(), dataset.test()}) {
    for (const int64_t v : split) {
      const auto place = static_cast<size_t>(v);
      Require(dataset.num_targets() > 0
                  ? dataset.targets().Has(static_cast<GlobalId>(v))
                  : dataset.labels()[place] >= 0,
              "no label");
    }
  }
  for (const EdgeView& edges : {dataset.train_edges(), dataset.valid_edges()}) {
    for (uint64_t i = 0; i < edges.size(); ++i) {
      const Edge edge = edges[i];
      Require(std::max(edge.source, edge.destination) < dataset.num_nodes(),
              "an end out of range");
    }
  }
  std::vector<float> row(dataset.num_targets());
  for (uint64_t v = 0; v < dataset.targets().rows; ++v) {
    dataset.targets().Read(static_cast<GlobalId>(v), row.data());
    for (const float target : row) {
      Require(!std::isinf(target), "an infinite target");
      Require(dataset.targets().type == TargetType::kFloat32 ||
                  std::isnan(target) || target == 0 || target == 1,
              "no bit");
    }
  }
  for (uint32_t c = 0; c < dataset.num_targets(); ++c) {
    sum += dataset.TargetName(c).size();
  }
  for (const int64_t label : dataset.labels()) {
    Require(label < static_cast<int64_t>(dataset.num_classes()), "no class");
  }
  Require(sum < UINT64_MAX, "names");
}

}  // namespace
}  // namespace fgnn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fgnn;
  if (size == 0) return 0;
  static const TempFolder temp;  // Gone when the program ends.
  static const bool are_written = [] {
    for (const RingLabels labels : kAllLabels) {
      WriteRing(FolderOf(temp.path(), labels), {.labels = labels});
    }
    return true;
  }();
  Require(are_written, "no datasets");
  const DatasetFile& file = kFiles[data[0] % std::size(kFiles)];
  const std::filesystem::path folder = FolderOf(temp.path(), file.labels);
  const std::filesystem::path path = folder / file.name;
  std::string sound;
  if (std::ifstream in(path, std::ios::binary); in) {
    sound.assign(std::istreambuf_iterator<char>(in), {});
  }
  Write(path, {reinterpret_cast<const char*>(data) + 1, size - 1});
  for (const Validation validation :
       {Validation::kEverything, Validation::kShapes}) {
    const auto dataset = Dataset::Open(folder, validation);
    if (dataset.ok() && validation == Validation::kEverything)
      ReadAll(*dataset);
  }
  if (sound.empty()) {
    std::filesystem::remove(path);
  } else {
    Write(path, sound);
  }
  return 0;
}
