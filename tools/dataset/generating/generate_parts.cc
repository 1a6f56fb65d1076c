#include "tools/dataset/generating/generate_parts.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "shared/base/permutation.h"
#include "shared/base/status.h"
#include "shared/graph/metadata.h"
#include "shared/graph/npy.h"
#include "tools/dataset/building/ordered_chunks.h"
#include "tools/dataset/reading/float_bits.h"

namespace fgnn {
namespace {

constexpr uint64_t kMaxColumns = 1 << 16;
constexpr uint32_t kMaxClasses = 1 << 16;
constexpr uint64_t kMaxCentroidValues = uint64_t{1} << 26;
constexpr uint64_t kChunkBytes = uint64_t{4} << 20;
constexpr uint64_t kEdgesPerChunk = uint64_t{1} << 18;
constexpr uint64_t kVerticesPerChunk = uint64_t{1} << 16;

// Returns the sum of a word's four bytes, scaled. It is near enough to a normal
// distribution, and four values cost one block of Philox.
float NearlyNormal(uint32_t word) {
  constexpr float kMean = 4 * 127.5F;
  constexpr float kDeviation = 147.80054F;  // sqrt(4 * (256^2 - 1) / 12)
  const uint32_t pairs = (word & 0x00ff00ff) + ((word >> 8) & 0x00ff00ff);
  const auto sum = static_cast<int32_t>((pairs & 0xffff) + (pairs >> 16));
  return (static_cast<float>(sum) - kMean) * (1.0F / kDeviation);
}

class RowMaker {
 public:
  explicit RowMaker(const GenerateOptions& options)
      : columns_(options.feature_columns),
        type_(options.feature_type),
        key_(KeyOf(options.seed, Stream::kNoise)) {
    const double noise = options.feature_noise;
    // Centroids have unit length: their deviation is 1 / sqrt(columns).
    const double length = 1.0 / std::sqrt(static_cast<double>(columns_));
    const double scale = 1.0 / std::hypot(noise, length);
    noise_ = static_cast<float>(noise * scale);
    FillCentroids(options, static_cast<float>(length * scale));
  }

  uint64_t row_bytes() const { return columns_ * fgnn::BytesOf(type_); }

  // `row` [columns] is scratch; `out` [row_bytes].
  void Make(uint64_t v, int64_t label, float* row, std::byte* out) const {
    FillNoise(v, row);
    if (label >= 0 && !centroids_.empty()) {
      const float* centroid =
          centroids_.data() + static_cast<uint64_t>(label) * columns_;
      for (uint64_t i = 0; i < columns_; ++i) row[i] += centroid[i];
    }
    Store(row, out);
  }

 private:
  void FillCentroids(const GenerateOptions& options, float scale) {
    const PhiloxKey key = KeyOf(options.seed, Stream::kCentroids);
    centroids_.resize(options.num_classes * columns_);
    for (uint64_t i = 0; i < centroids_.size(); ++i) {
      centroids_[i] = scale * NearlyNormal(DrawAt(key, i).words[0]);
    }
  }

  void FillNoise(uint64_t v, float* row) const {
    const uint64_t whole = columns_ / 4 * 4;
    for (uint64_t i = 0; i < whole; i += 4) {
      const PhiloxBlock block = DrawAt(key_, v, static_cast<uint32_t>(i / 4));
      for (uint64_t j = 0; j < 4; ++j) {
        row[i + j] = noise_ * NearlyNormal(block.words[j]);
      }
    }
    const PhiloxBlock last = DrawAt(key_, v, static_cast<uint32_t>(whole / 4));
    for (uint64_t i = whole; i < columns_; ++i) {
      row[i] = noise_ * NearlyNormal(last.words[i - whole]);
    }
  }

  void Store(const float* row, std::byte* out) const {
    if (type_ == FeatureType::kFloat32) {
      std::copy_n(row, columns_, reinterpret_cast<float*>(out));
      return;
    }
    auto* half = reinterpret_cast<uint16_t*>(out);
    const auto convert =
        type_ == FeatureType::kFloat16 ? FloatToHalf : FloatToBfloat16;
    for (uint64_t i = 0; i < columns_; ++i) half[i] = convert(row[i]);
  }

  uint64_t columns_;
  FeatureType type_;
  PhiloxKey key_;
  float noise_ = 0;
  std::vector<float> centroids_;  // [num_classes, columns]
};

// Aligned for floats, unlike a vector of bytes in principle.
struct RowChunk {
  std::vector<float> scratch;
  std::vector<uint64_t> bytes;
};

}  // namespace

absl::Status OutOfRange(std::string_view flag, const std::string& value,
                        std::string_view range) {
  return absl::InvalidArgumentError(absl::StrCat(
      std::string(flag), " is ", value, ", but must be ", std::string(range)));
}

absl::Status CheckOptions(const GenerateOptions& options) {
  if (options.feature_columns > kMaxColumns) {
    return OutOfRange("--features", absl::StrCat(options.feature_columns),
                      "in [0, 65536]");
  }
  if (options.num_classes > kMaxClasses) {
    return OutOfRange("--classes", absl::StrCat(options.num_classes),
                      "in [0, 65536]");
  }
  if (options.feature_columns * options.num_classes > kMaxCentroidValues) {
    return OutOfRange(
        "--features times --classes",
        absl::StrCat(options.feature_columns * options.num_classes),
        absl::StrCat("at most ", kMaxCentroidValues));
  }
  if (!(options.train_fraction >= 0 && options.train_fraction <= 1)) {
    return OutOfRange("--train-fraction", absl::StrCat(options.train_fraction),
                      "in [0, 1]");
  }
  if (!(options.feature_noise >= 0 && options.feature_noise <= 1e6)) {
    return OutOfRange("--feature-noise", absl::StrCat(options.feature_noise),
                      "in [0, 1e6]");
  }
  return absl::OkStatus();
}

std::vector<GlobalId> RandomVertexOrder(uint64_t num_nodes,
                                        const GenerateOptions& options) {
  const KeyedPermutation order(num_nodes,
                               KeyOf(options.seed, Stream::kVertexOrder));
  std::vector<GlobalId> ids(num_nodes);
  struct Nothing {};
  const uint64_t chunks =
      (num_nodes + kVerticesPerChunk - 1) / kVerticesPerChunk;
  RunOrderedChunks<Nothing>(
      chunks, ThreadsOr(options.threads),
      [&](uint64_t chunk, Nothing&) {
        const uint64_t begin = chunk * kVerticesPerChunk;
        const uint64_t end = std::min(num_nodes, begin + kVerticesPerChunk);
        for (uint64_t v = begin; v < end; ++v) {
          ids[v] = static_cast<GlobalId>(order(v));
        }
        return absl::OkStatus();
      },
      [](uint64_t, Nothing&) { return absl::OkStatus(); })
      .IgnoreError();  // Neither part can fail.
  return ids;
}

void Report(const GenerateOptions& options, std::string_view stage,
            uint64_t done, uint64_t total) {
  if (options.progress) options.progress(stage, done, total);
}

absl::StatusOr<CscTotals> WriteTopology(const DatasetWriter& writer,
                                        const CscBuilderOptions& options,
                                        uint64_t num_nodes, uint64_t num_edges,
                                        const GenerateOptions& common,
                                        EdgeDraw draw) {
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<CscBuilder> builder,
                        CscBuilder::Create(writer.folder(), options));
  using Chunk = std::vector<DrawnEdge>;
  const auto make = [&](uint64_t chunk, Chunk& edges) {
    const uint64_t begin = chunk * kEdgesPerChunk;
    edges.clear();
    draw(begin, std::min(num_edges, begin + kEdgesPerChunk), edges);
    return absl::OkStatus();
  };
  const auto use = [&](uint64_t chunk, Chunk& edges) -> absl::Status {
    for (const DrawnEdge& edge : edges) {
      FGNN_RETURN_IF_ERROR(
          builder->Add(edge.source, edge.destination, edge.weight));
    }
    Report(common, "edges", chunk * kEdgesPerChunk + edges.size(), num_edges);
    return absl::OkStatus();
  };
  FGNN_RETURN_IF_ERROR(
      RunOrderedChunks<Chunk>((num_edges + kEdgesPerChunk - 1) / kEdgesPerChunk,
                              ThreadsOr(common.threads), make, use));
  draw = nullptr;
  return builder->Finish(num_nodes, [&common](uint64_t done, uint64_t total) {
    Report(common, "sorting edges", done, total);
  });
}

absl::Status WriteFeatures(const DatasetWriter& writer,
                           absl::Span<const int64_t> labels, uint64_t num_nodes,
                           const GenerateOptions& options) {
  const RowMaker rows(options);
  FGNN_ASSIGN_OR_RETURN(NpyWriter file,
                        NpyWriter::Create(writer.folder() / "features.npy",
                                          StoredType(options.feature_type),
                                          {options.feature_columns}));
  const uint64_t per_chunk =
      std::max<uint64_t>(kChunkBytes / rows.row_bytes(), 1);
  const auto make = [&](uint64_t chunk, RowChunk& state) {
    const uint64_t begin = chunk * per_chunk;
    const uint64_t end = std::min(num_nodes, begin + per_chunk);
    state.scratch.resize(options.feature_columns);
    state.bytes.resize((per_chunk * rows.row_bytes() + 7) / 8);
    auto* out = reinterpret_cast<std::byte*>(state.bytes.data());
    for (uint64_t v = begin; v < end; ++v, out += rows.row_bytes()) {
      rows.Make(v, labels.empty() ? -1 : labels[v], state.scratch.data(), out);
    }
    return absl::OkStatus();
  };
  const auto use = [&](uint64_t chunk, RowChunk& state) -> absl::Status {
    const uint64_t begin = chunk * per_chunk;
    const uint64_t end = std::min(num_nodes, begin + per_chunk);
    Report(options, "features", end, num_nodes);
    return file.Append(state.bytes.data(), (end - begin) * rows.row_bytes());
  };
  FGNN_RETURN_IF_ERROR(
      RunOrderedChunks<RowChunk>((num_nodes + per_chunk - 1) / per_chunk,
                                 ThreadsOr(options.threads), make, use));
  return file.Close();
}

absl::StatusOr<GenerateSummary> FinishDataset(DatasetWriter& writer,
                                              const CscTotals& totals,
                                              absl::Span<const int64_t> labels,
                                              const DatasetMetadata& shape,
                                              const GenerateOptions& options) {
  GenerateSummary summary = {.num_nodes = shape.num_nodes, .edges = totals};
  if (options.num_classes > 0) {
    const Splits splits =
        MakeSplits(labels, options.train_fraction, options.seed);
    FGNN_RETURN_IF_ERROR(writer.WriteLabels(labels));
    FGNN_RETURN_IF_ERROR(writer.WriteSplit("train", splits.train));
    FGNN_RETURN_IF_ERROR(writer.WriteSplit("valid", splits.valid));
    FGNN_RETURN_IF_ERROR(writer.WriteSplit("test", splits.test));
    summary.num_train = splits.train.size();
    summary.num_valid = splits.valid.size();
    summary.num_test = splits.test.size();
  }
  if (options.feature_columns > 0) {
    FGNN_RETURN_IF_ERROR(
        WriteFeatures(writer, labels, shape.num_nodes, options));
  }
  DatasetMetadata metadata = shape;
  metadata.num_edges = totals.num_edges;
  metadata.feature_columns = options.feature_columns;
  metadata.feature_type = options.feature_type;
  metadata.num_classes = options.num_classes;
  Report(options, "checking and flushing", 0, 0);
  FGNN_RETURN_IF_ERROR(writer.Commit(metadata));
  return summary;
}

}  // namespace fgnn
