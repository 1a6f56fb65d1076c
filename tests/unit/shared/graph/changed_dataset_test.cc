// Files that change while they are mapped: whatever is read of them is checked
// where it is used.
#include <fstream>

#include "shared/graph/edge_lists.h"
#include "shared/graph/leaked_edges.h"
#include "shared/graph/untrained_classes.h"
#include "tests/unit/shared/graph/dataset_folder.h"

namespace fgnn {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

class ChangedDatasetTest : public DatasetTest {
 protected:
  // Opens the whole folder, as a job does that validates it.
  Dataset Open() {
    Write();
    WriteArray(folder() / "valid_edges.npy", NpyType::kU32,
               std::vector<uint32_t>{1, 0, 3, 2}, {2});
    absl::StatusOr<Dataset> dataset =
        Dataset::Open(folder(), Validation::kEverything);
    EXPECT_THAT(dataset, IsOk());
    return *std::move(dataset);
  }

  // Writes into a file that may be mapped, and leaves its length.
  template <typename T>
  void Put(const char* file, uint64_t num_elements, uint64_t place,
           T value) const {
    const auto bytes = std::filesystem::file_size(folder() / file);
    std::fstream stream(folder() / file,
                        std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(bytes - (num_elements - place) *
                                                         sizeof(T)));
    stream.write(reinterpret_cast<const char*>(&value), sizeof(T));
  }

  // The error that names an element.
  auto Names(const std::string& element) const {
    return InvalidArgument((folder() / element).string(),
                           "the dataset changed while it was used, or is "
                           "damaged");
  }
};

TEST_F(ChangedDatasetTest, AnOffsetIsCheckedWhereItIsUsed) {
  const Dataset dataset = Open();
  const CscView& graph = dataset.graph();
  EXPECT_EQ(ReadEdgeList(graph, 3)->degree, 3U);
  for (const int64_t offset : {int64_t{-1}, kLowest, int64_t{7}, kLargest}) {
    Put("csc_indptr.npy", 5, 4, offset);
    EXPECT_THAT(ReadEdgeList(graph, 3), Names("csc_indptr.npy: element 4"));
    EXPECT_EQ(graph.num_edges(), 6U);
    EXPECT_LE(DegreeOf(graph, 3), 6U);
    EXPECT_LE(MaxInDegree(graph), 6U);
    Put("csc_indptr.npy", 5, 3, offset);
    EXPECT_THAT(ReadEdgeList(graph, 3), Names("csc_indptr.npy: element 3"));
    EXPECT_THAT(FindChangedList(graph), Names("csc_indptr.npy: element 3"));
    Put("csc_indptr.npy", 5, 3, int64_t{3});
  }
  Put("csc_indptr.npy", 5, 4, int64_t{2});
  EXPECT_THAT(ReadEdgeList(graph, 3), Names("csc_indptr.npy: element 4"));
}

TEST_F(ChangedDatasetTest, AnIndexIsCheckedWhereItIsUsed) {
  const Dataset dataset = Open();
  const CscView& graph = dataset.graph();
  for (const uint32_t index : {4U, 0xffffffU, 0xfffffff0U, 0xffffffffU}) {
    Put("indices.npy", 6, 4, index);
    std::vector<GlobalId> seen;
    EXPECT_THAT(ForEachSource(graph, *ReadEdgeList(graph, 3),
                              [&](GlobalId u) { seen.push_back(u); }),
                Names("indices.npy: element 4"));
    EXPECT_THAT(seen, testing::ElementsAre(0));
    EXPECT_THAT(CheckLargestIndex(graph, index),
                Names("indices.npy: element 4"));
    EXPECT_THAT(dataset.train_edges().Read(4, 4),
                Names("indices.npy: element 4"));
  }
  // It was seen, and is gone.
  Put("indices.npy", 6, 4, 1U);
  EXPECT_THAT(CheckLargestIndex(graph, 9),
              InvalidArgument("indices.npy had an element of 9"));
}

TEST_F(ChangedDatasetTest, AVertexOfASplitIsChecked) {
  const Dataset dataset = Open();
  for (const int64_t v : {int64_t{4}, int64_t{-1}, kLowest, kLargest}) {
    Put("train.npy", 2, 1, v);
    EXPECT_THAT(ReadSplit(dataset.graph().places, dataset.train(), 1, 4),
                Names("train.npy: element 1"));
    EXPECT_THAT(FindUntrainedClasses(dataset), Names("train.npy: element 1"));
  }
  Put("train.npy", 2, 1, int64_t{0});
  Put("valid.npy", 1, 0, kLargest);
  // Class 2 is not trained, so that the other splits are read.
  EXPECT_THAT(UntrainedClassesWarning(dataset), Names("valid.npy: element 0"));
}

TEST_F(ChangedDatasetTest, ALabelIsChecked) {
  const Dataset dataset = Open();
  for (const int64_t label : {int64_t{-1}, int64_t{3}, int64_t{1} << 24,
                              int64_t{1} << 32, kLowest, kLargest}) {
    Put("labels.npy", 4, 3, label);
    EXPECT_THAT(FindUntrainedClasses(dataset), Names("labels.npy: element 3"));
    EXPECT_THAT(ReadLabelOf(dataset.graph().places, dataset.labels(), 3, 3),
                Names("labels.npy: element 3"));
  }
}

TEST_F(ChangedDatasetTest, AnEndOfAnEdgeIsChecked) {
  const Dataset dataset = Open();
  EXPECT_EQ(CountLeakedEdges(dataset)->num_valid, 2U);
  for (const uint64_t place : {2, 3}) {
    Put("valid_edges.npy", 4, place, 0xfffffff0U);
    EXPECT_THAT(CountLeakedEdges(dataset),
                Names("valid_edges.npy: element " + std::to_string(place)));
    Put("valid_edges.npy", 4, place, 2U);
  }
  Put("valid_edges.npy", 4, 2, 3U);
  Put("csc_indptr.npy", 5, 3, kLargest);
  EXPECT_THAT(CountLeakedEdges(dataset), Names("csc_indptr.npy: element 3"));
  // No list has the edge any more.
  EXPECT_THAT(dataset.train_edges().Read(5, 4), IsOk());
  Put("csc_indptr.npy", 5, 0, int64_t{6});
  EXPECT_THAT(dataset.train_edges().Read(0, 4),
              Names("csc_indptr.npy: element"));
}

}  // namespace
}  // namespace fgnn
