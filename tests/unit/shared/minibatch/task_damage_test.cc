// A damaged block is refused or shows what was written; never anything else,
// and no byte outside of the block is touched (run under AddressSanitizer).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/minibatch/task.h"
#include "shared/minibatch/task_layout.h"
#include "tests/unit/shared/minibatch/random_task.h"

namespace fgnn {
namespace {

// A task in a block of its size.
struct Written {
  explicit Written(uint64_t seed)
      : task(RandomTask(seed)), block(task.Bytes()) {
    EXPECT_THAT(WriteTask(task, block.span()), IsOk());
  }
  TaskHeader Header() {
    TaskHeader header;
    std::memcpy(&header, block.data(), sizeof(header));
    return header;
  }
  // With right checksums, so that everything behind them is looked at.
  void Sign(const TaskHeader& unsigned_header) {
    TaskHeader header = unsigned_header;
    header.header_crc = task_layout::HeaderCrc(header);
    std::memcpy(block.data(), &header, sizeof(header));
  }
  void SignArrays() {
    TaskHeader header = Header();
    header.digest = task_layout::Digest(header, block.data());
    header.ranks_crc = task_layout::RanksCrc(header, block.data());
    Sign(header);
  }
  uint32_t* Words(uint64_t offset) {
    return reinterpret_cast<uint32_t*>(block.data() + offset);
  }

  TaskContent task;
  Block block;
};

// A task that has everything: pairs, several hops with edges, weights, hot
// ranks.
uint64_t SeedOfAFullTask() {
  for (uint64_t seed = 0;; ++seed) {
    const TaskContent task = RandomTask(seed);
    if (task.hops.size() >= 3 && task.with_weights && task.rank_version != 0 &&
        task.num_seeds >= 3 && !task.pairs.empty() &&
        task.hops[0].indices.size() >= 3) {
      return seed;
    }
  }
}

void ExpectDamagedOrEqual(Written* written) {
  const auto view = ReadTask(written->block.span(), kTestJob);
  if (view.ok()) {
    ExpectShows(*view, written->task);
  } else {
    EXPECT_THAT(view, DataLoss());
  }
}

TEST(TaskDamageTest, EveryFlippedBitOfTheHeaderIsNoticed) {
  Written written(SeedOfAFullTask());
  for (size_t byte = 0; byte < sizeof(TaskHeader); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      SCOPED_TRACE(absl::StrCat("byte ", byte, " bit ", bit));
      const auto mask = static_cast<std::byte>(1 << bit);
      written.block.data()[byte] ^= mask;
      ExpectDamagedOrEqual(&written);
      if (byte < task_layout::kChecksummedHeaderBytes) {
        EXPECT_THAT(ReadTask(written.block.span(), kTestJob), DataLoss());
      }
      written.block.data()[byte] ^= mask;
    }
  }
  EXPECT_THAT(ReadTask(written.block.span(), kTestJob), IsOk());
}

TEST(TaskDamageTest, EveryFlippedByteOfTheArraysIsNoticed) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Written written(seed);
    TestRandom random(seed + 1000);
    for (size_t byte = sizeof(TaskHeader); byte < written.block.size();
         ++byte) {
      const auto mask = static_cast<std::byte>(1 + random.Below(255));
      written.block.data()[byte] ^= mask;
      ExpectDamagedOrEqual(&written);  // Padding may change.
      written.block.data()[byte] ^= mask;
    }
  }
}

TEST(TaskDamageTest, TruncatedBlocksAreRefused) {
  Written written(SeedOfAFullTask());
  for (size_t bytes = 0; bytes < written.block.size(); bytes += 4) {
    Block shorter(bytes);
    std::memcpy(shorter.data(), written.block.data(), bytes);
    EXPECT_THAT(ReadTask(shorter.span(), kTestJob), DataLoss());
  }
}

// Values that break arithmetic that was not thought through.
std::vector<uint64_t> NastyValues(TestRandom* random) {
  const uint64_t max = std::numeric_limits<uint64_t>::max();
  return {0,
          1,
          63,
          64,
          512,
          uint64_t{1} << 31,
          (uint64_t{1} << 32) - 1,
          uint64_t{1} << 62,
          uint64_t{1} << 63,
          max / 4,
          max - 63,
          max,
          random->Next64(),
          random->Below(8192)};
}

// Each word of the header in turn, with a right checksum.
TEST(TaskDamageTest, SignedNonsenseInTheHeaderIsRefused) {
  Written written(SeedOfAFullTask());
  const TaskHeader good = written.Header();
  TestRandom random(1);
  for (size_t word = 0; word < task_layout::kChecksummedHeaderBytes / 4;
       ++word) {
    for (const uint64_t value : NastyValues(&random)) {
      SCOPED_TRACE(absl::StrCat("word ", word, " value ", value));
      for (const size_t bytes : {4, 8}) {
        if (word * 4 + bytes > task_layout::kChecksummedHeaderBytes) continue;
        TaskHeader header = good;
        std::memcpy(reinterpret_cast<std::byte*>(&header) + word * 4, &value,
                    bytes);
        written.Sign(header);
        // It must not crash; a changed seq or part or time is nothing wrong.
        const auto view = ReadTask(written.block.span(), kTestJob);
        if (!view.ok()) {
          EXPECT_THAT(view, DataLoss());
        }
      }
    }
  }
}

TEST(TaskDamageTest, SignedArraysThatLieAreRefused) {
  Written written(SeedOfAFullTask());
  const TaskHeader good = written.Header();
  const TaskHop& hop = good.hops[0];
  struct Lie {
    const char* reason;
    uint32_t* where;
    uint32_t value;
  };
  uint32_t* indptr = written.Words(hop.indptr_offset);
  uint32_t* indices = written.Words(hop.indices_offset);
  uint32_t* pairs = written.Words(good.pairs_offset);
  for (const Lie& lie : std::vector<Lie>{
           {"indptr", indptr, 1},
           {"indptr", indptr + 1, indptr[2] + 1},
           {"indptr", indptr + hop.num_destinations,
            static_cast<uint32_t>(hop.num_edges + 1)},
           {"pairs", pairs, good.num_seeds},
           {"pairs", pairs + 2 * good.num_pairs - 1, ~uint32_t{0}},
           {"indices", indices, hop.num_sources},
           {"indices", indices + hop.num_edges - 1, ~uint32_t{0}}}) {
    const uint32_t before = std::exchange(*lie.where, lie.value);
    written.SignArrays();
    EXPECT_THAT(ReadTask(written.block.span(), kTestJob), DataLoss(lie.reason));
    *lie.where = before;
  }
  written.SignArrays();
  EXPECT_THAT(ReadTask(written.block.span(), kTestJob), IsOk());
}

TEST(TaskDamageTest, CountsThatDoNotFitEachOtherAreRefused) {
  Written written(SeedOfAFullTask());
  const TaskHeader good = written.Header();
  using Change = std::function<void(TaskHeader*)>;
  for (const Change& change : std::vector<Change>{
           [](TaskHeader* h) { h->num_seeds += 1; },
           [](TaskHeader* h) { h->hops[0].num_sources += 1; },
           [](TaskHeader* h) { h->hops[0].num_sources = 0; },
           [](TaskHeader* h) { h->hops[1].num_destinations -= 1; },
           [](TaskHeader* h) { h->num_input_nodes -= 1; },
           [](TaskHeader* h) { h->num_hops -= 1; },
           [](TaskHeader* h) { h->num_pairs += 1; },
           [](TaskHeader* h) { h->num_positives = 0; },
           [](TaskHeader* h) { h->num_positives = h->num_pairs + 1; },
           [](TaskHeader* h) { h->pairs_offset = 0; },
           [](TaskHeader* h) { h->pairs_offset += 64; },
           [](TaskHeader* h) { h->rank_order_version = 0; },
           [](TaskHeader* h) { h->job_key += 1; },
           [](TaskHeader* h) { h->layout_version += 1; },
           [](TaskHeader* h) { h->total_bytes += 1; },
           [](TaskHeader* h) { h->total_bytes -= 1; },
           [](TaskHeader* h) { h->reserved = 1; },
           [](TaskHeader* h) { h->hops[1].reserved = 64; },
           [](TaskHeader* h) {  // Two arrays in one place.
             h->hops[1].indices_offset = h->hops[0].indices_offset;
           }}) {
    TaskHeader header = good;
    change(&header);
    written.Sign(header);
    EXPECT_THAT(ReadTask(written.block.span(), kTestJob), DataLoss());
  }
}

TEST(TaskDamageTest, ABlockOfZerosAndOneOfNoiseHoldNoTask) {
  Block block(4096);
  std::memset(block.data(), 0, block.size());
  EXPECT_THAT(ReadTask(block.span(), kTestJob), DataLoss());
  TestRandom random(2);
  for (std::byte& byte : block.span()) {
    byte = static_cast<std::byte>(random.Below(256));
  }
  EXPECT_THAT(ReadTask(block.span(), kTestJob), DataLoss());
}

}  // namespace
}  // namespace fgnn
