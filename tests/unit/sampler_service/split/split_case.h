// Parts of batches by their definition, and batches made of their parts again.
#ifndef FGNN_TESTS_UNIT_SAMPLER_SERVICE_SPLIT_SPLIT_CASE_H_
#define FGNN_TESTS_UNIT_SAMPLER_SERVICE_SPLIT_SPLIT_CASE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sampler_service/split/batch_splitter.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/host_rows.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/shared/minibatch/random_task.h"

namespace fgnn {

// A partition book of these fine parts.
class TestBook {
 public:
  explicit TestBook(std::vector<uint8_t> parts) : parts_(std::move(parts)) {
    const auto bytes = PartitionBook::ToBytes(parts_);
    EXPECT_THAT(bytes, IsOk());
    std::ofstream(folder_ / "book.bin", std::ios::binary) << *bytes;
    auto book = PartitionBook::OpenFile(folder_ / "book.bin", parts_.size());
    EXPECT_THAT(book, IsOk());
    book_.emplace(*std::move(book));
  }
  const PartitionBook* get() const { return &*book_; }

  // Returns the owner of each input node, by local id.
  std::vector<uint32_t> OwnersOf(const TaskView& whole,
                                 uint32_t num_parts) const {
    std::vector<uint32_t> owners;
    for (const uint32_t node : whole.input_nodes) {
      owners.push_back(OwnerOfPart(parts_[node], num_parts));
    }
    return owners;
  }

 private:
  TempFolder folder_;
  std::vector<uint8_t> parts_;
  std::optional<PartitionBook> book_;
};

// Returns a book of vertices in `used` of the 64 fine parts.
inline TestBook RandomBook(uint64_t num_nodes, uint64_t used, uint64_t seed) {
  TestRandom random(seed + 7000);
  const uint64_t first = random.Below(kFineParts - used + 1);
  std::vector<uint8_t> parts;
  for (uint64_t v = 0; v < num_nodes; ++v) {
    parts.push_back(static_cast<uint8_t>(first + random.Below(used)));
  }
  return TestBook(std::move(parts));
}

// The parts of a batch as task.h defines them, in the shortest form.
class PartsByDefinition {
 public:
  PartsByDefinition(const TaskView& whole, std::vector<uint32_t> owners,
                    uint32_t num_parts)
      : whole_(whole), owners_(std::move(owners)), num_parts_(num_parts) {}

  TaskContent Part(uint32_t p) const {
    TaskContent part;
    part.seq = whole_.seq;
    part.part = {.part = p,
                 .num_parts = num_parts_,
                 .batch_seeds = whole_.num_seeds,
                 .batch_digest = whole_.digest};
    part.num_seeds =
        static_cast<uint32_t>(Own(p, whole_.hops[0].num_destinations).size());
    part.rank_version = whole_.rank_order_version;
    const auto last = static_cast<size_t>(whole_.num_hops - 1);
    for (size_t h = 0; h <= last; ++h) {
      part.hops.push_back(Hop(p, h));
      part.levels.push_back(Level(p, h));
      part.with_weights |= !part.hops.back().weights.empty();
    }
    part.canonical = Own(p, whole_.hops[last].num_sources);
    for (const uint32_t v : Sources(p, last)) {
      part.input_nodes.push_back(whole_.input_nodes[v]);
      if (part.rank_version == 0) continue;
      part.hot_rank.push_back(whole_.hot_rank[v]);
    }
    return part;
  }

 private:
  // Returns the vertices of [0, end) that p owns.
  std::vector<uint32_t> Own(uint32_t p, uint32_t end) const {
    std::vector<uint32_t> own;
    for (uint32_t v = 0; v < end; ++v) {
      if (owners_[v] == p) own.push_back(v);
    }
    return own;
  }
  // Returns the remote sources of p in hop h that q owns.
  std::vector<uint32_t> Remote(uint32_t p, size_t h, uint32_t q) const {
    const BlockView& block = whole_.hops[h];
    std::set<uint32_t> remote;
    for (const uint32_t d : Own(p, block.num_destinations)) {
      for (uint32_t e = block.indptr[d]; e < block.indptr[d + 1]; ++e) {
        const uint32_t v = block.indices[e];
        if (q != p && owners_[v] == q) remote.insert(v);
      }
    }
    return {remote.begin(), remote.end()};
  }
  std::vector<uint32_t> Sources(uint32_t p, size_t h) const {
    std::vector<uint32_t> sources = Own(p, whole_.hops[h].num_sources);
    for (uint32_t q = 0; q < num_parts_; ++q) {
      const std::vector<uint32_t> remote = Remote(p, h, q);
      sources.insert(sources.end(), remote.begin(), remote.end());
    }
    return sources;
  }

  HopContent Hop(uint32_t p, size_t h) const {
    const BlockView& block = whole_.hops[h];
    const std::vector<uint32_t> sources = Sources(p, h);
    std::map<uint32_t, uint32_t> numbers;
    for (const uint32_t v : sources) {
      numbers.emplace(v, static_cast<uint32_t>(numbers.size()));
    }
    HopContent hop;
    hop.num_sources = static_cast<uint32_t>(sources.size());
    hop.num_remote = static_cast<uint32_t>(sources.size() -
                                           Own(p, block.num_sources).size());
    hop.indptr.push_back(0);
    for (const uint32_t d : Own(p, block.num_destinations)) {
      for (uint32_t e = block.indptr[d]; e < block.indptr[d + 1]; ++e) {
        hop.indices.push_back(numbers.at(block.indices[e]));
        if (!block.weights.empty()) hop.weights.push_back(block.weights[e]);
      }
      hop.indptr.push_back(static_cast<uint32_t>(hop.indices.size()));
    }
    return hop;
  }

  LevelContent Level(uint32_t p, size_t h) const {
    const std::vector<uint32_t> own = Own(p, whole_.hops[h].num_sources);
    LevelContent level;
    for (uint32_t q = 0; q < num_parts_; ++q) {
      for (uint32_t r = 0; r < num_parts_; ++r) {
        level.counts.push_back(static_cast<uint32_t>(Remote(r, h, q).size()));
      }
      for (const uint32_t v : Remote(p, h, q)) {
        level.remote_nodes.push_back(whole_.input_nodes[v]);
      }
    }
    for (uint32_t r = 0; r < num_parts_; ++r) {
      for (const uint32_t v : Remote(r, h, p)) {
        level.send.push_back(static_cast<uint32_t>(
            std::lower_bound(own.begin(), own.end(), v) - own.begin()));
      }
    }
    return level;
  }

  const TaskView& whole_;
  std::vector<uint32_t> owners_;
  uint32_t num_parts_;
};

// Finds the vertices behind the numbers of parts, as trainers that exchange
// rows do: by counts and rows to send alone.
class PartsTogether {
 public:
  explicit PartsTogether(absl::Span<const TaskView> parts) : parts_(parts) {}

  // Returns the whole batch.
  TaskContent Recombine() const {
    const TaskView& first = parts_[0];
    TaskContent whole;
    whole.seq = first.seq;
    whole.num_seeds = first.batch_seeds;
    whole.rank_version = first.rank_order_version;
    for (size_t h = 0; h < static_cast<size_t>(first.num_hops); ++h) {
      whole.hops.push_back(Hop(h));
      whole.with_weights |= !whole.hops.back().weights.empty();
    }
    whole.input_nodes.resize(whole.hops.back().num_sources);
    if (whole.rank_version != 0) {
      whole.hot_rank.resize(whole.input_nodes.size());
    }
    for (const TaskView& part : parts_) {
      for (size_t i = 0; i < part.split.canonical.size(); ++i) {
        whole.input_nodes[part.split.canonical[i]] = part.input_nodes[i];
        if (whole.rank_version == 0) continue;
        whole.hot_rank[part.split.canonical[i]] = part.hot_rank[i];
      }
    }
    return whole;
  }

 private:
  struct Place {
    const TaskView* part = nullptr;
    uint32_t number = 0;
  };

  // Returns the vertex that is source `index` of the part's hop h.
  uint32_t SourceOf(const TaskView& part, size_t h, uint32_t index) const {
    const uint32_t num_own = part.hops[h].num_own_sources();
    if (index < num_own) return part.split.canonical[index];
    const TaskSplit::Level& level = part.split.levels[h];
    const uint32_t num_parts = part.num_parts;
    uint32_t row = index - num_own;
    uint32_t q = 0;
    for (; row >= level.counts[q * num_parts + part.part]; ++q) {
      row -= level.counts[q * num_parts + part.part];
    }
    for (uint32_t r = 0; r < part.part; ++r) {
      row += level.counts[q * num_parts + r];
    }
    const TaskView& sender = parts_[q];
    const uint32_t number = sender.split.levels[h].send[row];
    EXPECT_EQ(sender.input_nodes[number], level.remote_nodes[index - num_own]);
    return sender.split.canonical[number];
  }

  HopContent Hop(size_t h) const {
    HopContent hop;
    std::map<uint32_t, Place> destinations;
    for (const TaskView& part : parts_) {
      hop.num_sources += part.hops[h].num_own_sources();
      for (uint32_t i = 0; i < part.hops[h].num_destinations; ++i) {
        destinations[part.split.canonical[i]] = {&part, i};
      }
    }
    hop.indptr.push_back(0);
    for (const auto& [v, place] : destinations) {
      EXPECT_EQ(v + 1, hop.indptr.size());
      const BlockView& block = place.part->hops[h];
      for (uint32_t e = block.indptr[place.number];
           e < block.indptr[place.number + 1]; ++e) {
        hop.indices.push_back(SourceOf(*place.part, h, block.indices[e]));
        if (!block.weights.empty()) hop.weights.push_back(block.weights[e]);
      }
      hop.indptr.push_back(static_cast<uint32_t>(hop.indices.size()));
    }
    return hop;
  }

  absl::Span<const TaskView> parts_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SAMPLER_SERVICE_SPLIT_SPLIT_CASE_H_
