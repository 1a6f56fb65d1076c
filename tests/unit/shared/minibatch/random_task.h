// Random tasks and their contents.
#ifndef FGNN_TESTS_UNIT_SHARED_MINIBATCH_RANDOM_TASK_H_
#define FGNN_TESTS_UNIT_SHARED_MINIBATCH_RANDOM_TASK_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "shared/base/philox.h"
#include "shared/minibatch/task.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {

inline constexpr uint64_t kTestJob = 0xfeed'f00d;

// A stream of random numbers for a test, from one seed.
class TestRandom {
 public:
  explicit TestRandom(uint64_t seed)
      : key_(MakePhiloxKey(seed, 0, 0, 0, Purpose::kGenerateDataset)) {}
  uint64_t Next64() {
    const PhiloxBlock block = Philox4x32({count_++, 0, 0, 0}, key_);
    return (uint64_t{block.words[0]} << 32) | block.words[1];
  }
  // Returns a number in [0, range).
  uint64_t Below(uint64_t range) { return UniformBelow(Next64(), range); }

 private:
  PhiloxKey key_;
  uint32_t count_ = 0;
};

// A block of exactly `bytes`, 64-byte aligned. A sanitizer detects accesses
// beyond its end.
class Block {
 public:
  explicit Block(size_t bytes)
      : size_(bytes), memory_(Allocate(bytes), &std::free) {
    std::memset(memory_.get(), 0xa5, bytes);
  }
  absl::Span<std::byte> span() { return {memory_.get(), size_}; }
  std::byte* data() { return memory_.get(); }
  size_t size() const { return size_; }

 private:
  static std::byte* Allocate(size_t bytes) {
    void* memory = nullptr;
    EXPECT_EQ(::posix_memalign(&memory, 64, std::max<size_t>(bytes, 1)), 0);
    return static_cast<std::byte*>(memory);
  }
  size_t size_;
  std::unique_ptr<std::byte, void (*)(void*)> memory_;
};

struct HopContent {
  uint32_t num_sources = 0;
  uint32_t num_remote = 0;
  std::vector<uint32_t> indptr, indices;
  std::vector<float> weights;
};

struct LevelContent {
  std::vector<uint32_t> counts, send, remote_nodes;
};

struct TaskContent {
  BatchSeq seq;
  TaskPart part;
  uint32_t num_seeds = 0;
  bool with_weights = false;
  uint32_t rank_version = 0;  // 0: no hot ranks.
  std::vector<HopContent> hops;
  std::vector<uint32_t> input_nodes, hot_rank;
  uint32_t num_positives = 0;
  std::vector<uint32_t> pairs;       // [n, 2]
  std::vector<LevelContent> levels;  // [num_hops], only of a part.
  std::vector<uint32_t> canonical;

  uint64_t Bytes() const {
    std::vector<uint64_t> destinations, edges;
    for (const HopContent& hop : hops) {
      destinations.push_back(hop.indptr.size() - 1);
      edges.push_back(hop.indices.size());
    }
    std::vector<SplitLevel> sizes;
    for (size_t h = 0; h < levels.size(); ++h) {
      sizes.push_back({.num_own = hops[h].num_sources - hops[h].num_remote,
                       .num_remote = hops[h].num_remote,
                       .num_sent = levels[h].send.size()});
    }
    return PartBytes(TaskBytes(destinations, edges, input_nodes.size(),
                               with_weights, rank_version != 0) +
                         PairBytes(pairs.size() / 2),
                     part.num_parts, sizes);
  }
};

inline HopContent RandomHop(TestRandom* random, uint32_t destinations,
                            bool with_weights) {
  HopContent hop;
  hop.num_sources =
      destinations + static_cast<uint32_t>(random->Below(destinations + 3));
  hop.indptr.push_back(0);
  for (uint32_t d = 0; d < destinations; ++d) {
    const uint64_t degree = hop.num_sources == 0 ? 0 : random->Below(6);
    for (uint64_t i = 0; i < degree; ++i) {
      hop.indices.push_back(
          static_cast<uint32_t>(random->Below(hop.num_sources)));
      if (with_weights) {
        hop.weights.push_back(static_cast<float>(random->Below(100)));
      }
    }
    hop.indptr.push_back(static_cast<uint32_t>(hop.indices.size()));
  }
  return hop;
}

inline TaskContent RandomTask(uint64_t seed) {
  TestRandom random(seed);
  TaskContent task;
  task.seq = BatchSeq(random.Below(1 << 20));
  task.num_seeds = static_cast<uint32_t>(random.Below(20));
  task.with_weights = random.Below(2) == 1;
  task.rank_version = static_cast<uint32_t>(random.Below(3));
  uint32_t destinations = task.num_seeds;
  const uint64_t num_hops = 1 + random.Below(kMaxHops);
  for (uint64_t h = 0; h < num_hops; ++h) {
    task.hops.push_back(RandomHop(&random, destinations, task.with_weights));
    destinations = task.hops.back().num_sources;
  }
  for (uint32_t i = 0; i < destinations; ++i) {
    task.input_nodes.push_back(static_cast<uint32_t>(random.Next64()));
    if (task.rank_version != 0) {
      task.hot_rank.push_back(static_cast<uint32_t>(random.Next64()));
    }
  }
  // The pairs come from their own stream of random numbers.
  TestRandom pair_random(seed + 5000);
  if (task.num_seeds == 0 || pair_random.Below(2) == 0) return task;
  task.num_positives = 1 + static_cast<uint32_t>(pair_random.Below(5));
  const uint64_t num_pairs = task.num_positives * (1 + pair_random.Below(4));
  for (uint64_t end = 0; end < 2 * num_pairs; ++end) {
    task.pairs.push_back(
        static_cast<uint32_t>(pair_random.Below(task.num_seeds)));
  }
  return task;
}

// Gives hop h remote sources, some edges to them, and rows to send.
inline void AddRandomLevel(TestRandom* random, size_t h, TaskContent* task) {
  const uint32_t num_parts = task->part.num_parts;
  const uint32_t self = task->part.part;
  HopContent& hop = task->hops[h];
  const uint32_t num_own = hop.num_sources;
  LevelContent level;
  for (uint32_t q = 0; q < num_parts; ++q) {
    for (uint32_t p = 0; p < num_parts; ++p) {
      const uint64_t most = q == p ? 0 : q == self ? std::min(num_own, 3U) : 3;
      level.counts.push_back(static_cast<uint32_t>(random->Below(most + 1)));
    }
  }
  for (uint32_t q = 0; q < num_parts; ++q) {
    hop.num_remote += level.counts[q * num_parts + self];
    const uint32_t rows = level.counts[self * num_parts + q];
    for (uint32_t i = 0; i < rows; ++i) {  // Ascending, below num_own.
      level.send.push_back(
          num_own - rows + i -
          (i == 0 ? static_cast<uint32_t>(random->Below(num_own - rows + 1))
                  : 0));
    }
  }
  hop.num_sources += hop.num_remote;
  for (uint32_t& index : hop.indices) {
    if (random->Below(2) == 0) continue;
    index = static_cast<uint32_t>(random->Below(hop.num_sources));
  }
  const bool is_last = h + 1 == task->hops.size();
  for (uint32_t i = 0; i < hop.num_remote; ++i) {
    level.remote_nodes.push_back(static_cast<uint32_t>(random->Next64()));
    if (!is_last) continue;
    task->input_nodes.push_back(level.remote_nodes.back());
    if (task->rank_version != 0) task->hot_rank.push_back(i);
  }
  task->levels.push_back(std::move(level));
}

// Returns a part that owns what RandomTask() has.
inline TaskContent RandomPart(uint64_t seed) {
  TaskContent task = RandomTask(seed);
  TestRandom random(seed + 9000);
  task.num_positives = 0;
  task.pairs.clear();
  task.part.num_parts = 2 + static_cast<uint32_t>(random.Below(kMostParts - 1));
  task.part.part = static_cast<uint32_t>(random.Below(task.part.num_parts));
  task.part.batch_seeds =
      task.num_seeds + static_cast<uint32_t>(random.Below(5));
  task.part.batch_digest = static_cast<uint32_t>(random.Next64());
  for (uint32_t i = 0; i < task.hops.back().num_sources; ++i) {
    task.canonical.push_back(
        i < task.num_seeds ? i : task.part.batch_seeds + 2 * i);
  }
  for (size_t h = 0; h < task.hops.size(); ++h) {
    AddRandomLevel(&random, h, &task);
  }
  return task;
}

inline absl::Status WriteSplit(const TaskContent& task, TaskWriter* writer) {
  std::vector<uint32_t> num_sent;
  for (const LevelContent& level : task.levels) {
    num_sent.push_back(static_cast<uint32_t>(level.send.size()));
  }
  const auto arrays = writer->AddSplit(num_sent);
  if (!arrays.ok()) return arrays.status();
  for (size_t h = 0; h < task.levels.size(); ++h) {
    const LevelContent& level = task.levels[h];
    const auto& to = arrays->levels[h];
    std::copy(level.counts.begin(), level.counts.end(), to.counts);
    std::copy(level.send.begin(), level.send.end(), to.send);
    EXPECT_EQ(to.remote_nodes == nullptr, h + 1 == task.levels.size());
    if (to.remote_nodes == nullptr) continue;
    std::copy(level.remote_nodes.begin(), level.remote_nodes.end(),
              to.remote_nodes);
  }
  std::copy(task.canonical.begin(), task.canonical.end(), arrays->canonical);
  return absl::OkStatus();
}

// Writes the task. Returns its digest, or ResourceExhausted if the block is too
// small.
inline absl::StatusOr<uint32_t> WriteTask(const TaskContent& task,
                                          absl::Span<std::byte> block) {
  TaskWriter writer(block, kTestJob, task.seq, task.num_seeds);
  if (task.part.num_parts > 1) {
    const absl::Status status = writer.SetPart(task.part);
    if (!status.ok()) return status;
  }
  if (!task.pairs.empty()) {
    const auto pairs = writer.AddPairs(
        static_cast<uint32_t>(task.pairs.size() / 2), task.num_positives);
    if (!pairs.ok()) return pairs.status();
    std::copy(task.pairs.begin(), task.pairs.end(), *pairs);
  }
  for (const HopContent& hop : task.hops) {
    const auto arrays =
        writer.AddHop(static_cast<uint32_t>(hop.indptr.size() - 1),
                      hop.indices.size(), task.with_weights);
    if (!arrays.ok()) return arrays.status();
    std::copy(hop.indptr.begin(), hop.indptr.end(), arrays->indptr);
    std::copy(hop.indices.begin(), hop.indices.end(), arrays->indices);
    if (task.with_weights) {
      std::copy(hop.weights.begin(), hop.weights.end(), arrays->weights);
    }
    writer.SetNumSources(hop.num_sources, hop.num_remote);
  }
  const auto nodes =
      writer.AddInputNodes(static_cast<uint32_t>(task.input_nodes.size()));
  if (!nodes.ok()) return nodes.status();
  std::copy(task.input_nodes.begin(), task.input_nodes.end(), *nodes);
  if (task.rank_version != 0) {
    const auto ranks = writer.AddHotRanks(task.rank_version);
    if (!ranks.ok()) return ranks.status();
    std::copy(task.hot_rank.begin(), task.hot_rank.end(), *ranks);
  }
  if (task.part.num_parts > 1) {
    const absl::Status status = WriteSplit(task, &writer);
    if (!status.ok()) return status;
  }
  EXPECT_EQ(writer.total_bytes(), task.Bytes());
  return writer.Finish(
      {.order = 5, .sample = 1, .id_map = 2, .mark = 3, .copy = 4});
}

template <typename T>
std::vector<T> Copy(absl::Span<const T> span) {
  return {span.begin(), span.end()};
}

inline void ExpectShowsPart(const TaskView& view, const TaskContent& task) {
  EXPECT_EQ(view.part, task.part.part);
  EXPECT_EQ(view.num_parts, task.part.num_parts);
  const bool is_whole = task.part.num_parts == 1;
  EXPECT_EQ(view.batch_seeds,
            is_whole ? task.num_seeds : task.part.batch_seeds);
  EXPECT_EQ(view.batch_digest, is_whole ? view.digest : task.part.batch_digest);
  EXPECT_EQ(view.batch_examples(),
            is_whole ? view.num_examples() : task.part.batch_seeds);
  EXPECT_EQ(Copy(view.split.canonical), task.canonical);
  for (size_t h = 0; h < kMaxHops; ++h) {
    const TaskSplit::Level& level = view.split.levels[h];
    const LevelContent wanted =
        h < task.levels.size() ? task.levels[h] : LevelContent();
    EXPECT_EQ(Copy(level.counts), wanted.counts);
    EXPECT_EQ(Copy(level.send), wanted.send);
    EXPECT_EQ(Copy(level.remote_nodes), wanted.remote_nodes);
  }
}

// Expects that the view shows exactly this task.
inline void ExpectShows(const TaskView& view, const TaskContent& task) {
  EXPECT_EQ(view.seq, task.seq);
  ExpectShowsPart(view, task);
  EXPECT_EQ(view.num_seeds, task.num_seeds);
  EXPECT_EQ(view.rank_order_version, task.rank_version);
  EXPECT_EQ(view.num_positives, task.num_positives);
  EXPECT_EQ(Copy(view.pairs), task.pairs);
  EXPECT_EQ(view.num_examples(),
            task.pairs.empty() ? task.num_seeds : task.pairs.size() / 2);
  ASSERT_EQ(static_cast<size_t>(view.num_hops), task.hops.size());
  uint64_t edges = 0;
  for (size_t h = 0; h < task.hops.size(); ++h) {
    const BlockView& block = view.hops[h];
    EXPECT_EQ(block.num_destinations, task.hops[h].indptr.size() - 1);
    EXPECT_EQ(block.num_sources, task.hops[h].num_sources);
    EXPECT_EQ(block.num_remote_sources, task.hops[h].num_remote);
    EXPECT_EQ(block.num_own_sources(),
              task.hops[h].num_sources - task.hops[h].num_remote);
    EXPECT_EQ(Copy(block.indptr), task.hops[h].indptr);
    EXPECT_EQ(Copy(block.indices), task.hops[h].indices);
    EXPECT_EQ(Copy(block.weights), task.hops[h].weights);
    edges += block.indices.size();
  }
  EXPECT_EQ(view.num_edges(), edges);
  EXPECT_EQ(Copy(view.input_nodes), task.input_nodes);
  EXPECT_EQ(Copy(view.hot_rank), task.hot_rank);
  EXPECT_EQ(Copy(view.seeds()),
            std::vector<uint32_t>(task.input_nodes.begin(),
                                  task.input_nodes.begin() + task.num_seeds));
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SHARED_MINIBATCH_RANDOM_TASK_H_
