// Graphs of more than 2^32 edges, in sparse files.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "shared/base/files/file.h"
#include "shared/base/files/unique_fd.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/sampler_service/sampling/sampler_case.h"

namespace fgnn {
namespace {

constexpr uint64_t kLine = uint64_t{1} << 32;

// Indices that are 0 but where something was written.
class SparseIndices {
 public:
  // False: the file system takes no file of that size.
  bool Create(uint64_t num_edges) {
    num_edges_ = num_edges;
    file_.Reset(::open((folder_ / "indices").c_str(),
                       O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    return file_.valid() &&
           ::ftruncate(file_.get(),
                       static_cast<off_t>(num_edges * sizeof(uint32_t))) == 0;
  }
  void Put(uint64_t edge, uint32_t index) {
    ASSERT_EQ(::pwrite(file_.get(), &index, sizeof(index),
                       static_cast<off_t>(edge * sizeof(index))),
              static_cast<ssize_t>(sizeof(index)));
  }
  absl::Span<const uint32_t> Map() {
    auto mapped = MappedFile::Open(folder_ / "indices");
    EXPECT_THAT(mapped, IsOk());
    if (!mapped.ok()) return {};
    mapping_ = *std::move(mapped);
    return {reinterpret_cast<const uint32_t*>(mapping_.bytes().data()),
            num_edges_};
  }

 private:
  TempFolder folder_;
  UniqueFd file_;
  uint64_t num_edges_ = 0;
  MappedFile mapping_;
};

// The neighbours that batch 0 has for its first hop, by seed.
std::map<uint32_t, std::vector<uint32_t>> Neighbors(
    const CscView& graph, const std::vector<int64_t>& train,
    const SamplerOptions& options) {
  std::map<uint32_t, std::vector<uint32_t>> drawn;
  const auto sampler = NewCpuSampler({graph, train}, options);
  EXPECT_THAT(sampler, IsOk());
  if (!sampler.ok()) return drawn;
  TaskBlock block(uint64_t{1} << 20);  // The bound may be that of the graph.
  EXPECT_THAT((*sampler)->Sample(BatchSeq(0), block.span()), IsOk());
  const auto task = ReadTask(block.span(), options.job_key);
  EXPECT_THAT(task, IsOk());
  if (!task.ok()) return drawn;
  const BlockView& hop = task->hops[0];
  for (uint32_t d = 0; d < hop.num_destinations; ++d) {
    for (uint32_t e = hop.indptr[d]; e < hop.indptr[d + 1]; ++e) {
      drawn[task->input_nodes[d]].push_back(task->input_nodes[hop.indices[e]]);
    }
  }
  return drawn;
}

TEST(HugeGraphTest, SamplesOnBothSidesOfThe32BitLine) {
  constexpr uint32_t kNumNodes = 4000;
  constexpr uint64_t kDegree = 200;
  // Vertex 0 has all edges but the last; those lists begin before the line, lie
  // across it, and begin behind it.
  const EdgeOffset first = static_cast<EdgeOffset>(kLine - 250);
  std::vector<EdgeOffset> indptr = {0, first};
  for (EdgeOffset v = 2; v <= kNumNodes; ++v) {
    indptr.push_back(
        std::min<EdgeOffset>(first + (v - 1) * kDegree, first + 10 * kDegree));
  }
  SparseIndices indices;
  const auto num_edges = static_cast<uint64_t>(indptr.back());
  if (!indices.Create(num_edges)) {
    GTEST_SKIP()
        << "no room for a sparse file of 17 GB in the temporary folder";
  }
  const auto index_of = [&](uint64_t edge) {
    return static_cast<uint32_t>(1 + edge % (kNumNodes - 1));
  };
  for (auto edge = static_cast<uint64_t>(first); edge < num_edges; ++edge) {
    indices.Put(edge, index_of(edge));
  }
  const CscView graph{indptr, indices.Map()};
  const std::vector<int64_t> train = {0, 1, 2, 3, 9};
  for (const SamplingAlgorithm algorithm :
       {SamplingAlgorithm::kUniform, SamplingAlgorithm::kLabor}) {
    for (const int32_t fanout : {10, 64, 70, 200}) {
      SCOPED_TRACE(
          absl::StrCat("algorithm=", NameOf(algorithm), " fanout=", fanout));
      SamplerOptions options = {.fanouts = {fanout}, .batch_size = 5};
      options.algorithm = algorithm;
      const std::vector<int64_t> small_train = {1, 2, 3, 9};
      const bool labor = algorithm == SamplingAlgorithm::kLabor;
      // LABOR looks at every edge of vertex 0: too many for a test.
      const auto drawn = Neighbors(graph, labor ? small_train : train, options);
      const PhiloxKey key =
          MakePhiloxKey(options.seed, 0, 0, 0, Purpose::kNeighbors);
      for (const uint32_t v : {1U, 2U, 3U, 9U}) {
        std::vector<uint32_t> list;
        for (uint64_t i = 0; i < kDegree; ++i) {
          list.push_back(index_of(static_cast<uint64_t>(indptr[v]) + i));
        }
        const auto places =
            labor ? reference::LaborPlaces(key, list, fanout)
                  : reference::UniformPlaces(key, v, kDegree, fanout, false);
        std::vector<uint32_t> expected;
        for (const uint64_t place : places) expected.push_back(list[place]);
        EXPECT_EQ(drawn.count(v) ? drawn.at(v) : std::vector<uint32_t>(),
                  expected)
            << "vertex " << v;
      }
      if (!labor) {
        EXPECT_EQ(drawn.at(0).size(), static_cast<size_t>(fanout));
      }
    }
  }
}

TEST(HugeGraphTest, AHubOfMoreThan2To32EdgesIsDrawnFrom) {
  constexpr uint64_t kDegree = kLine + (uint64_t{1} << 30);
  const std::vector<EdgeOffset> indptr = {0, static_cast<EdgeOffset>(kDegree),
                                          static_cast<EdgeOffset>(kDegree),
                                          static_cast<EdgeOffset>(kDegree)};
  for (const bool replace : {false, true}) {
    for (const int32_t fanout : {10, 100}) {
      SCOPED_TRACE(absl::StrCat("replace=", replace, " fanout=", fanout));
      SparseIndices indices;
      if (!indices.Create(kDegree)) {
        GTEST_SKIP()
            << "no room for a sparse file of 22 GB in the temporary folder";
      }
      SamplerOptions options = {.fanouts = {fanout}, .batch_size = 1};
      options.replace = replace;
      const PhiloxKey key =
          MakePhiloxKey(options.seed, 0, 0, 0, Purpose::kNeighbors);
      const auto places =
          reference::UniformPlaces(key, 0, kDegree, fanout, replace);
      EXPECT_GT(*std::max_element(places.begin(), places.end()), kLine);
      std::vector<uint32_t> expected;
      for (size_t j = 0; j < places.size(); ++j) {
        expected.push_back(1 + static_cast<uint32_t>(j % 2));
        indices.Put(places[j], expected.back());
      }
      const CscView graph{indptr, indices.Map()};
      EXPECT_EQ(Neighbors(graph, {0}, options)[0], expected);
    }
  }
}

}  // namespace
}  // namespace fgnn
