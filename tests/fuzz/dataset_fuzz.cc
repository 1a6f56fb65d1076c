// Byte 0 chooses a file of a sound dataset; the rest replaces it.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <variant>

#include "shared/graph/dataset.h"
#include "tests/fakes/temp_folder.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/unit/scheduler/ring_dataset.h"

namespace fgnn {
namespace {

constexpr const char* kFiles[] = {
    "metadata.yaml", "csc_indptr.npy",   "indices.npy",     "features.npy",
    "labels.npy",    "train.npy",        "valid.npy",       "test.npy",
    "names.txt",     "edge_weights.npy", "train_edges.npy", "valid_edges.npy"};

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
      Require(dataset.labels()[static_cast<size_t>(v)] >= 0, "no label");
    }
  }
  for (const EdgeView& edges : {dataset.train_edges(), dataset.valid_edges()}) {
    for (uint64_t i = 0; i < edges.size(); ++i) {
      const Edge edge = edges[i];
      Require(std::max(edge.source, edge.destination) < dataset.num_nodes(),
              "an end out of range");
    }
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
  static const std::filesystem::path folder = [] {
    const std::filesystem::path path = temp / "ring";
    WriteRing(path, {});
    return path;
  }();
  const std::filesystem::path path =
      folder / kFiles[data[0] % std::size(kFiles)];
  std::string sound;
  if (std::ifstream file(path, std::ios::binary); file) {
    sound.assign(std::istreambuf_iterator<char>(file), {});
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
