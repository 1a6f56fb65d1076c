#include "shared/graph/untrained_classes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"

namespace fgnn {
namespace {

constexpr size_t kMostNamed = 10;

uint64_t CountOf(absl::Span<const int64_t> vertices,
                 absl::Span<const int64_t> labels,
                 const std::vector<uint32_t>& classes) {
  return static_cast<uint64_t>(
      std::count_if(vertices.begin(), vertices.end(), [&](int64_t vertex) {
        return std::binary_search(classes.begin(), classes.end(),
                                  labels[static_cast<size_t>(vertex)]);
      }));
}

}  // namespace

std::vector<uint32_t> FindUntrainedClasses(const Dataset& dataset) {
  const absl::Span<const int64_t> labels = dataset.labels();
  if (dataset.train().empty()) return {};
  std::vector<bool> trained(dataset.num_classes());
  uint32_t left = dataset.num_classes();
  for (const int64_t vertex : dataset.train()) {
    if (left == 0) return {};
    const auto label = static_cast<size_t>(labels[static_cast<size_t>(vertex)]);
    if (!trained[label]) --left;
    trained[label] = true;
  }
  std::vector<uint32_t> classes;
  for (uint32_t label = 0; label < dataset.num_classes(); ++label) {
    if (!trained[label]) classes.push_back(label);
  }
  return classes;
}

std::optional<std::string> UntrainedClassesWarning(const Dataset& dataset) {
  const std::vector<uint32_t> classes = FindUntrainedClasses(dataset);
  if (classes.empty()) return std::nullopt;
  const size_t named = std::min(classes.size(), kMostNamed);
  const uint64_t scored = CountOf(dataset.valid(), dataset.labels(), classes) +
                          CountOf(dataset.test(), dataset.labels(), classes);
  return absl::StrCat(
      (dataset.folder() / "train.npy").string(), " has no vertex of ",
      classes.size(), " of ", dataset.num_classes(), " classes (",
      absl::StrJoin(classes.begin(), classes.begin() + named, ", "),
      named < classes.size() ? ", …" : "",
      "): the model cannot learn them, and valid.npy and test.npy have ",
      scored, " vertices of them; split the vertices anew if it should");
}

}  // namespace fgnn
