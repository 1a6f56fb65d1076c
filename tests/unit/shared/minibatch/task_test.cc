// What the writer writes, the reader reads.
#include "shared/minibatch/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "tests/unit/shared/minibatch/random_task.h"

namespace fgnn {
namespace {

TEST(TaskTest, ReaderSeesWhatWasWritten) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed=", seed));
    const TaskContent task = seed < 300 ? RandomTask(seed) : RandomPart(seed);
    Block block(task.Bytes());
    FGNN_ASSERT_OK_AND_ASSIGN(const uint32_t digest,
                              WriteTask(task, block.span()));
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskView view,
                              ReadTask(block.span(), kTestJob));
    EXPECT_EQ(view.digest, digest);
    EXPECT_EQ(view.seconds.order, 5);
    EXPECT_EQ(view.seconds.copy, 4);
    ExpectShows(view, task);
    ExpectShows(ViewOfTask(block.span()), task);
    if (HasFatalFailure()) return;
  }
}

TEST(TaskTest, ArraysAreAligned) {
  const TaskContent task = RandomPart(3);
  Block block(task.Bytes());
  FGNN_ASSERT_OK(WriteTask(task, block.span()));
  FGNN_ASSERT_OK_AND_ASSIGN(const TaskView view,
                            ReadTask(block.span(), kTestJob));
  for (int h = 0; h < view.num_hops; ++h) {
    for (const void* array :
         {static_cast<const void*>(view.hops[h].indptr.data()),
          static_cast<const void*>(view.hops[h].indices.data()),
          static_cast<const void*>(view.hops[h].weights.data()),
          static_cast<const void*>(view.split.levels[h].counts.data()),
          static_cast<const void*>(view.split.levels[h].send.data()),
          static_cast<const void*>(view.split.canonical.data())}) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(array) % 64, 0U);
    }
  }
}

TEST(TaskTest, ABlockTooSmallByOneByteIsRefused) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const TaskContent task = RandomTask(seed);
    Block block(task.Bytes());
    if (task.input_nodes.empty()) continue;  // The last array takes no byte.
    EXPECT_THAT(WriteTask(task, block.span().subspan(0, block.size() - 1)),
                ResourceExhausted("task needs more than"));
    const TaskContent part = RandomPart(seed);
    if (part.canonical.empty()) continue;
    Block part_block(part.Bytes() - 1);
    EXPECT_THAT(WriteTask(part, part_block.span()),
                ResourceExhausted("task needs more than"));
  }
  Block empty(0);
  EXPECT_THAT(WriteTask(RandomTask(1), empty.span()), ResourceExhausted());
}

// The digest tells what was sampled: not for whom, nor where it is cached.
TEST(TaskTest, DigestCoversTheSampleAndNothingElse) {
  TaskContent task = RandomTask(8);
  task.rank_version = 1;
  task.hot_rank.assign(task.input_nodes.size(), 7);
  Block block(task.Bytes());
  FGNN_ASSERT_OK_AND_ASSIGN(const uint32_t digest,
                            WriteTask(task, block.span()));
  task.hot_rank[0] = 8;
  task.rank_version = 2;
  ++task.seq;
  FGNN_ASSERT_OK_AND_ASSIGN(const uint32_t other_ranks,
                            WriteTask(task, block.span()));
  EXPECT_EQ(other_ranks, digest);
  task.input_nodes.back() ^= 1;
  FGNN_ASSERT_OK_AND_ASSIGN(const uint32_t other_nodes,
                            WriteTask(task, block.span()));
  EXPECT_NE(other_nodes, digest);
  ASSERT_FALSE(task.hops.back().indices.empty());
  task.input_nodes.back() ^= 1;
  task.hops.back().indices.back() ^= 1;
  FGNN_ASSERT_OK_AND_ASSIGN(const uint32_t other_indices,
                            WriteTask(task, block.span()));
  EXPECT_NE(other_indices, digest);
}

// As where a device has the checksums, and its copies into the block went
// wrong.
TEST(TaskTest, ArraysAreReadAgainstChecksumsThatTheWriterWasGiven) {
  Block block(1 << 12);
  TaskWriter writer(block.span(), kTestJob, BatchSeq(3), 1);
  FGNN_ASSERT_OK_AND_ASSIGN(const TaskWriter::HopArrays hop,
                            writer.AddHop(1, 1));
  hop.indptr[0] = 0;
  hop.indptr[1] = 1;
  hop.indices[0] = 1;
  writer.SetNumSources(2);
  FGNN_ASSERT_OK_AND_ASSIGN(uint32_t* const nodes, writer.AddInputNodes(2));
  nodes[0] = 5;
  nodes[1] = 6;
  FGNN_ASSERT_OK_AND_ASSIGN(uint32_t* const ranks, writer.AddHotRanks(1));
  ranks[0] = 7;
  ranks[1] = 8;
  TaskCrcs crcs;
  crcs.digest = writer.Finish({});
  std::memcpy(&crcs.ranks,
              block.span().data() + offsetof(TaskHeader, ranks_crc),
              sizeof(crcs.ranks));
  const auto read_with = [&](const TaskCrcs& given) {
    EXPECT_EQ(writer.Finish({.copy = 9}, given), given.digest);
    return ReadTask(block.span(), kTestJob);
  };
  FGNN_ASSERT_OK_AND_ASSIGN(const TaskView view, read_with(crcs));
  EXPECT_EQ(view.digest, crcs.digest);
  EXPECT_EQ(view.seconds.copy, 9);
  for (uint32_t* const torn : {hop.indices, nodes, ranks}) {
    const uint32_t whole = *torn;
    *torn = 0x5a5a;
    EXPECT_THAT(read_with(crcs), DataLoss());
    *torn = whole;
  }
  EXPECT_THAT(read_with(crcs), IsOk());
}

TEST(TaskTest, ArraysAreAddedInTheirOrder) {
  Block block(1 << 16);
  TaskWriter writer(block.span(), kTestJob, BatchSeq(1), 2);
  EXPECT_THAT(writer.AddInputNodes(2), FailedPrecondition());
  EXPECT_THAT(writer.AddHotRanks(1), FailedPrecondition());
  for (int h = 0; h < kMaxHops; ++h) FGNN_ASSERT_OK(writer.AddHop(2, 3));
  EXPECT_THAT(writer.AddHop(2, 3), FailedPrecondition());
  FGNN_ASSERT_OK(writer.AddInputNodes(2));
  EXPECT_THAT(writer.AddInputNodes(2), FailedPrecondition());
  EXPECT_THAT(writer.AddHotRanks(0), FailedPrecondition());
  FGNN_ASSERT_OK(writer.AddHotRanks(1));
  EXPECT_THAT(writer.AddHotRanks(1), FailedPrecondition());
}

TEST(TaskTest, EdgesNumberBelowTwoToTheThirtyTwo) {
  Block block(1 << 12);
  TaskWriter writer(block.span(), kTestJob, BatchSeq(1), 2);
  // No larger block has room for them.
  EXPECT_THAT(writer.AddHop(2, uint64_t{1} << 32), FailedPrecondition("2^32"));
  EXPECT_THAT(writer.AddHop(2, ~uint64_t{0}), FailedPrecondition());
  EXPECT_THAT(writer.AddHop(~uint32_t{0}, 1), ResourceExhausted());
}

TEST(TaskTest, AnUnalignedBlockIsTheCallersFault) {
  Block block(1 << 12);
  const absl::Span<std::byte> unaligned = block.span().subspan(8);
  EXPECT_THAT(WriteTask(RandomTask(1), unaligned), InvalidArgument());
  EXPECT_THAT(ReadTask(unaligned, kTestJob), InvalidArgument());
}

TEST(TaskTest, InputNodesAreComparedWithTheDataset) {
  TaskContent task = RandomTask(8);
  for (uint32_t& node : task.input_nodes) node %= 100;
  task.input_nodes.back() = 99;
  Block block(task.Bytes());
  FGNN_ASSERT_OK(WriteTask(task, block.span()));
  FGNN_ASSERT_OK_AND_ASSIGN(const TaskView view,
                            ReadTask(block.span(), kTestJob));
  EXPECT_THAT(CheckInputNodes(view, 100), IsOk());
  EXPECT_THAT(CheckInputNodes(view, uint64_t{1} << 32), IsOk());
  EXPECT_THAT(CheckInputNodes(view, 99), DataLoss());
}

TEST(TaskTest, RemoteSourcesAreComparedWithTheDataset) {
  TaskContent task = RandomPart(8);
  ASSERT_GT(task.levels.size(), 1U);
  for (uint32_t& node : task.input_nodes) node %= 90;
  for (LevelContent& level : task.levels) {
    for (uint32_t& node : level.remote_nodes) node %= 90;
  }
  ASSERT_FALSE(task.levels[0].remote_nodes.empty());
  task.levels[0].remote_nodes[0] = 99;
  Block block(task.Bytes());
  FGNN_ASSERT_OK(WriteTask(task, block.span()));
  FGNN_ASSERT_OK_AND_ASSIGN(const TaskView view,
                            ReadTask(block.span(), kTestJob));
  EXPECT_THAT(CheckInputNodes(view, 100), IsOk());
  EXPECT_THAT(CheckInputNodes(view, 99), DataLoss());
}

TEST(TaskTest, DigestCoversPairs) {
  TaskContent task = RandomTask(8);
  task.num_seeds = std::max(task.num_seeds, 2U);
  task.num_positives = 1;
  task.pairs = {0, 1, 0, 0};
  Block block(task.Bytes());
  FGNN_ASSERT_OK_AND_ASSIGN(const uint32_t digest,
                            WriteTask(task, block.span()));
  task.pairs.back() = 1;
  FGNN_ASSERT_OK_AND_ASSIGN(const uint32_t other,
                            WriteTask(task, block.span()));
  EXPECT_NE(other, digest);
}

TEST(TaskTest, PairsComeOnceAndBeforeTheHops) {
  Block block(1 << 12);
  TaskWriter writer(block.span(), kTestJob, BatchSeq(0), /*num_seeds=*/2);
  FGNN_ASSERT_OK(writer.AddPairs(2, 1));
  EXPECT_THAT(writer.AddPairs(2, 1), FailedPrecondition());
  TaskWriter late(block.span(), kTestJob, BatchSeq(0), /*num_seeds=*/2);
  FGNN_ASSERT_OK(late.AddHop(2, 0));
  EXPECT_THAT(late.AddPairs(2, 1), FailedPrecondition());
}

TEST(TaskTest, APartIsMadeInItsOrder) {
  constexpr TaskPart kPart = {.part = 1, .num_parts = 2, .batch_seeds = 3};
  Block block(1 << 12);
  TaskWriter writer(block.span(), kTestJob, BatchSeq(0), /*num_seeds=*/2);
  FGNN_ASSERT_OK(writer.SetPart(kPart));
  EXPECT_THAT(writer.AddPairs(2, 1), FailedPrecondition());
  FGNN_ASSERT_OK(writer.AddHop(2, 0));
  EXPECT_THAT(writer.SetPart(kPart), FailedPrecondition());
  writer.SetNumSources(2);
  EXPECT_THAT(writer.AddSplit({0}), FailedPrecondition());
  FGNN_ASSERT_OK(writer.AddInputNodes(2));
  EXPECT_THAT(writer.AddSplit({0, 0}), FailedPrecondition());
  FGNN_ASSERT_OK(writer.AddSplit({0}));
  EXPECT_THAT(writer.AddSplit({0}), FailedPrecondition());
  TaskWriter pairs(block.span(), kTestJob, BatchSeq(0), /*num_seeds=*/2);
  FGNN_ASSERT_OK(pairs.AddPairs(2, 1));
  EXPECT_THAT(pairs.SetPart(kPart), FailedPrecondition());
  TaskWriter whole(block.span(), kTestJob, BatchSeq(0), /*num_seeds=*/2);
  FGNN_ASSERT_OK(whole.AddHop(2, 0));
  whole.SetNumSources(2);
  FGNN_ASSERT_OK(whole.AddInputNodes(2));
  EXPECT_THAT(whole.AddSplit({0}), FailedPrecondition());
}

}  // namespace
}  // namespace fgnn
