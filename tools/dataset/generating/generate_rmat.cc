#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/graph/npy.h"
#include "tools/dataset/building/ordered_chunks.h"
#include "tools/dataset/generating/generate.h"
#include "tools/dataset/generating/generate_parts.h"

namespace fgnn {
namespace {

constexpr uint64_t kRmatVerticesPerChunk = uint64_t{1} << 14;
// Share of the vertices that have the class of their neighbouring hub.
constexpr float kHubShare = 0.7F;

absl::Status Check(const RmatOptions& options) {
  FGNN_RETURN_IF_ERROR(CheckOptions(options.common));
  if (options.scale < 1 || options.scale > 31) {
    return OutOfRange("--scale", absl::StrCat(options.scale), "in [1, 31]");
  }
  if (options.edge_factor < 1 || options.edge_factor > 4096) {
    return OutOfRange("--edge-factor", absl::StrCat(options.edge_factor),
                      "in [1, 4096]");
  }
  const double sum = options.a + options.b + options.c;
  if (!(options.a > 0 && options.b > 0 && options.c > 0 && sum <= 1)) {
    return OutOfRange("--a --b --c",
                      absl::StrCat(options.a, " ", options.b, " ", options.c),
                      "positive and at most 1 in sum");
  }
  return absl::OkStatus();
}

// Draws edge number e, with one random word for each level of the matrix.
class EdgeDrawer {
 public:
  explicit EdgeDrawer(const RmatOptions& options)
      : scale_(options.scale),
        weights_(options.weights),
        edge_key_(KeyOf(options.common.seed, Stream::kEdges)),
        weight_key_(KeyOf(options.common.seed, Stream::kWeights)),
        bounds_{Threshold(options.a), Threshold(options.a + options.b),
                Threshold(options.a + options.b + options.c)},
        order_(
            RandomVertexOrder(uint64_t{1} << options.scale, options.common)) {}

  DrawnEdge operator()(uint64_t e) const {
    uint32_t row = 0;
    uint32_t column = 0;
    for (uint32_t level = 0; level < scale_; level += 4) {
      const PhiloxBlock block = DrawAt(edge_key_, e, level);
      const uint32_t levels = std::min(scale_ - level, 4U);
      for (uint32_t i = 0; i < levels; ++i) {
        const uint64_t word = block.words[i];
        const auto past_a = static_cast<uint32_t>(word >= bounds_[0]);
        const auto past_b = static_cast<uint32_t>(word >= bounds_[1]);
        const auto past_c = static_cast<uint32_t>(word >= bounds_[2]);
        row = row << 1 | past_b;
        column = column << 1 | (past_a ^ past_b ^ past_c);
      }
    }
    // Weights are in (0, 1]: an edge of weight zero would never be sampled.
    const float weight =
        weights_ ? 1.0F - UniformFloat(DrawAt(weight_key_, e).words[0]) : 1.0F;
    return {order_[row], order_[column], weight};
  }

 private:
  static uint64_t Threshold(double share) {
    return static_cast<uint64_t>(std::llround(share * 0x1.0p32));
  }

  uint32_t scale_;
  bool weights_;
  PhiloxKey edge_key_;
  PhiloxKey weight_key_;
  std::array<uint64_t, 3> bounds_;
  std::vector<GlobalId> order_;
};

absl::StatusOr<CscTotals> WriteEdges(const DatasetWriter& writer,
                                     const RmatOptions& options) {
  CscBuilderOptions builder_options;
  builder_options.reverses =
      options.directed ? Reverses::kNone : Reverses::kAll;
  builder_options.drop_self_loops = true;
  builder_options.with_weights = options.weights;
  return WriteTopology(
      writer, builder_options, uint64_t{1} << options.scale,
      uint64_t{options.edge_factor} << options.scale, options.common,
      [drawer = EdgeDrawer(options)](uint64_t begin, uint64_t end,
                                     std::vector<DrawnEdge>& edges) {
        for (uint64_t e = begin; e < end; ++e) edges.push_back(drawer(e));
      });
}

// Returns the in-neighbour of v with the highest in-degree, the first of equal
// ones. Returns v if it has none.
uint64_t HubOf(uint64_t v, absl::Span<const EdgeOffset> indptr,
               absl::Span<const uint32_t> indices) {
  uint64_t hub = v;
  EdgeOffset most = -1;
  for (EdgeOffset e = indptr[v]; e < indptr[v + 1]; ++e) {
    const uint32_t u = indices[static_cast<size_t>(e)];
    const EdgeOffset degree = indptr[u + 1] - indptr[u];
    if (degree > most) {
      most = degree;
      hub = u;
    }
  }
  return hub;
}

absl::StatusOr<std::vector<int64_t>> DrawLabels(const DatasetWriter& writer,
                                                const RmatOptions& options) {
  const GenerateOptions& common = options.common;
  FGNN_ASSIGN_OR_RETURN(const NpyArray indptr_array,
                        NpyArray::Open(writer.folder() / "csc_indptr.npy"));
  FGNN_ASSIGN_OR_RETURN(const NpyArray indices_array,
                        NpyArray::Open(writer.folder() / "indices.npy"));
  const auto indptr = indptr_array.As<EdgeOffset>();
  const auto indices = indices_array.As<uint32_t>();
  const uint64_t num_nodes = indptr.size() - 1;
  const PhiloxKey key = KeyOf(common.seed, Stream::kLabels);
  std::vector<int64_t> labels(num_nodes);
  struct Nothing {};
  const auto make = [&](uint64_t chunk, Nothing&) {
    const uint64_t begin = chunk * kRmatVerticesPerChunk;
    const uint64_t end = std::min(num_nodes, begin + kRmatVerticesPerChunk);
    for (uint64_t v = begin; v < end; ++v) {
      if (options.connected_labels && indptr[v] == indptr[v + 1]) {
        labels[v] = -1;
        continue;
      }
      const bool follows = UniformFloat(DrawAt(key, v).words[2]) < kHubShare;
      const uint64_t like = follows ? HubOf(v, indptr, indices) : v;
      labels[v] = static_cast<int64_t>(
          UniformBelow(Word64(DrawAt(key, like), 0), common.num_classes));
    }
    return absl::OkStatus();
  };
  const auto use = [&](uint64_t chunk, Nothing&) {
    Report(common, "labels",
           std::min(num_nodes, (chunk + 1) * kRmatVerticesPerChunk), num_nodes);
    return absl::OkStatus();
  };
  FGNN_RETURN_IF_ERROR(RunOrderedChunks<Nothing>(
      (num_nodes + kRmatVerticesPerChunk - 1) / kRmatVerticesPerChunk,
      ThreadsOr(common.threads), make, use));
  return labels;
}

}  // namespace

absl::StatusOr<GenerateSummary> GenerateRmat(const RmatOptions& options) {
  FGNN_RETURN_IF_ERROR(Check(options));
  FGNN_ASSIGN_OR_RETURN(
      DatasetWriter writer,
      DatasetWriter::Create(options.common.out, options.common.interrupt));
  FGNN_ASSIGN_OR_RETURN(const CscTotals totals, WriteEdges(writer, options));
  std::vector<int64_t> labels;
  if (options.common.num_classes > 0) {
    FGNN_ASSIGN_OR_RETURN(labels, DrawLabels(writer, options));
  }
  DatasetMetadata shape;
  shape.num_nodes = uint64_t{1} << options.scale;
  shape.symmetric = !options.directed;
  shape.source =
      absl::StrCat("R-MAT, scale ", options.scale, ", edge factor ",
                   options.edge_factor, ", a b c ", options.a, " ", options.b,
                   " ", options.c, ", seed ", options.common.seed);
  return FinishDataset(writer, totals, labels, shape, options.common);
}

}  // namespace fgnn
