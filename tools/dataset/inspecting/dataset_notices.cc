#include "tools/dataset/inspecting/dataset_notices.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/read_once.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/graph/dataset_files.h"
#include "shared/graph/edge_lists.h"
#include "shared/graph/metadata.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostNamed = 10;

// Numbers of which a line names the first few.
class NamedFew {
 public:
  void Add(int64_t number) {
    if (count_++ < kMostNamed) first_.push_back(number);
  }
  uint64_t count() const { return count_; }
  std::string text() const {
    return absl::StrCat("(", absl::StrJoin(first_, ", "),
                        count_ > first_.size() ? ", …)" : ")");
  }

 private:
  uint64_t count_ = 0;
  std::vector<int64_t> first_;
};

// Ids and labels of a file that changes meanwhile may be no vertices or
// classes: no notice is about them.
class OverlapFinder {
 public:
  explicit OverlapFinder(uint64_t num_nodes) : is_in_(num_nodes) {}

  void Mark(absl::Span<const int64_t> split, bool value) {
    for (const int64_t& of_split : split) {
      const auto v = static_cast<uint64_t>(ReadOnce(of_split));
      if (v < is_in_.size()) is_in_[v] = value;
    }
  }
  // Adds a line if vertices of `split` are marked.
  void Compare(std::string_view marked, std::string_view name,
               absl::Span<const int64_t> split,
               std::vector<std::string>* notices) const {
    NamedFew shared;
    for (const int64_t& of_split : split) {
      const int64_t v = ReadOnce(of_split);
      if (static_cast<uint64_t>(v) < is_in_.size() &&
          is_in_[static_cast<size_t>(v)]) {
        shared.Add(v);
      }
    }
    if (shared.count() == 0) return;
    notices->push_back(absl::StrCat(
        std::string(marked), " and ", std::string(name), " share ",
        FormatCount(shared.count()),
        shared.count() == 1 ? " vertex " : " vertices ", shared.text(),
        ": scores look better than they are; split the vertices anew if they "
        "should not"));
  }

 private:
  std::vector<bool> is_in_;
};

void NoteOverlaps(const LabelledVertices& vertices,
                  std::vector<std::string>* notices) {
  OverlapFinder finder(vertices.num_nodes);
  finder.Mark(vertices.train, true);
  finder.Compare("train.npy", "valid.npy", vertices.valid, notices);
  finder.Compare("train.npy", "test.npy", vertices.test, notices);
  finder.Mark(vertices.train, false);
  finder.Mark(vertices.valid, true);
  finder.Compare("valid.npy", "test.npy", vertices.test, notices);
}

void NoteEmptyClasses(const LabelledVertices& vertices,
                      std::vector<std::string>* notices) {
  if (vertices.labels.empty()) return;
  std::vector<bool> is_there(vertices.num_classes);
  for (const int64_t& of_vertex : vertices.labels) {
    const auto label = static_cast<uint64_t>(ReadOnce(of_vertex));
    if (label < is_there.size()) is_there[label] = true;
  }
  NamedFew empty;
  for (uint32_t c = 0; c < vertices.num_classes; ++c) {
    if (!is_there[c]) empty.Add(c);
  }
  if (empty.count() == 0) return;
  notices->push_back(absl::StrCat(
      "labels.npy has no vertex of ", empty.count(), " of ",
      vertices.num_classes, " classes ", empty.text(),
      ": a model has outputs for them that mean nothing; number the classes "
      "anew if it should not"));
}

// Notes the first vertex all of whose in-edges weigh 0: samplers that draw by
// weight refuse it.
absl::Status NoteZeroWeights(const Dataset& dataset,
                             std::vector<std::string>* notices) {
  const absl::Span<const float> weights = dataset.edge_weights();
  if (weights.empty()) return absl::OkStatus();
  for (uint64_t v = 0; v < dataset.num_nodes(); ++v) {
    FGNN_ASSIGN_OR_RETURN(const EdgeList list,
                          ReadEdgeList(dataset.graph(), v));
    const absl::Span<const float> of_v =
        weights.subspan(list.begin, list.degree);
    if (of_v.empty() || std::any_of(of_v.begin(), of_v.end(),
                                    [](float weight) { return weight > 0; })) {
      continue;
    }
    notices->push_back(absl::StrCat(
        "all ", list.degree, " edges into vertex ", v,
        " have weight 0 in edge_weights.npy: jobs with sampling.kind "
        "khop_weighted are refused; give at least one a positive one"));
    break;
  }
  return absl::OkStatus();
}

bool IsArrayOfDatasets(const std::string& file) {
  return std::find(kDatasetFiles.begin(), kDatasetFiles.end(), file) !=
         kDatasetFiles.end();
}

void NoteUnreadArrays(const fs::path& folder,
                      std::vector<std::string>* notices) {
  std::vector<std::string> unread;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    if (entry.path().extension() == ".npy" && !IsArrayOfDatasets(file)) {
      unread.push_back(file);
    }
  }
  if (unread.empty()) return;
  std::sort(unread.begin(), unread.end());
  notices->push_back(absl::StrCat("nothing here reads ",
                                  absl::StrJoin(unread, ", "),
                                  "; shared/graph/README.md names the files "
                                  "that a dataset has"));
}

}  // namespace

std::vector<std::string> LabelNotices(const LabelledVertices& vertices) {
  std::vector<std::string> notices;
  NoteOverlaps(vertices, &notices);
  NoteEmptyClasses(vertices, &notices);
  return notices;
}

absl::StatusOr<std::vector<std::string>> DatasetNotices(
    const Dataset& dataset) {
  FGNN_ASSIGN_OR_RETURN(const DatasetMetadata metadata,
                        ReadMetadata(dataset.folder()));
  std::vector<std::string> notices = LabelNotices(
      {dataset.num_nodes(), dataset.num_classes(), dataset.labels(),
       dataset.train(), dataset.valid(), dataset.test()});
  FGNN_RETURN_IF_ERROR(NoteZeroWeights(dataset, &notices));
  if (!metadata.left_out.empty()) {
    notices.push_back(absl::StrCat("its import left out ",
                                   absl::StrJoin(metadata.left_out, ", ")));
  }
  NoteUnreadArrays(dataset.folder(), &notices);
  return notices;
}

}  // namespace fgnn
