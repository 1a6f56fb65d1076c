#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "tools/dataset/generating/generate.h"
#include "tools/dataset/generating/generate_parts.h"

namespace fgnn {
namespace {

absl::Status Check(const SbmOptions& options) {
  FGNN_RETURN_IF_ERROR(CheckOptions(options.common));
  const uint64_t classes = options.common.num_classes;
  if (classes < 1) {
    return OutOfRange("--classes", absl::StrCat(classes), "in [1, 65536]");
  }
  if (options.num_nodes < 2 * classes ||
      options.num_nodes > std::numeric_limits<GlobalId>::max()) {
    return OutOfRange(
        "--nodes", absl::StrCat(options.num_nodes),
        absl::StrCat("in [", 2 * classes, ", 4294967295]: two for each class"));
  }
  const double half = static_cast<double>(options.num_nodes) / 2;
  if (!(options.average_degree > 0 && options.average_degree <= half)) {
    return OutOfRange(
        "--average-degree", absl::StrCat(options.average_degree),
        absl::StrCat("above 0 and at most ", half, ", half of the vertices"));
  }
  if (!(options.homophily >= 0 && options.homophily <= 1)) {
    return OutOfRange("--homophily", absl::StrCat(options.homophily),
                      "in [0, 1]");
  }
  if (classes == 1 && options.homophily < 1) {
    return OutOfRange("--homophily", absl::StrCat(options.homophily),
                      "1 where there is one class");
  }
  return absl::OkStatus();
}

// A vertex has a place in [0, N); classes are ranges of places. A member of a
// class, or of all other classes, is therefore one draw. Ids are places,
// permuted.
class Blocks {
 public:
  explicit Blocks(const SbmOptions& options)
      : num_nodes_(options.num_nodes),
        num_classes_(options.common.num_classes),
        within_(
            static_cast<uint64_t>(std::llround(options.homophily * 0x1.0p32))),
        key_(KeyOf(options.common.seed, Stream::kEdges)),
        order_(RandomVertexOrder(options.num_nodes, options.common)) {}

  uint64_t ClassAt(uint64_t place) const {
    return place * num_classes_ / num_nodes_;
  }

  DrawnEdge Draw(uint64_t e) const {
    const PhiloxBlock first = DrawAt(key_, e);
    const PhiloxBlock second = DrawAt(key_, e, 1);
    const uint64_t from = UniformBelow(Word64(first, 0), num_nodes_);
    const uint64_t begin = BeginOf(ClassAt(from));
    const uint64_t size = BeginOf(ClassAt(from) + 1) - begin;
    const uint64_t bits = Word64(first, 1);
    uint64_t to = 0;
    if (second.words[0] < within_) {
      to = begin + UniformBelow(bits, size - 1);
      if (to >= from) ++to;  // Leaves out the self-loop.
    } else {
      to = UniformBelow(bits, num_nodes_ - size);
      if (to >= begin) to += size;
    }
    return {order_[from], order_[to], 1.0F};
  }

  std::vector<int64_t> Labels() const {
    std::vector<int64_t> labels(num_nodes_);
    for (uint64_t place = 0; place < num_nodes_; ++place) {
      labels[order_[place]] = static_cast<int64_t>(ClassAt(place));
    }
    return labels;
  }

 private:
  // Returns the first place whose ClassAt() is `c`.
  uint64_t BeginOf(uint64_t c) const {
    return (c * num_nodes_ + num_classes_ - 1) / num_classes_;
  }

  uint64_t num_nodes_;
  uint64_t num_classes_;
  uint64_t within_;  // Chance of an edge within a class, in units of 2^-32.
  PhiloxKey key_;
  std::vector<GlobalId> order_;
};

absl::StatusOr<CscTotals> WriteEdges(const DatasetWriter& writer,
                                     const Blocks& blocks,
                                     const SbmOptions& options) {
  const auto num_edges = static_cast<uint64_t>(std::llround(
      options.average_degree * static_cast<double>(options.num_nodes) / 2));
  CscBuilderOptions builder_options;
  builder_options.reverses = Reverses::kAll;
  builder_options.drop_self_loops = true;
  return WriteTopology(
      writer, builder_options, options.num_nodes, num_edges, options.common,
      [&blocks](uint64_t begin, uint64_t end, std::vector<DrawnEdge>& edges) {
        for (uint64_t e = begin; e < end; ++e) edges.push_back(blocks.Draw(e));
      });
}

}  // namespace

absl::StatusOr<GenerateSummary> GenerateSbm(const SbmOptions& options) {
  FGNN_RETURN_IF_ERROR(Check(options));
  FGNN_ASSIGN_OR_RETURN(
      DatasetWriter writer,
      DatasetWriter::Create(options.common.out, options.common.interrupt));
  const Blocks blocks(options);
  FGNN_ASSIGN_OR_RETURN(const CscTotals totals,
                        WriteEdges(writer, blocks, options));
  DatasetMetadata shape;
  shape.num_nodes = options.num_nodes;
  shape.symmetric = true;
  shape.source = absl::StrCat(
      "stochastic block model, average degree ", options.average_degree,
      ", homophily ", options.homophily, ", feature noise ",
      options.common.feature_noise, ", seed ", options.common.seed);
  return FinishDataset(writer, totals, blocks.Labels(), shape, options.common);
}

}  // namespace fgnn
