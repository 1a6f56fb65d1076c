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
  explicit Written(uint64_t seed) : Written(RandomTask(seed)) {}
  explicit Written(TaskContent content)
      : task(std::move(content)), block(task.Bytes()) {
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
    header.split_crc = task_layout::SplitCrc(header, block.data());
    if (header.num_parts == 1) header.batch_digest = header.digest;
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

// A part that has everything: hops with edges, weights, hot ranks, remote
// sources of several owners, and rows to send to several.
TaskContent AFullPart() {
  for (uint64_t seed = 0;; ++seed) {
    TaskContent task = RandomPart(seed);
    if (task.hops.size() == 3 && task.with_weights && task.rank_version != 0 &&
        task.num_seeds >= 3 && task.part.num_parts >= 3 &&
        task.part.batch_seeds > task.num_seeds && task.part.part > 0 &&
        task.levels[0].send.size() >= 4 && task.hops[0].num_remote >= 3 &&
        task.levels[2].send.size() >= 4 && task.hops[2].num_remote >= 3) {
      return task;
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

void FlipEveryBitOfTheHeader(Written written) {
  for (size_t byte = 0; byte < sizeof(TaskHeader); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      SCOPED_TRACE(absl::StrCat("byte ", byte, " bit ", bit));
      const auto mask = static_cast<std::byte>(1 << bit);
      written.block.data()[byte] ^= mask;
      ExpectDamagedOrEqual(&written);
      EXPECT_THAT(ReadTask(written.block.span(), kTestJob), DataLoss());
      written.block.data()[byte] ^= mask;
    }
  }
  EXPECT_THAT(ReadTask(written.block.span(), kTestJob), IsOk());
}

TEST(TaskDamageTest, EveryFlippedBitOfTheHeaderIsNoticed) {
  FlipEveryBitOfTheHeader(Written(SeedOfAFullTask()));
  FlipEveryBitOfTheHeader(Written(AFullPart()));
}

TEST(TaskDamageTest, EveryFlippedByteOfTheArraysIsNoticed) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Written written(seed < 20 ? RandomTask(seed) : RandomPart(seed));
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
  Written written(AFullPart());
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
void PutNonsenseIntoTheHeader(Written written) {
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

TEST(TaskDamageTest, SignedNonsenseInTheHeaderIsRefused) {
  PutNonsenseIntoTheHeader(Written(SeedOfAFullTask()));
  PutNonsenseIntoTheHeader(Written(AFullPart()));
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
           [](TaskHeader* h) { h->reserved[0] = 1; },
           [](TaskHeader* h) { h->reserved[9] = 1; },
           [](TaskHeader* h) { h->part = 1; },
           [](TaskHeader* h) { h->num_parts = 0; },
           [](TaskHeader* h) { h->num_parts = 2; },
           [](TaskHeader* h) { h->batch_seeds += 1; },
           [](TaskHeader* h) { h->batch_digest += 1; },
           [](TaskHeader* h) { h->split_crc = 1; },
           [](TaskHeader* h) { h->split_offset = h->total_bytes; },
           [](TaskHeader* h) { h->hops[1].num_own_sources -= 1; },
           [](TaskHeader* h) { h->hops[2].num_sent = 1; },
           [](TaskHeader* h) {  // Two arrays in one place.
             h->hops[1].indices_offset = h->hops[0].indices_offset;
           }}) {
    TaskHeader header = good;
    change(&header);
    written.Sign(header);
    EXPECT_THAT(ReadTask(written.block.span(), kTestJob), DataLoss());
  }
}

TEST(TaskDamageTest, CountsOfAPartThatDoNotFitEachOtherAreRefused) {
  Written written(AFullPart());
  const TaskHeader good = written.Header();
  using Change = std::function<void(TaskHeader*)>;
  for (const Change& change : std::vector<Change>{
           [](TaskHeader* h) { h->part = h->num_parts; },
           [](TaskHeader* h) { h->num_parts = 1; },
           [](TaskHeader* h) { h->num_parts -= 1; },
           [](TaskHeader* h) { h->num_parts = kMostParts + 1; },
           [](TaskHeader* h) { h->num_parts = 1U << 16; },
           [](TaskHeader* h) { h->batch_seeds = h->num_seeds - 1; },
           [](TaskHeader* h) { h->split_crc += 1; },
           [](TaskHeader* h) { h->split_offset = 0; },
           [](TaskHeader* h) { h->split_offset += 64; },
           [](TaskHeader* h) { h->split_offset -= 64; },
           [](TaskHeader* h) { h->reserved[3] = 1; },
           [](TaskHeader* h) { h->hops[0].num_own_sources += 1; },
           [](TaskHeader* h) { h->hops[0].num_own_sources -= 1; },
           [](TaskHeader* h) { h->hops[0].num_sources += 1; },
           [](TaskHeader* h) {
             h->hops[1].num_own_sources = h->hops[1].num_sources + 1;
           },
           [](TaskHeader* h) { h->hops[2].num_own_sources -= 1; },
           [](TaskHeader* h) { h->hops[0].num_sent += 1; },
           [](TaskHeader* h) { h->hops[2].num_sent -= 1; },
           [](TaskHeader* h) { h->hops[1].num_sent = ~uint32_t{0}; }}) {
    TaskHeader header = good;
    change(&header);
    written.Sign(header);
    EXPECT_THAT(ReadTask(written.block.span(), kTestJob), DataLoss());
  }
  // With the checksums of what the numbers say, where it lies in the block.
  for (const Change& change :
       std::vector<Change>{[](TaskHeader* h) { h->part -= 1; },
                           [](TaskHeader* h) { h->batch_seeds += 1000; }}) {
    TaskHeader header = good;
    change(&header);
    written.Sign(header);
    written.SignArrays();
    EXPECT_THAT(ReadTask(written.block.span(), kTestJob), DataLoss());
  }
}

TEST(TaskDamageTest, SplitsThatLieAreRefused) {
  Written written(AFullPart());
  const TaskHeader good = written.Header();
  const auto places = task_layout::PlacesOfSplit(good, good.split_offset);
  const uint32_t num_parts = good.num_parts;
  const uint32_t self = good.part;
  uint32_t* const canonical = written.Words(places.canonical);
  struct Lie {
    const char* reason;
    uint32_t* where;
    uint32_t value;
  };
  std::vector<Lie> lies = {
      {"canonical", canonical, canonical[1]},
      {"canonical", canonical + good.num_seeds - 1, good.batch_seeds},
      {"canonical", canonical + good.num_seeds, good.batch_seeds - 1},
      {"canonical", canonical + good.hops[2].num_own_sources - 1, 0}};
  for (const size_t h : {0, 2}) {
    uint32_t* const counts = written.Words(places.levels[h].counts);
    uint32_t* const send = written.Words(places.levels[h].send);
    const uint32_t to = (self + 1) % num_parts;
    uint32_t* const sent = counts + self * num_parts + to;
    uint32_t* const got = counts + to * num_parts + self;
    lies.insert(
        lies.end(),
        {{"counts", counts + self * num_parts + self, 1},
         {"counts", counts, 1},
         {"counts", sent, *sent + 1},
         {"counts", sent, ~uint32_t{0}},
         {"counts", got, *got + 1},
         {"counts", got, ~uint32_t{0}},
         {"rows to send", send, good.hops[h].num_own_sources},
         {"rows to send", send + good.hops[h].num_sent - 1, ~uint32_t{0}}});
  }
  for (const Lie& lie : lies) {
    SCOPED_TRACE(lie.reason);
    const uint32_t before = std::exchange(*lie.where, lie.value);
    written.SignArrays();
    EXPECT_THAT(ReadTask(written.block.span(), kTestJob), DataLoss(lie.reason));
    *lie.where = before;
  }
  written.SignArrays();
  EXPECT_THAT(ReadTask(written.block.span(), kTestJob), IsOk());
}

TEST(TaskDamageTest, ARowThatIsSentTwiceToOneReceiverIsRefused) {
  Written written(AFullPart());
  const TaskHeader good = written.Header();
  const auto places = task_layout::PlacesOfSplit(good, good.split_offset);
  const uint32_t* const counts = written.Words(places.levels[0].counts);
  uint32_t* send = written.Words(places.levels[0].send);
  bool found = false;
  for (uint32_t p = 0; p < good.num_parts; ++p) {
    const uint32_t rows = counts[good.part * good.num_parts + p];
    if (rows >= 2) {
      found = true;
      const uint32_t before = std::exchange(send[1], send[0]);
      written.SignArrays();
      EXPECT_THAT(ReadTask(written.block.span(), kTestJob),
                  DataLoss("rows to send"));
      send[1] = before;
    }
    send += rows;
  }
  EXPECT_TRUE(found);
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
