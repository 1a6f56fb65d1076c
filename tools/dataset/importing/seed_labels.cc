#include "tools/dataset/importing/seed_labels.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "tools/dataset/building/table_size.h"

namespace fgnn {

absl::Status SeedLabels::CheckShape(const ArrayStream& labels,
                                    const std::filesystem::path& seeds_file,
                                    size_t num_seeds) const {
  if (labels.shape().empty() || labels.shape().size() > 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        labels.what(), ": has ", labels.shape().size(),
        " dimensions; labels are [vertices] or [vertices, columns]"));
  }
  if (labels.rows() != num_seeds) {
    return absl::InvalidArgumentError(
        absl::StrCat(labels.what(), ": ", labels.rows(), " labels for the ",
                     num_seeds, " seeds of ", seeds_file.string()));
  }
  if (columns_ != 0 && labels.columns() != columns_) {
    return absl::InvalidArgumentError(
        absl::StrCat(labels.what(), ": ", labels.columns(),
                     " columns of labels, but another set has ", columns_,
                     "; save the same columns for each set"));
  }
  return absl::OkStatus();
}

absl::Status SeedLabels::Add(const std::filesystem::path& labels_file,
                             const std::filesystem::path& seeds_file,
                             absl::Span<const int64_t> seeds) {
  FGNN_ASSIGN_OR_RETURN(ArrayStream labels, ArrayStream::OpenFile(labels_file));
  FGNN_RETURN_IF_ERROR(CheckShape(labels, seeds_file, seeds.size()));
  columns_ = labels.columns();
  as_floats_ = as_floats_ || !labels.is_integer();
  row_of_.resize(num_nodes_, -1);
  auto row =
      static_cast<int64_t>(columns_ == 0 ? 0 : values_.size() / columns_);
  for (size_t i = 0; i < seeds.size(); ++i) {
    if (seeds[i] < 0 || static_cast<uint64_t>(seeds[i]) >= num_nodes_) {
      return absl::InvalidArgumentError(
          absl::StrCat(seeds_file.string(), ": element ", i, " is ", seeds[i],
                       "; vertices are numbered from 0 to ", num_nodes_ - 1));
    }
    row_of_[static_cast<size_t>(seeds[i])] = row++;
  }
  const size_t begin = values_.size();
  values_.resize(begin + labels.num_elements());
  return labels.Read(absl::MakeSpan(values_).subspan(begin));
}

absl::Status SeedLabels::CheckSize(const std::string& what) const {
  if (!IsMostlyGaps(num_nodes_, columns_, values_.size())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      what, ": ", columns_, " labels for each of ", num_nodes_,
      " vertices, but only ", values_.size(),
      " are there; correct the number of vertices, or save fewer columns"));
}

absl::Status SeedLabels::HandOver(const std::string& what) {
  if (row_of_.empty()) return absl::OkStatus();
  FGNN_RETURN_IF_ERROR(
      Annotate(store_.BeginNumbers(columns_, what, as_floats_), what));
  FGNN_RETURN_IF_ERROR(CheckSize(what));
  const std::vector<float> none(columns_,
                                std::numeric_limits<float>::quiet_NaN());
  for (const int64_t row : row_of_) {
    const float* const values =
        row < 0 ? none.data()
                : values_.data() + static_cast<size_t>(row) * columns_;
    FGNN_RETURN_IF_ERROR(Annotate(store_.AddNumbers({values, columns_}), what));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
