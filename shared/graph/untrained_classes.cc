#include "shared/graph/untrained_classes.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr size_t kMostNamed = 10;

bool HasSets(const Dataset& dataset) {
  return dataset.num_targets() > 0 &&
         dataset.targets().type == TargetType::kBits;
}

uint32_t NumClasses(const Dataset& dataset) {
  return HasSets(dataset) ? dataset.num_targets() : dataset.num_classes();
}

// Calls visit(c) for each class of the vertex that a split has at `place`: its
// label, or those of its set.
template <typename Visit>
absl::Status ForEachClass(const Dataset& dataset,
                          absl::Span<const int64_t> split, size_t place,
                          const Visit& visit) {
  FGNN_ASSIGN_OR_RETURN(
      const GlobalId v,
      ReadSplit(dataset.graph().places, split, place, dataset.num_nodes()));
  if (!HasSets(dataset)) {
    FGNN_ASSIGN_OR_RETURN(const uint32_t label,
                          ReadLabelOf(dataset.graph().places, dataset.labels(),
                                      v, dataset.num_classes()));
    visit(label);
    return absl::OkStatus();
  }
  const TargetView& sets = dataset.targets();
  const std::byte* const row = sets.data + v * sets.row_bytes();
  for (uint32_t c = 0; c < sets.columns; ++c) {
    if (row[c] == std::byte{1}) visit(c);
  }
  return absl::OkStatus();
}

// Counts the vertices that have one of the classes, which ascend.
absl::StatusOr<uint64_t> CountOf(absl::Span<const int64_t> split,
                                 const Dataset& dataset,
                                 const std::vector<uint32_t>& classes) {
  uint64_t count = 0;
  for (size_t i = 0; i < split.size(); ++i) {
    bool found = false;
    FGNN_RETURN_IF_ERROR(ForEachClass(dataset, split, i, [&](uint32_t c) {
      found = found || std::binary_search(classes.begin(), classes.end(), c);
    }));
    count += found ? 1 : 0;
  }
  return count;
}

}  // namespace

absl::StatusOr<std::vector<uint32_t>> FindUntrainedClasses(
    const Dataset& dataset) {
  const uint32_t num_classes = NumClasses(dataset);
  const absl::Span<const int64_t> train = dataset.train();
  std::vector<uint32_t> classes;
  if (train.empty()) return classes;
  std::vector<bool> trained(num_classes);
  uint32_t left = num_classes;
  for (size_t i = 0; i < train.size(); ++i) {
    if (left == 0) return classes;
    FGNN_RETURN_IF_ERROR(ForEachClass(dataset, train, i, [&](uint32_t c) {
      if (!trained[c]) --left;
      trained[c] = true;
    }));
  }
  for (uint32_t c = 0; c < num_classes; ++c) {
    if (!trained[c]) classes.push_back(c);
  }
  return classes;
}

absl::StatusOr<std::optional<std::string>> UntrainedClassesWarning(
    const Dataset& dataset) {
  FGNN_ASSIGN_OR_RETURN(const std::vector<uint32_t> classes,
                        FindUntrainedClasses(dataset));
  if (classes.empty()) return std::nullopt;
  const size_t named = std::min(classes.size(), kMostNamed);
  FGNN_ASSIGN_OR_RETURN(const uint64_t num_valid,
                        CountOf(dataset.valid(), dataset, classes));
  FGNN_ASSIGN_OR_RETURN(const uint64_t num_test,
                        CountOf(dataset.test(), dataset, classes));
  return absl::StrCat(
      (dataset.folder() / "train.npy").string(), " has no vertex of ",
      classes.size(), " of ", NumClasses(dataset), " classes (",
      absl::StrJoin(classes.begin(), classes.begin() + named, ", "),
      named < classes.size() ? ", …" : "",
      "): the model cannot learn them, and valid.npy and test.npy have ",
      num_valid + num_test,
      " vertices of them; split the vertices anew if it should");
}

}  // namespace fgnn
