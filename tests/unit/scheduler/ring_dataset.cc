#include "tests/unit/scheduler/ring_dataset.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "shared/graph/metadata.h"
#include "shared/graph/npy.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

template <typename T>
void WriteArray(const fs::path& path, NpyType type,
                const std::vector<T>& values,
                std::vector<uint64_t> row_shape = {}) {
  auto writer = NpyWriter::Create(path, type, std::move(row_shape));
  if (!writer.ok() ||
      !writer->Append(values.data(), values.size() * sizeof(T)).ok() ||
      !writer->Close().ok()) {
    throw std::runtime_error("cannot write " + path.string());
  }
}

std::vector<int64_t> Range(int64_t first, int64_t count) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// Writes the targets of `n` vertices, and says in `metadata` what they are.
void WriteTargets(const fs::path& folder, int64_t n, RingLabels labels,
                  DatasetMetadata& metadata) {
  metadata.num_classes = 0;
  const fs::path path = folder / "targets.npy";
  if (labels == RingLabels::kNumbers) {
    std::vector<float> numbers;
    for (int64_t v = 0; v < n; ++v) {
      const double angle =
          6.283185307 * static_cast<double>(v) / static_cast<double>(n);
      numbers.push_back(static_cast<float>(std::sin(angle)));
      numbers.push_back(static_cast<float>(std::cos(angle)));
    }
    metadata.target_columns = 2;
    WriteArray(path, NpyType::kF32, numbers, {2});
    std::ofstream(folder / "target_names.txt") << "sine\ncosine\n";
    return;
  }
  std::vector<uint8_t> bits;
  for (int64_t v = 0; v < n; ++v) {
    for (const int64_t divisor : {2, 3, 5}) bits.push_back(v % divisor == 0);
  }
  metadata.target_columns = 3;
  metadata.target_type = TargetType::kBits;
  WriteArray(path, NpyType::kU8, bits, {3});
}

}  // namespace

void WriteRing(const fs::path& folder, const RingOptions& options) {
  fs::create_directories(folder);
  const int64_t n = options.num_nodes;
  std::vector<uint32_t> indices;
  std::vector<int64_t> labels;
  std::vector<float> features;
  for (int64_t v = 0; v < n; ++v) {
    indices.push_back(static_cast<uint32_t>((v + 1) % n));
    labels.push_back((v + options.first_label) % 2);
    features.push_back(static_cast<float>(v));
    features.push_back(1.0F);
  }
  if (options.nan_feature) {
    features[7] = std::numeric_limits<float>::quiet_NaN();
  }
  WriteArray(folder / "csc_indptr.npy", NpyType::kI64, Range(0, n + 1));
  WriteArray(folder / "indices.npy", NpyType::kU32, indices);
  WriteArray(folder / "features.npy", NpyType::kF32, features, {2});
  const int64_t train = options.num_train;
  WriteArray(folder / "train.npy", NpyType::kI64, Range(0, train));
  WriteArray(folder / "valid.npy", NpyType::kI64,
             Range(train, options.with_valid ? 4 : 0));
  WriteArray(folder / "test.npy", NpyType::kI64, Range(train + 4, 4));
  if (options.with_edge_splits) {
    const std::vector<uint32_t> first = {1, 0};
    const std::vector<uint32_t> second = {2, 1};
    WriteArray(folder / "valid_edges.npy", NpyType::kU32, first, {2});
    WriteArray(folder / "test_edges.npy", NpyType::kU32, second, {2});
  }
  DatasetMetadata metadata;
  metadata.name = "ring";
  metadata.num_nodes = static_cast<uint64_t>(n);
  metadata.num_edges = static_cast<uint64_t>(n);
  metadata.feature_columns = 2;
  metadata.num_classes = 2;
  if (options.labels == RingLabels::kClasses) {
    WriteArray(folder / "labels.npy", NpyType::kI64, labels);
  } else {
    WriteTargets(folder, n, options.labels, metadata);
  }
  std::ofstream(folder / "metadata.yaml") << FormatMetadata(metadata);
}

}  // namespace fgnn
