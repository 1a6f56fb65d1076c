#include "sampler_service/split/batch_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/minibatch/task_layout.h"
#include "tests/fakes/rounds.h"
#include "tests/unit/sampler_service/sampling/algorithm_jobs.h"
#include "tests/unit/sampler_service/sampling/sampler_case.h"
#include "tests/unit/sampler_service/split/split_case.h"

namespace fgnn {
namespace {

using reference::CscGraph;
using reference::RandomGraph;

constexpr uint32_t kNumbersOfParts[] = {2, 3, 4, 16};

// The parts of a batch in blocks of their sizes.
struct Split {
  std::vector<Block> blocks;
  std::vector<TaskView> parts;
};

// Splits the batch, the last part first.
Split SplitBy(BatchSplitter* splitter, uint32_t num_parts,
              const TaskView& whole) {
  EXPECT_THAT(splitter->Prepare(whole), IsOk());
  Split split;
  for (uint32_t p = 0; p < num_parts; ++p) {
    split.blocks.emplace_back(splitter->BytesOf(p));
  }
  for (uint32_t p = num_parts; p-- > 0;) {
    EXPECT_THAT(splitter->Write(p, kTestJob, {.sample = 1, .copy = 2},
                                split.blocks[p].span()),
                IsOk());
  }
  for (Block& block : split.blocks) {
    const auto part = ReadTask(block.span(), kTestJob);
    EXPECT_THAT(part, IsOk());
    if (!part.ok()) break;
    EXPECT_EQ(part->seconds.copy, 2);
    split.parts.push_back(*part);
  }
  return split;
}

// Expects the parts that the definition gives, within their bound, and that
// they are the whole batch together.
void ExpectRightParts(const TaskView& whole, uint64_t whole_bytes,
                      const TestBook& book, uint32_t num_parts) {
  SCOPED_TRACE(absl::StrCat("P=", num_parts));
  BatchSplitter splitter(book.get(), num_parts);
  Split split = SplitBy(&splitter, num_parts, whole);
  ASSERT_EQ(split.parts.size(), num_parts);
  const PartsByDefinition definition(whole, book.OwnersOf(whole, num_parts),
                                     num_parts);
  for (uint32_t p = 0; p < num_parts; ++p) {
    SCOPED_TRACE(absl::StrCat("part=", p));
    ExpectShows(split.parts[p], definition.Part(p));
    TaskHeader header;
    std::memcpy(&header, split.blocks[p].data(), sizeof(header));
    EXPECT_EQ(header.total_bytes, split.blocks[p].size());
    EXPECT_LE(header.total_bytes,
              MaxPartBytes(whole_bytes, whole.input_nodes.size(), num_parts,
                           static_cast<uint32_t>(whole.num_hops)));
  }
  const TaskContent together = PartsTogether(split.parts).Recombine();
  ExpectShows(whole, together);
  Block block(together.Bytes());
  FGNN_ASSERT_OK_AND_ASSIGN(const uint32_t digest,
                            WriteTask(together, block.span()));
  EXPECT_EQ(digest, whole.digest);
  EXPECT_EQ(block.size(), whole_bytes);
}

class SplitOfAlgorithmTest : public testing::TestWithParam<Algorithm> {};

// The graphs have hubs, self-loops, multi-edges and isolated vertices.
TEST_P(SplitOfAlgorithmTest, PartsAreThoseOfTheDefinition) {
  for (uint64_t seed = 0; seed < Rounds(40); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    const CscGraph graph =
        RandomGraph(1 + static_cast<uint32_t>(seed * 7 % 120), seed);
    SamplerCase sampling(graph, RandomJobOf(GetParam(), graph, seed));
    const auto sampled = sampling.Sample(BatchSeq(seed % 2));
    ASSERT_THAT(sampled, IsOk());
    const TaskView whole = ViewOfTask(sampling.block());
    // Some owners own nothing where few fine parts are used.
    const TestBook book =
        RandomBook(graph.lists().size(), seed % 3 == 0 ? 5 : kFineParts, seed);
    const uint32_t num_parts = kNumbersOfParts[seed % 4];
    ExpectRightParts(whole, sampled->bytes, book, num_parts);
    if (testing::Test::HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, SplitOfAlgorithmTest,
                         testing::ValuesIn(Algorithms()),
                         [](const auto& test) { return test.param.name; });

constexpr uint32_t kNumNodes = 97;

TaskContent TaskToSplit(uint64_t seed) {
  TaskContent task = RandomTask(seed);
  task.pairs.clear();
  task.num_positives = 0;
  for (uint32_t& node : task.input_nodes) node %= kNumNodes;
  return task;
}

TEST(BatchSplitterTest, TasksOfEveryShapeAreSplit) {
  uint64_t without_seeds = 0, without_vertices = 0, with_ranks = 0,
           with_weights = 0, of_all_hops = 0;
  for (uint64_t seed = 0; seed < Rounds(120); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    const TaskContent task = TaskToSplit(seed);
    Block block(task.Bytes());
    ASSERT_THAT(WriteTask(task, block.span()), IsOk());
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskView whole,
                              ReadTask(block.span(), kTestJob));
    const TestBook book =
        RandomBook(kNumNodes, seed % 4 == 0 ? 3 : kFineParts, seed);
    const uint32_t num_parts = kNumbersOfParts[seed / 4 % 4];
    ExpectRightParts(whole, block.size(), book, num_parts);
    if (testing::Test::HasFailure()) return;
    std::vector<bool> has_seeds(num_parts), has_vertices(num_parts);
    const std::vector<uint32_t> owners = book.OwnersOf(whole, num_parts);
    for (size_t v = 0; v < owners.size(); ++v) {
      has_vertices[owners[v]] = true;
      if (v < whole.num_seeds) has_seeds[owners[v]] = true;
    }
    without_seeds += std::count(has_seeds.begin(), has_seeds.end(), false) > 0;
    without_vertices +=
        std::count(has_vertices.begin(), has_vertices.end(), false) > 0;
    with_ranks += task.rank_version != 0;
    with_weights += task.with_weights;
    of_all_hops += whole.num_hops == kMaxHops;
  }
  EXPECT_GT(without_seeds, 0U);
  EXPECT_GT(without_vertices, 0U);
  EXPECT_GT(with_ranks, 0U);
  EXPECT_GT(with_weights, 0U);
  EXPECT_GT(of_all_hops, 0U);
}

// One part owns all, so that it has the batch and its canonical ids.
TEST(BatchSplitterTest, ThePartThatOwnsAllIsNearItsBound) {
  constexpr uint32_t kNumSources = 2000;
  TaskContent task;
  task.num_seeds = 1;
  task.hops.resize(1);
  task.hops[0].num_sources = kNumSources;
  task.hops[0].indptr = {0, kNumSources};
  for (uint32_t v = 0; v < kNumSources; ++v) {
    task.hops[0].indices.push_back(v);
    task.input_nodes.push_back(v);
  }
  Block block(task.Bytes());
  FGNN_ASSERT_OK(WriteTask(task, block.span()));
  const TestBook book = RandomBook(kNumSources, 1, 6);
  for (const uint32_t num_parts : kNumbersOfParts) {
    ExpectRightParts(ViewOfTask(block.span()), block.size(), book, num_parts);
    BatchSplitter splitter(book.get(), num_parts);
    FGNN_ASSERT_OK(splitter.Prepare(ViewOfTask(block.span())));
    uint64_t largest = 0;
    for (uint32_t p = 0; p < num_parts; ++p) {
      largest = std::max(largest, splitter.BytesOf(p));
    }
    const uint64_t bound =
        MaxPartBytes(block.size(), kNumSources, num_parts, 1);
    EXPECT_LE(largest, bound);
    EXPECT_GE(largest + 512, bound);
  }
}

TEST(BatchSplitterTest, ASplitterThatWasUsedSplitsLikeANewOne) {
  const TestBook book = RandomBook(kNumNodes, kFineParts, 1);
  BatchSplitter used(book.get(), 4);
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const TaskContent task = TaskToSplit(seed);
    Block block(task.Bytes());
    ASSERT_THAT(WriteTask(task, block.span()), IsOk());
    const TaskView whole = ViewOfTask(block.span());
    BatchSplitter fresh(book.get(), 4);
    const Split expected = SplitBy(&fresh, 4, whole);
    const Split split = SplitBy(&used, 4, whole);
    ASSERT_EQ(split.parts.size(), 4U);
    for (size_t p = 0; p < 4; ++p) {
      EXPECT_EQ(split.parts[p].digest, expected.parts[p].digest);
      EXPECT_EQ(split.blocks[p].size(), expected.blocks[p].size());
    }
  }
}

TEST(BatchSplitterTest, ABlockTooSmallIsRefused) {
  const TestBook book = RandomBook(kNumNodes, kFineParts, 2);
  const TaskContent task = TaskToSplit(7);
  ASSERT_GT(task.input_nodes.size(), 10U);
  Block whole(task.Bytes());
  FGNN_ASSERT_OK(WriteTask(task, whole.span()));
  BatchSplitter splitter(book.get(), 2);
  FGNN_ASSERT_OK(splitter.Prepare(ViewOfTask(whole.span())));
  for (uint64_t bytes = 0; bytes < splitter.BytesOf(1); ++bytes) {
    Block block(bytes);
    ASSERT_THAT(splitter.Write(1, kTestJob, {}, block.span()),
                ResourceExhausted());
  }
  Block block(splitter.BytesOf(1));
  EXPECT_THAT(splitter.Write(1, kTestJob, {}, block.span()), IsOk());
}

TEST(BatchSplitterTest, TasksThatCannotBeSplitAreRefused) {
  const TestBook book = RandomBook(kNumNodes, kFineParts, 3);
  BatchSplitter splitter(book.get(), 2);
  TaskContent task = TaskToSplit(7);
  Block block(task.Bytes());
  FGNN_ASSERT_OK(WriteTask(task, block.span()));
  const TaskView whole = ViewOfTask(block.span());
  FGNN_ASSERT_OK(splitter.Prepare(whole));
  Block part(splitter.BytesOf(0));
  FGNN_ASSERT_OK(splitter.Write(0, kTestJob, {}, part.span()));
  EXPECT_THAT(splitter.Prepare(ViewOfTask(part.span())),
              InvalidArgument("part itself"));
  TaskView with_pairs = whole;
  const std::vector<uint32_t> pairs = {0, 1};
  with_pairs.pairs = pairs;
  EXPECT_THAT(splitter.Prepare(with_pairs), InvalidArgument("pairs"));
  task.input_nodes.back() = kNumNodes;
  FGNN_ASSERT_OK(WriteTask(task, block.span()));
  EXPECT_THAT(splitter.Prepare(ViewOfTask(block.span())),
              DataLoss("input nodes"));
  std::vector<float> weights(whole.hops[0].indices.size() + 1);
  TaskView with_some = whole;
  with_some.hops[0].weights = weights;
  EXPECT_THAT(splitter.Prepare(with_some), InvalidArgument("weights"));
}

TEST(BatchSplitterTest, ADamagedSplitSectionIsRefused) {
  const TestBook book = RandomBook(kNumNodes, kFineParts, 4);
  const TaskContent task = TaskToSplit(7);
  Block whole(task.Bytes());
  FGNN_ASSERT_OK(WriteTask(task, whole.span()));
  BatchSplitter splitter(book.get(), 3);
  Split split = SplitBy(&splitter, 3, ViewOfTask(whole.span()));
  ASSERT_EQ(split.parts.size(), 3U);
  Block& block = split.blocks[2];
  const auto expect_damaged = [&](absl::Span<const uint32_t> array) {
    for (const uint32_t& word : array) {
      const ptrdiff_t at =
          reinterpret_cast<const std::byte*>(&word) - block.data();
      block.data()[at] ^= std::byte{1};
      EXPECT_THAT(ReadTask(block.span(), kTestJob), DataLoss());
      block.data()[at] ^= std::byte{1};
    }
  };
  for (const TaskSplit::Level& level : split.parts[2].split.levels) {
    expect_damaged(level.counts);
    expect_damaged(level.send);
    expect_damaged(level.remote_nodes);
  }
  expect_damaged(split.parts[2].split.canonical);
  EXPECT_THAT(ReadTask(block.span(), kTestJob), IsOk());
}

}  // namespace
}  // namespace fgnn
