#include "shared/graph/untrained_classes.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"

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

// Calls visit(c) for each class of a vertex: its label, or those of its set.
template <typename Visit>
void ForEachClass(const Dataset& dataset, int64_t vertex, const Visit& visit) {
  const auto v = static_cast<size_t>(vertex);
  if (!HasSets(dataset)) {
    visit(static_cast<uint32_t>(dataset.labels()[v]));
    return;
  }
  const TargetView& sets = dataset.targets();
  const std::byte* const row = sets.data + v * sets.row_bytes();
  for (uint32_t c = 0; c < sets.columns; ++c) {
    if (row[c] == std::byte{1}) visit(c);
  }
}

// Counts the vertices that have one of the classes, which ascend.
uint64_t CountOf(absl::Span<const int64_t> vertices, const Dataset& dataset,
                 const std::vector<uint32_t>& classes) {
  return static_cast<uint64_t>(
      std::count_if(vertices.begin(), vertices.end(), [&](int64_t vertex) {
        bool found = false;
        ForEachClass(dataset, vertex, [&](uint32_t c) {
          found =
              found || std::binary_search(classes.begin(), classes.end(), c);
        });
        return found;
      }));
}

}  // namespace

std::vector<uint32_t> FindUntrainedClasses(const Dataset& dataset) {
  const uint32_t num_classes = NumClasses(dataset);
  if (dataset.train().empty()) return {};
  std::vector<bool> trained(num_classes);
  uint32_t left = num_classes;
  for (const int64_t vertex : dataset.train()) {
    if (left == 0) return {};
    ForEachClass(dataset, vertex, [&](uint32_t c) {
      if (!trained[c]) --left;
      trained[c] = true;
    });
  }
  std::vector<uint32_t> classes;
  for (uint32_t c = 0; c < num_classes; ++c) {
    if (!trained[c]) classes.push_back(c);
  }
  return classes;
}

std::optional<std::string> UntrainedClassesWarning(const Dataset& dataset) {
  const std::vector<uint32_t> classes = FindUntrainedClasses(dataset);
  if (classes.empty()) return std::nullopt;
  const size_t named = std::min(classes.size(), kMostNamed);
  const uint64_t scored = CountOf(dataset.valid(), dataset, classes) +
                          CountOf(dataset.test(), dataset, classes);
  return absl::StrCat(
      (dataset.folder() / "train.npy").string(), " has no vertex of ",
      classes.size(), " of ", NumClasses(dataset), " classes (",
      absl::StrJoin(classes.begin(), classes.begin() + named, ", "),
      named < classes.size() ? ", …" : "",
      "): the model cannot learn them, and valid.npy and test.npy have ",
      scored, " vertices of them; split the vertices anew if it should");
}

}  // namespace fgnn
