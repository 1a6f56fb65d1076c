#include "tools/dataset/importing/import_arrays.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "tools/dataset/building/table_size.h"
#include "tools/dataset/reading/missing_words.h"

namespace fgnn {
namespace {

absl::Status BadWeight(const CompressedReader& reader, float weight,
                       const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": an entry of row ", reader.row(), " is ", weight,
                   "; weights are finite and not negative"));
}

absl::Status CheckVertices(absl::Span<const int64_t> ids,
                           const ArrayStream& array, uint64_t first_edge,
                           uint64_t num_nodes) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || static_cast<uint64_t>(ids[i]) >= num_nodes) {
      return absl::InvalidArgumentError(absl::StrCat(
          array.what(), ": an end of edge ", first_edge + i, " is ", ids[i],
          "; vertices are numbered from 0 to ", num_nodes - 1));
    }
  }
  return absl::OkStatus();
}

// Reads an edge index in chunks. In [2, E] the two streams run half an array
// apart; in [E, 2] one stream has both ends.
class EdgeIndexReader {
 public:
  static absl::StatusOr<EdgeIndexReader> Create(ArrayStream sources,
                                                ArrayStream destinations) {
    const absl::Span<const uint64_t> shape = sources.shape();
    if (shape.size() != 2 || (shape[0] != 2 && shape[1] != 2)) {
      return absl::InvalidArgumentError(absl::StrCat(
          sources.what(), ": is not an array [2, edges] of vertex numbers"));
    }
    const bool by_rows = shape[0] == 2;
    const uint64_t num_edges = by_rows ? shape[1] : shape[0];
    if (by_rows) FGNN_RETURN_IF_ERROR(destinations.Skip(num_edges));
    return EdgeIndexReader(std::move(sources), std::move(destinations), by_rows,
                           num_edges);
  }

  // Returns false after the last edges.
  absl::StatusOr<bool> Next() {
    const uint64_t left = num_edges_ - done_;
    if (left == 0) return false;
    from_.resize(std::min<uint64_t>(left, kChunkElements));
    to_.resize(from_.size());
    done_ += from_.size();
    if (by_rows_) {
      FGNN_RETURN_IF_ERROR(sources_.Read(absl::MakeSpan(from_)));
      FGNN_RETURN_IF_ERROR(destinations_.Read(absl::MakeSpan(to_)));
      return true;
    }
    both_.resize(from_.size() * 2);
    FGNN_RETURN_IF_ERROR(sources_.Read(absl::MakeSpan(both_)));
    for (size_t i = 0; i < from_.size(); ++i) {
      from_[i] = both_[2 * i];
      to_[i] = both_[2 * i + 1];
    }
    return true;
  }

  uint64_t num_edges() const { return num_edges_; }
  const ArrayStream& array() const { return sources_; }
  absl::Span<const int64_t> sources() const { return from_; }
  absl::Span<const int64_t> destinations() const { return to_; }

 private:
  EdgeIndexReader(ArrayStream sources, ArrayStream destinations, bool by_rows,
                  uint64_t num_edges)
      : sources_(std::move(sources)),
        destinations_(std::move(destinations)),
        by_rows_(by_rows),
        num_edges_(num_edges) {}

  ArrayStream sources_;
  ArrayStream destinations_;
  bool by_rows_;
  uint64_t num_edges_;
  uint64_t done_ = 0;
  std::vector<int64_t> from_, to_, both_;
};

absl::Status CheckSparseShape(const CompressedArrays& arrays,
                              const std::array<uint64_t, 2>& shape,
                              const std::string& shape_what) {
  const std::string says =
      absl::StrCat(shape_what, ": says [", shape[0], ", ", shape[1], "], but ");
  if (arrays.indptr.rows() != shape[0] + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(says, arrays.indptr.what(), " has ",
                     std::max<uint64_t>(arrays.indptr.rows(), 1) - 1,
                     " rows; they must be of one matrix"));
  }
  const uint64_t num_entries = arrays.indices.num_elements();
  if (!IsMostlyGaps(shape[0], shape[1], num_entries)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      says, arrays.indices.what(), " has ", num_entries,
      " entries: the rows would hold next to nothing but zeros; correct the "
      "shape, or leave out columns"));
}

bool IsList(const ArrayStream& array) {
  return array.shape().size() == 1 ||
         (array.shape().size() == 2 && array.shape()[1] == 1);
}

absl::Status NotAList(const ArrayStream& array, const std::string& of_what) {
  return absl::InvalidArgumentError(absl::StrCat(
      array.what(), ": has ", array.shape().size(), " dimensions and ",
      array.columns(), " columns where a list of ", of_what,
      " is expected; save one column"));
}

}  // namespace

absl::Status ImportCompressedEdges(CompressedArrays arrays,
                                   bool rows_are_sources,
                                   ImportTarget& target) {
  const uint64_t num_nodes = std::max<uint64_t>(arrays.indptr.rows(), 1) - 1;
  const uint64_t num_edges = arrays.indices.num_elements();
  const std::string weights_what =
      arrays.values.has_value() ? arrays.values->what() : "";
  const std::string indptr_name = SourceName(arrays.indptr.what());
  const std::string indices_name = SourceName(arrays.indices.what());
  FGNN_RETURN_IF_ERROR(target.BeginEdges(arrays.values.has_value(),
                                         num_edges * sizeof(uint64_t)));
  FGNN_ASSIGN_OR_RETURN(CompressedReader reader,
                        CompressedReader::Create(std::move(arrays), num_nodes));
  target.VouchForNodes(num_nodes);
  MissingCount missing;
  for (;;) {
    FGNN_ASSIGN_OR_RETURN(const bool more_rows, reader.NextRow());
    if (!more_rows) break;
    const auto row = static_cast<GlobalId>(reader.row());
    for (;;) {
      FGNN_ASSIGN_OR_RETURN(const bool more, reader.NextPiece());
      if (!more) break;
      for (size_t i = 0; i < reader.columns().size(); ++i) {
        const auto column = static_cast<GlobalId>(reader.columns()[i]);
        const float weight = reader.values()[i];
        if (std::isnan(weight)) {
          missing.Add("nan", [&] { return absl::StrCat("row ", row); });
        } else if (!(weight >= 0) || std::isinf(weight)) {
          return BadWeight(reader, weight, weights_what);
        }
        FGNN_RETURN_IF_ERROR(rows_are_sources
                                 ? target.AddEdge(row, column, weight)
                                 : target.AddEdge(column, row, weight));
      }
      target.Progress("reading edges", target.num_edges_added(), num_edges);
    }
  }
  target.account().tables.push_back({.source = indptr_name,
                                     .unit = "rows",
                                     .read = reader.num_rows(),
                                     .product = "vertices",
                                     .made = num_nodes});
  target.AccountForEdges(
      {.source = indices_name, .unit = "entries", .read = num_edges});
  if (weights_what.empty()) return absl::OkStatus();
  return target.AccountForWeights(weights_what,
                                  {.source = SourceName(weights_what),
                                   .names = "values",
                                   .use = "weight",
                                   .missing = missing.count(),
                                   .words = missing.Words(),
                                   .first_missing = missing.first()});
}

absl::StatusOr<uint64_t> ImportEdgeIndex(ArrayStream sources,
                                         ArrayStream destinations,
                                         uint64_t num_nodes,
                                         ImportTarget& target) {
  FGNN_ASSIGN_OR_RETURN(
      EdgeIndexReader reader,
      EdgeIndexReader::Create(std::move(sources), std::move(destinations)));
  FGNN_RETURN_IF_ERROR(target.BeginEdges(
      /*with_weights=*/false, reader.num_edges() * 2 * sizeof(GlobalId)));
  const uint64_t bound = num_nodes == 0 ? kMaxNodes : num_nodes;
  int64_t highest = -1;
  for (;;) {
    const uint64_t first_edge = target.num_edges_added();
    FGNN_ASSIGN_OR_RETURN(const bool more, reader.Next());
    if (!more) {
      target.AccountForEdges({.source = SourceName(reader.array().what()),
                              .unit = "pairs",
                              .read = reader.num_edges()});
      return static_cast<uint64_t>(highest + 1);
    }
    for (const auto& ids : {reader.sources(), reader.destinations()}) {
      FGNN_RETURN_IF_ERROR(
          CheckVertices(ids, reader.array(), first_edge, bound));
      highest = std::max(highest, *std::max_element(ids.begin(), ids.end()));
    }
    for (size_t i = 0; i < reader.sources().size(); ++i) {
      FGNN_RETURN_IF_ERROR(
          target.AddEdge(static_cast<GlobalId>(reader.sources()[i]),
                         static_cast<GlobalId>(reader.destinations()[i])));
    }
    target.Progress("reading edges", first_edge, reader.num_edges());
  }
}

absl::Status ImportDenseFeatures(ArrayStream features, ImportTarget& target) {
  if (features.shape().empty() || features.shape().size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(features.what(), ": has ", features.shape().size(),
                     " dimensions; features are [vertices, columns]"));
  }
  // Without elements, no byte proves the number of columns.
  if (features.num_elements() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        features.what(), ": is empty, of ", features.rows(), " rows and ",
        features.columns(), " columns; leave features out, or save them"));
  }
  FGNN_RETURN_IF_ERROR(
      target.features().Begin(features.columns(), features.what()));
  std::vector<float> row(features.columns());
  for (uint64_t v = 0; v < features.rows(); ++v) {
    FGNN_RETURN_IF_ERROR(features.Read(absl::MakeSpan(row)));
    if (absl::Status status = target.features().Append(row); !status.ok()) {
      return Annotate(status, features.what());
    }
    target.Progress("reading features", v, features.rows());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::array<uint64_t, 2>> ReadMatrixShape(ArrayStream shape) {
  if (shape.num_elements() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(shape.what(), ": is not [rows, columns]"));
  }
  std::array<int64_t, 2> sizes{};
  FGNN_RETURN_IF_ERROR(shape.Read(absl::MakeSpan(sizes)));
  if (sizes[0] < 1 || sizes[1] < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(shape.what(), ": says [", sizes[0], ", ", sizes[1], "]"));
  }
  return std::array<uint64_t, 2>{static_cast<uint64_t>(sizes[0]),
                                 static_cast<uint64_t>(sizes[1])};
}

absl::Status ImportSparseFeatures(CompressedArrays arrays, ArrayStream shape,
                                  ImportTarget& target) {
  const std::string what =
      arrays.values.has_value() ? arrays.values->what() : arrays.indices.what();
  const std::string shape_what = shape.what();
  FGNN_ASSIGN_OR_RETURN(const auto sizes, ReadMatrixShape(std::move(shape)));
  FGNN_RETURN_IF_ERROR(CheckSparseShape(arrays, sizes, shape_what));
  const uint64_t num_columns = sizes[1];
  FGNN_RETURN_IF_ERROR(target.features().Begin(num_columns, what));
  FGNN_ASSIGN_OR_RETURN(
      CompressedReader reader,
      CompressedReader::Create(std::move(arrays), num_columns));
  std::vector<float> row(num_columns);
  for (;;) {
    FGNN_ASSIGN_OR_RETURN(const bool more_rows, reader.NextRow());
    if (!more_rows) return absl::OkStatus();
    std::fill(row.begin(), row.end(), 0.0F);
    for (;;) {
      FGNN_ASSIGN_OR_RETURN(const bool more, reader.NextPiece());
      if (!more) break;
      for (size_t i = 0; i < reader.columns().size(); ++i) {
        row[static_cast<size_t>(reader.columns()[i])] += reader.values()[i];
      }
    }
    if (absl::Status status = target.features().Append(row); !status.ok()) {
      return Annotate(status, what);
    }
    target.Progress("reading features", reader.row(), reader.num_rows());
  }
}

absl::Status ImportLabels(ArrayStream labels, ImportTarget& target) {
  const std::string what = labels.what();
  if (labels.shape().empty() || labels.shape().size() > 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": has ", labels.shape().size(),
        " dimensions; labels are [vertices] or [vertices, columns]"));
  }
  const uint64_t columns = labels.columns();
  if (labels.is_integer() && target.labels().MayBeClasses(columns)) {
    std::vector<int64_t> classes(labels.num_elements());
    FGNN_RETURN_IF_ERROR(labels.Read(absl::MakeSpan(classes)));
    target.labels().SetClasses(std::move(classes), what);
    return absl::OkStatus();
  }
  FGNN_RETURN_IF_ERROR(Annotate(
      target.labels().BeginNumbers(columns, what, !labels.is_integer()), what));
  const uint64_t rows_at_once = std::max<uint64_t>(1, kChunkElements / columns);
  std::vector<float> rows;
  for (uint64_t v = 0; v < labels.rows(); v += rows_at_once) {
    rows.resize(std::min(rows_at_once, labels.rows() - v) * columns);
    FGNN_RETURN_IF_ERROR(labels.Read(absl::MakeSpan(rows)));
    for (size_t at = 0; at < rows.size(); at += columns) {
      FGNN_RETURN_IF_ERROR(Annotate(
          target.labels().AddNumbers({rows.data() + at, columns}), what));
    }
    target.Progress("reading labels", v, labels.rows());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> ReadIds(ArrayStream ids) {
  if (!IsList(ids)) return NotAList(ids, "vertices");
  std::vector<int64_t> values(ids.num_elements());
  FGNN_RETURN_IF_ERROR(ids.Read(absl::MakeSpan(values)));
  return values;
}

}  // namespace fgnn
