#include "tests/fuzz/changing/changing_dataset.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "shared/base/files/unique_fd.h"
#include "shared/graph/metadata.h"
#include "shared/graph/npy.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/reference/random_graph.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kColumns = 4;

template <typename T>
void WriteArray(const fs::path& path, NpyType type,
                const std::vector<T>& values,
                std::vector<uint64_t> row_shape = {}) {
  auto writer = NpyWriter::Create(path, type, std::move(row_shape));
  Require(writer.ok() &&
              writer->Append(values.data(), values.size() * sizeof(T)).ok() &&
              writer->Close().ok(),
          "cannot write an array");
}

// Values at and beyond the ends of what arrays may hold.
uint64_t ForgedValue(std::mt19937_64& random) {
  const uint64_t small = random() % (2 * kChangingNodes);
  const uint64_t values[] = {small,
                             ~small,
                             0xffffff,
                             0xfffffff0,
                             0xffffffff,
                             uint64_t{1} << 31,
                             uint64_t{1} << 32,
                             (uint64_t{1} << 32) + small,
                             uint64_t{1} << 62,
                             uint64_t{1} << 63,
                             (uint64_t{1} << 63) - 1,
                             random()};
  return values[random() % std::size(values)];
}

}  // namespace

ChangingDataset::ChangingDataset(fs::path folder, VertexLabels labels)
    : folder_(std::move(folder)) {
  fs::create_directories(folder_);
  WriteGraph();
  WriteVertices(labels);
  ReadArrays();
}

void ChangingDataset::WriteGraph() const {
  const reference::CscGraph graph =
      reference::RandomGraph(kChangingNodes, /*seed=*/3);
  const CscView view = graph.view();
  const auto indices = std::get<absl::Span<const uint32_t>>(view.indices);
  WriteArray(folder_ / "csc_indptr.npy", NpyType::kI64,
             std::vector<int64_t>(view.indptr.begin(), view.indptr.end()));
  WriteArray(folder_ / "indices.npy", NpyType::kU32,
             std::vector<uint32_t>(indices.begin(), indices.end()));
  WriteArray(folder_ / "edge_weights.npy", NpyType::kF32,
             std::vector<float>(indices.size(), 1.5F));
  std::vector<uint32_t> edges;
  for (uint32_t i = 0; i < 60; ++i) {
    edges.push_back(i * 7 % kChangingNodes);
    edges.push_back(i * 11 % kChangingNodes);
  }
  for (const char* file :
       {"train_edges.npy", "valid_edges.npy", "test_edges.npy"}) {
    WriteArray(folder_ / file, NpyType::kU32, edges, {2});
  }
}

void ChangingDataset::WriteVertices(VertexLabels labels) const {
  DatasetMetadata metadata;
  metadata.name = "changing";
  metadata.num_nodes = kChangingNodes;
  metadata.num_edges =
      NpyArray::OpenHeader(folder_ / "indices.npy")->header().num_elements();
  metadata.feature_columns = kColumns;
  std::vector<float> features;
  std::vector<int64_t> classes;
  std::vector<float> numbers;
  std::vector<uint8_t> sets;
  std::vector<int64_t> splits[3];
  for (uint32_t v = 0; v < kChangingNodes; ++v) {
    features.insert(features.end(), kColumns, static_cast<float>(v % 17));
    classes.push_back(v % kChangingClasses);
    for (uint32_t c = 0; c < kChangingClasses; ++c) {
      numbers.push_back(static_cast<float>(v + c));
      sets.push_back((v + c) % 3 == 0);
    }
    splits[v % 3].push_back(v);
  }
  WriteArray(folder_ / "features.npy", NpyType::kF32, features, {kColumns});
  WriteArray(folder_ / "train.npy", NpyType::kI64, splits[0]);
  WriteArray(folder_ / "valid.npy", NpyType::kI64, splits[1]);
  WriteArray(folder_ / "test.npy", NpyType::kI64, splits[2]);
  if (labels == VertexLabels::kClasses) {
    metadata.num_classes = kChangingClasses;
    WriteArray(folder_ / "labels.npy", NpyType::kI64, classes);
  } else {
    metadata.target_columns = kChangingClasses;
    if (labels == VertexLabels::kNumbers) {
      WriteArray(folder_ / "targets.npy", NpyType::kF32, numbers,
                 {kChangingClasses});
    } else {
      metadata.target_type = TargetType::kBits;
      WriteArray(folder_ / "targets.npy", NpyType::kU8, sets,
                 {kChangingClasses});
    }
  }
  std::ofstream(folder_ / "metadata.yaml") << FormatMetadata(metadata);
}

void ChangingDataset::ReadArrays() {
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().extension() != ".npy") continue;
    const auto opened = NpyArray::OpenHeader(entry.path());
    Require(opened.ok(), "cannot read a header");
    Array array = {.path = entry.path(),
                   .sound = {},
                   .begin = opened->header().data_offset,
                   .element_bytes = BytesOf(opened->header().type)};
    std::ifstream in(entry.path(), std::ios::binary);
    array.sound.assign(std::istreambuf_iterator<char>(in), {});
    arrays_.push_back(std::move(array));
  }
  std::sort(arrays_.begin(), arrays_.end(),
            [](const Array& a, const Array& b) { return a.path < b.path; });
}

void ChangingDataset::Forge(std::mt19937_64& random) const {
  const Array& array = arrays_[random() % arrays_.size()];
  const uint64_t elements =
      (array.sound.size() - array.begin) / array.element_bytes;
  // Little endian: the low bytes come first.
  const uint64_t value = ForgedValue(random);
  const uint64_t offset =
      array.begin + random() % elements * array.element_bytes;
  const UniqueFd fd(::open(array.path.c_str(), O_WRONLY | O_CLOEXEC));
  Require(::pwrite(fd.get(), &value, array.element_bytes,
                   static_cast<off_t>(offset)) ==
              static_cast<ssize_t>(array.element_bytes),
          "cannot forge");
}

void ChangingDataset::Restore() const {
  for (const Array& array : arrays_) {
    const UniqueFd fd(::open(array.path.c_str(), O_WRONLY | O_CLOEXEC));
    Require(::pwrite(fd.get(), array.sound.data(), array.sound.size(), 0) ==
                static_cast<ssize_t>(array.sound.size()),
            "cannot restore");
  }
  fs::remove_all(folder_ / "derived");
}

Changer::Changer(const ChangingDataset* dataset, uint64_t seed)
    : thread_([this, dataset, seed] {
        std::mt19937_64 random(seed);
        while (!ends_) dataset->Forge(random);
      }) {}

Changer::~Changer() {
  ends_ = true;
  thread_.join();
}

}  // namespace fgnn
