#include "tools/dataset/building/csc_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/graph/npy.h"
#include "tools/dataset/building/edge_spill.h"
#include "tools/dataset/building/ordered_chunks.h"
#include "tools/dataset/building/sorted_bucket.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kLeastMemoryBytes = uint64_t{4} << 20;
constexpr uint64_t kMostLogBytes = uint64_t{4} << 20;
constexpr uint64_t kMostScatterBytes = uint64_t{64} << 10;
constexpr uint64_t kLeastScatterBytes = uint64_t{4} << 10;
// Writes the arrays of the folder, bucket by bucket.
class CscWriter {
 public:
  static absl::StatusOr<CscWriter> Create(const fs::path& folder,
                                          bool with_weights) {
    FGNN_ASSIGN_OR_RETURN(
        NpyWriter indptr,
        NpyWriter::Create(folder / "csc_indptr.npy", NpyType::kI64, {}));
    FGNN_ASSIGN_OR_RETURN(
        NpyWriter indices,
        NpyWriter::Create(folder / "indices.npy", NpyType::kU32, {}));
    CscWriter writer(std::move(indptr), std::move(indices));
    if (with_weights) {
      FGNN_ASSIGN_OR_RETURN(
          NpyWriter weights,
          NpyWriter::Create(folder / "edge_weights.npy", NpyType::kF32, {}));
      writer.weights_.push_back(std::move(weights));
    }
    const EdgeOffset zero = 0;
    FGNN_RETURN_IF_ERROR(writer.indptr_.Append(&zero, sizeof(zero)));
    return writer;
  }

  absl::Status AppendDegrees(absl::Span<const uint64_t> degrees) {
    offsets_.clear();
    for (const uint64_t degree : degrees) {
      num_edges_ += static_cast<EdgeOffset>(degree);
      offsets_.push_back(num_edges_);
    }
    return indptr_.Append(offsets_.data(),
                          offsets_.size() * sizeof(EdgeOffset));
  }

  absl::Status AppendValues(absl::Span<const uint32_t> sources) {
    return indices_.Append(sources.data(), sources.size() * sizeof(uint32_t));
  }

  // Appends in blocks, so that a bucket is not held a second time.
  absl::Status AppendValues(absl::Span<const uint64_t> values) {
    constexpr size_t kBlock = 1 << 12;
    uint32_t sources[kBlock];
    uint32_t weights[kBlock];
    for (size_t begin = 0; begin < values.size(); begin += kBlock) {
      const size_t n = std::min(kBlock, values.size() - begin);
      for (size_t i = 0; i < n; ++i) {
        sources[i] = SourceOf(values[begin + i]);
        weights[i] = static_cast<uint32_t>(values[begin + i]);
      }
      FGNN_RETURN_IF_ERROR(indices_.Append(sources, n * sizeof(uint32_t)));
      FGNN_RETURN_IF_ERROR(weights_[0].Append(weights, n * sizeof(uint32_t)));
    }
    return absl::OkStatus();
  }

  absl::Status Close() {
    FGNN_RETURN_IF_ERROR(indptr_.Close());
    FGNN_RETURN_IF_ERROR(indices_.Close());
    return weights_.empty() ? absl::OkStatus() : weights_[0].Close();
  }

  uint64_t num_edges() const { return static_cast<uint64_t>(num_edges_); }

 private:
  CscWriter(NpyWriter indptr, NpyWriter indices)
      : indptr_(std::move(indptr)), indices_(std::move(indices)) {}

  NpyWriter indptr_;
  NpyWriter indices_;
  std::vector<NpyWriter> weights_;  // One writer, or none without weights.
  EdgeOffset num_edges_ = 0;
  std::vector<EdgeOffset> offsets_;
};

template <typename EdgeT>
class SpillingCscBuilder : public CscBuilder {
 public:
  SpillingCscBuilder(fs::path folder, const CscBuilderOptions& options)
      : folder_(std::move(folder)),
        building_(folder_ / ".building"),
        options_(options) {
    options_.memory_bytes = std::max(options_.memory_bytes, kLeastMemoryBytes);
    pending_.reserve(std::min(kMostLogBytes, options_.memory_bytes / 8) /
                     sizeof(EdgeT));
  }

  ~SpillingCscBuilder() override {
    std::error_code ignored;
    fs::remove_all(building_, ignored);
  }

  absl::Status Start() {
    std::error_code error;
    fs::create_directory(building_, error);
    if (error) {
      return ErrnoToStatus(error.value(),
                           absl::StrCat("create ", building_.string()));
    }
    FGNN_ASSIGN_OR_RETURN(log_, SpillFile::Create(building_ / "edges"));
    return absl::OkStatus();
  }

  absl::Status Add(GlobalId source, GlobalId destination,
                   float weight) override {
    if (finished_) {
      return absl::FailedPreconditionError("edge added to a finished graph");
    }
    if (source == destination && options_.drop_self_loops) {
      ++totals_.num_self_loops;
      return absl::OkStatus();
    }
    if (pending_.size() == pending_.capacity()) {
      FGNN_RETURN_IF_ERROR(FlushPending());
    }
    pending_.push_back(Make(source, destination, weight));
    histograms_.given.Add(destination);
    if (HasReverse(pending_.back())) {
      (ReversesApart() ? histograms_.reverses : histograms_.given).Add(source);
    }
    return absl::OkStatus();
  }

  void SetMissingWeight(float weight) override { missing_weight_ = weight; }

  absl::StatusOr<CscTotals> Finish(
      uint64_t num_nodes,
      const std::function<void(uint64_t, uint64_t)>& progress) override {
    if (finished_) return absl::FailedPreconditionError("finished twice");
    finished_ = true;
    if (num_nodes == 0 || num_nodes > kMaxNodes) {
      return absl::InvalidArgumentError(
          absl::StrCat("a graph of ", num_nodes,
                       " vertices: a dataset has 1 "
                       "to ",
                       kMaxNodes));
    }
    histograms_.given.Cover(num_nodes);
    histograms_.given.Match(histograms_.reverses);
    histograms_.reverses.Match(histograms_.given);
    // A bucket is held as edges, and as values before and after the merging.
    const uint64_t edge_bytes =
        sizeof(EdgeT) + 2 * sizeof(typename SortedBucket<EdgeT>::Value);
    buckets_ = MakeBuckets(histograms_, num_nodes, edge_bytes,
                           options_.memory_bytes * 3 / 4 / ThreadsOr(0));
    FGNN_ASSIGN_OR_RETURN(sorted_, SpillFile::Create(building_ / "buckets"));
    FGNN_RETURN_IF_ERROR(Distribute(num_nodes));
    log_ = SpillFile();  // Gives the log's disk space back.
    FGNN_RETURN_IF_ERROR(SortAndWrite(progress));
    sorted_ = SpillFile();
    std::error_code ignored;  // The destructor tries again.
    fs::remove_all(building_, ignored);
    return totals_;
  }

 private:
  static EdgeT Make(GlobalId source, GlobalId destination,
                    [[maybe_unused]] float weight) {
    if constexpr (std::is_same_v<EdgeT, WeightedEdge>) {
      return {source, destination, weight};
    } else {
      return {source, destination};
    }
  }

  bool HasReverse(const EdgeT& edge) const {
    return options_.reverses != Reverses::kNone &&
           edge.source != edge.destination;
  }

  // Whether reverses are kept apart from the edges that were added.
  bool ReversesApart() const { return options_.reverses == Reverses::kMissing; }

  absl::Status FlushPending() {
    FGNN_RETURN_IF_ERROR(log_.Write(pending_.data(),
                                    pending_.size() * sizeof(EdgeT),
                                    num_logged_ * sizeof(EdgeT)));
    num_logged_ += pending_.size();
    pending_.clear();
    return absl::OkStatus();
  }

  absl::Status Distribute(uint64_t num_nodes);
  absl::Status DistributeEdges(absl::Span<const EdgeT> edges, uint64_t first,
                               uint64_t num_nodes);
  absl::Status Place(const EdgeT& edge, bool is_reverse);
  absl::Status FlushBucket(size_t part);
  absl::Status SortAndWrite(
      const std::function<void(uint64_t, uint64_t)>& progress);

  const fs::path folder_;
  const fs::path building_;
  CscBuilderOptions options_;
  bool finished_ = false;
  CscTotals totals_;

  SpillFile log_;
  std::vector<EdgeT> pending_;
  uint64_t num_logged_ = 0;
  EndHistograms histograms_;
  float missing_weight_ = 1.0F;

  SpillFile sorted_;
  std::vector<Bucket> buckets_;
  std::vector<uint32_t> bucket_of_bin_;
  // [buckets, 2] Edges to be written: given ones, and reverses of others.
  std::vector<std::vector<EdgeT>> scatter_;
  std::vector<uint64_t> placed_;  // [buckets, 2] Places of the next ones.
};

template <typename EdgeT>
absl::Status SpillingCscBuilder<EdgeT>::FlushBucket(size_t part) {
  std::vector<EdgeT>& edges = scatter_[part];
  FGNN_RETURN_IF_ERROR(sorted_.Write(edges.data(), edges.size() * sizeof(EdgeT),
                                     placed_[part] * sizeof(EdgeT)));
  placed_[part] += edges.size();
  edges.clear();
  return absl::OkStatus();
}

template <typename EdgeT>
absl::Status SpillingCscBuilder<EdgeT>::Place(const EdgeT& edge,
                                              bool is_reverse) {
  const size_t bucket =
      bucket_of_bin_[edge.destination / histograms_.given.bin_width()];
  const size_t part = 2 * bucket + static_cast<size_t>(is_reverse);
  scatter_[part].push_back(edge);
  if (scatter_[part].size() < scatter_[part].capacity()) {
    return absl::OkStatus();
  }
  return FlushBucket(part);
}

template <typename EdgeT>
absl::Status SpillingCscBuilder<EdgeT>::DistributeEdges(
    absl::Span<const EdgeT> edges, uint64_t first, uint64_t num_nodes) {
  for (size_t i = 0; i < edges.size(); ++i) {
    EdgeT edge = edges[i];
    if (std::max(edge.source, edge.destination) >= num_nodes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "edge ", first + i, " (", edge.source, " -> ", edge.destination,
          ") has an end of ", std::max(edge.source, edge.destination),
          ", but the graph has ", num_nodes,
          " vertices; correct the edge or the number of vertices"));
    }
    if constexpr (std::is_same_v<EdgeT, WeightedEdge>) {
      if (std::isnan(edge.weight)) edge.weight = missing_weight_;
    }
    FGNN_RETURN_IF_ERROR(Place(edge, /*is_reverse=*/false));
    if (HasReverse(edge)) {
      FGNN_RETURN_IF_ERROR(Place(Reversed(edge), ReversesApart()));
    }
  }
  return absl::OkStatus();
}

template <typename EdgeT>
absl::Status SpillingCscBuilder<EdgeT>::Distribute(uint64_t num_nodes) {
  bucket_of_bin_.assign(histograms_.given.counts().size(), 0);
  for (size_t b = 0; b < buckets_.size(); ++b) {
    const uint64_t width = histograms_.given.bin_width();
    for (uint64_t bin = buckets_[b].begin / width;
         bin * width < buckets_[b].end; ++bin) {
      bucket_of_bin_[bin] = static_cast<uint32_t>(b);
    }
  }
  const uint64_t scatter_bytes = std::clamp(
      options_.memory_bytes / (ReversesApart() ? 8 : 4) / buckets_.size(),
      kLeastScatterBytes, kMostScatterBytes);
  scatter_.resize(2 * buckets_.size());
  for (size_t part = 0; part < scatter_.size(); ++part) {
    const Bucket& bucket = buckets_[part / 2];
    placed_.push_back(bucket.first_edge +
                      (part % 2 == 0 ? 0 : bucket.num_given));
    if (part % 2 == 1 && !ReversesApart()) continue;
    scatter_[part].reserve(scatter_bytes / sizeof(EdgeT));
  }

  // The last edges that arrived, which are distributed last.
  std::vector<EdgeT> tail;
  tail.swap(pending_);
  std::vector<EdgeT> block(
      std::min(num_logged_, std::max<uint64_t>(tail.capacity(), 1)));
  for (uint64_t first = 0; first < num_logged_; first += block.size()) {
    block.resize(std::min<uint64_t>(block.size(), num_logged_ - first));
    FGNN_RETURN_IF_ERROR(log_.Read(block.data(), block.size() * sizeof(EdgeT),
                                   first * sizeof(EdgeT)));
    FGNN_RETURN_IF_ERROR(DistributeEdges(block, first, num_nodes));
  }
  FGNN_RETURN_IF_ERROR(DistributeEdges(tail, num_logged_, num_nodes));
  for (size_t part = 0; part < scatter_.size(); ++part) {
    FGNN_RETURN_IF_ERROR(FlushBucket(part));
  }
  scatter_ = {};
  return absl::OkStatus();
}

template <typename EdgeT>
absl::Status SpillingCscBuilder<EdgeT>::SortAndWrite(
    const std::function<void(uint64_t, uint64_t)>& progress) {
  FGNN_ASSIGN_OR_RETURN(CscWriter writer,
                        CscWriter::Create(folder_, options_.with_weights));
  const uint64_t in_all =
      buckets_.back().first_edge + buckets_.back().num_edges;
  const auto sort = [this](uint64_t b,
                           SortedBucket<EdgeT>& lists) -> absl::Status {
    FGNN_RETURN_IF_ERROR(lists.Load(sorted_, buckets_[b]));
    return lists.Sort(buckets_[b], options_.deduplicate, options_.equal_edges);
  };
  const auto append = [&](uint64_t b,
                          SortedBucket<EdgeT>& lists) -> absl::Status {
    FGNN_RETURN_IF_ERROR(writer.AppendDegrees(lists.degrees()));
    FGNN_RETURN_IF_ERROR(writer.AppendValues(lists.values()));
    totals_.num_merged += lists.totals().num_merged;
    totals_.num_unequal += lists.totals().num_unequal;
    totals_.num_reverses += lists.totals().num_reverses;
    if (progress) {
      progress(buckets_[b].first_edge + buckets_[b].num_edges, in_all);
    }
    return absl::OkStatus();
  };
  FGNN_RETURN_IF_ERROR(RunOrderedChunks<SortedBucket<EdgeT>>(
      buckets_.size(), ThreadsOr(0), sort, append));
  totals_.num_edges = writer.num_edges();
  return writer.Close();
}

}  // namespace

absl::StatusOr<std::unique_ptr<CscBuilder>> CscBuilder::Create(
    const fs::path& folder, const CscBuilderOptions& options) {
  if (options.with_weights) {
    auto builder =
        std::make_unique<SpillingCscBuilder<WeightedEdge>>(folder, options);
    FGNN_RETURN_IF_ERROR(builder->Start());
    return builder;
  }
  auto builder =
      std::make_unique<SpillingCscBuilder<PlainEdge>>(folder, options);
  FGNN_RETURN_IF_ERROR(builder->Start());
  return builder;
}

}  // namespace fgnn
