// What message passing makes of the memory's bandwidth: each kernel beside a
// loop that reads the same random rows and does nothing with them, in turns.
//
//   fgnn_bench_message_passing --rows 1048576 --columns 256 --edges-per-row 5
//
// Bytes are those of the rows that are named and of those that are written,
// whatever the caches spare.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/philox.h"
#include "shared/command_line/command_line.h"
#include "shared/minibatch/task.h"
#include "trainer_service/compute/gather_rows.h"
#include "trainer_service/compute/target_clones.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/compute/widen.h"
#include "trainer_service/nn/cpu/messages/head_sums.h"
#include "trainer_service/nn/cpu/messages/message_passing.h"
#include "trainer_service/nn/cpu/messages/neighbor_aggregation.h"
#include "trainer_service/nn/cpu/messages/neighborhood_sums.h"

namespace fgnn {
namespace {

constexpr int64_t kListsPerTask = 256;
constexpr int64_t kHeads = 8;

struct Flags {
  uint32_t rows = 1 << 20;
  int64_t columns = 256;
  uint32_t edges_per_row = 5;
  uint32_t lists = 1 << 15;
  int threads = 1;
  int rounds = 7;
};

FGNN_TARGET_CLONES
uint64_t ReadRows(const RowLists& lists, int64_t first, int64_t last,
                  const std::byte* x, uint64_t row_bytes) {
  constexpr uint32_t kAhead = 8;
  uint64_t seen = 0;
  for (uint32_t e = lists.indptr[first]; e < lists.indptr[last]; ++e) {
    if (e + kAhead < lists.indptr[last]) {
      PrefetchRow(x + lists.indices[e + kAhead] * row_bytes, row_bytes);
    }
    const auto* const row =
        reinterpret_cast<const uint64_t*>(x + lists.indices[e] * row_bytes);
    for (uint64_t i = 0; i < row_bytes / sizeof(uint64_t); ++i) seen ^= row[i];
  }
  return seen;
}

// Rows of a graph, and lists of them that are drawn anew for each round.
class World {
 public:
  explicit World(const Flags& flags)
      : flags_(flags),
        floats_(size_t{flags.rows} * static_cast<size_t>(flags.columns)),
        rounded_(floats_.size()),
        stored_(flags.rows),
        indptr_(flags.lists + size_t{1}),
        indices_(size_t{flags.lists} * flags.edges_per_row),
        weights_(indices_.size() * kHeads, 0.5F),
        scale_(flags.rows, 0.5F),
        out_(size_t{flags.lists} * static_cast<size_t>(flags.columns)) {
    for (size_t i = 0; i < floats_.size(); ++i) {
      floats_[i] = static_cast<float>(i % 1021);
    }
    RoundToBfloat16s(floats_.data(), static_cast<int64_t>(floats_.size()),
                     rounded_.data());
    for (size_t row = 0; row < flags.rows; ++row) {
      stored_[row] = reinterpret_cast<const std::byte*>(
          floats_.data() + row * static_cast<size_t>(flags.columns));
    }
    for (size_t i = 0; i < indptr_.size(); ++i) {
      indptr_[i] = static_cast<uint32_t>(i) * flags.edges_per_row;
    }
  }

  void Draw(uint32_t round) {
    const PhiloxKey key =
        MakePhiloxKey(1, 0, round, 0, Purpose::kGenerateDataset);
    for (size_t e = 0; e < indices_.size(); ++e) {
      const auto words = Philox4x32({static_cast<uint32_t>(e), 0, 0, 0}, key);
      indices_[e] =
          static_cast<uint32_t>(uint64_t{words.words[0]} * flags_.rows >> 32);
    }
  }

  const Flags& flags() const { return flags_; }
  const float* floats() const { return floats_.data(); }
  const Bfloat16* rounded() const { return rounded_.data(); }
  StoredRows stored() const { return {stored_, FeatureType::kFloat32}; }
  RowLists lists() const { return {indptr_.data(), indices_.data()}; }
  float* weights() { return weights_.data(); }
  const float* scale() const { return scale_.data(); }
  float* out(int64_t list) { return out_.data() + list * flags_.columns; }
  BlockView block() const {
    BlockView block;
    block.num_destinations = flags_.lists;
    block.num_sources = flags_.rows;
    block.indptr = indptr_;
    block.indices = indices_;
    return block;
  }

 private:
  const Flags flags_;
  std::vector<float> floats_;
  std::vector<Bfloat16> rounded_;
  std::vector<const std::byte*> stored_;
  std::vector<uint32_t> indptr_;
  std::vector<uint32_t> indices_;
  std::vector<float> weights_;
  std::vector<float> scale_;
  std::vector<float> out_;
};

// One way through all lists, [first, last) at a time.
struct Kernel {
  std::string name;
  uint64_t bytes = 0;
  size_t limit = 0;  // Of the contenders: what reads as wide rows.
  std::function<void(int64_t first, int64_t last)> run;
  double seconds = std::numeric_limits<double>::infinity();
};

std::vector<Kernel> KernelsOf(World& world, uint64_t* seen) {
  const Flags& flags = world.flags();
  const int64_t columns = flags.columns;
  const uint64_t edges = uint64_t{flags.lists} * flags.edges_per_row;
  const uint64_t wide = edges * static_cast<uint64_t>(columns) * sizeof(float);
  const uint64_t narrow = wide / 2;
  const uint64_t out =
      uint64_t{flags.lists} * static_cast<uint64_t>(columns) * sizeof(float);
  const HeadShape heads = {.heads = kHeads, .columns = columns / kHeads};
  std::vector<Kernel> kernels;
  const auto add = [&](const char* name, uint64_t bytes, size_t limit,
                       std::function<void(int64_t, int64_t)> run) {
    Kernel kernel;
    kernel.name = name;
    kernel.bytes = bytes;
    kernel.limit = limit;
    kernel.run = std::move(run);
    kernels.push_back(std::move(kernel));
  };
  const auto read = [&world, seen](const void* x, uint64_t row_bytes) {
    return [&world, seen, x, row_bytes](int64_t first, int64_t last) {
      const uint64_t found =
          ReadRows(world.lists(), first, last, static_cast<const std::byte*>(x),
                   row_bytes);
      // So that nobody leaves the reads out.
      if (found == 1) *seen = found;
    };
  };
  const auto row_bytes = static_cast<uint64_t>(columns) * sizeof(float);
  add("read f32", wide, 0, read(world.floats(), row_bytes));
  add("read bf16", narrow, 1, read(world.rounded(), row_bytes / 2));
  add("mean f32", wide + out, 0, [&world, columns](int64_t a, int64_t b) {
    MeanOfLists(world.lists(), a, b, world.floats(), columns, world.out(a));
  });
  add("mean bf16", narrow + out, 1, [&world, columns](int64_t a, int64_t b) {
    MeanOfLists(world.lists(), a, b, world.rounded(), columns, world.out(a));
  });
  add("mean of stored rows f32", wide + out, 0,
      [&world, columns](int64_t a, int64_t b) {
        MeanOfLists(world.lists(), a, b, world.stored(), columns, world.out(a));
      });
  add("sum with own row f32", wide + 2 * out, 0,
      [&world, columns](int64_t a, int64_t b) {
        SumNeighborhoods({.own = 1, .mean = false}, world.lists(), a, b,
                         world.floats(), columns, world.out(a));
      });
  add("sum by degrees f32", wide + 2 * out, 0,
      [&world, columns](int64_t a, int64_t b) {
        SumNeighborhoods({.row_scales = world.scale()}, world.lists(), a, b,
                         world.floats(), columns, world.out(a));
      });
  add("scaled sum f32", wide + 2 * out, 0,
      [&world, columns](int64_t a, int64_t b) {
        AddScaledSumOfLists(world.lists(), a, b, world.scale(), world.floats(),
                            columns, world.out(a));
      });
  add("scaled sum bf16", narrow + 2 * out, 1,
      [&world, columns](int64_t a, int64_t b) {
        AddScaledSumOfLists(world.lists(), a, b, world.scale(), world.rounded(),
                            columns, world.out(a));
      });
  std::shared_ptr<NeighborAggregation<float>> largest =
      MakeNeighborAggregation<float>(Aggregator::kMax, columns);
  largest->Start(world.block());
  add("largest f32", wide + 2 * out, 0,
      [&world, largest](int64_t a, int64_t b) {
        largest->ForwardRows(world.block(), a, b, world.floats(), world.out(a));
      });
  add("weighted sum of 8 heads f32", wide + 2 * out, 0,
      [&world, heads](int64_t a, int64_t b) {
        AddWeightedSums(heads, world.lists(), nullptr, a, b, world.weights(),
                        world.floats(), world.out(a));
      });
  return kernels;
}

void Run(const Flags& flags) {
  World world(flags);
  ThreadTeam team(flags.threads);
  uint64_t seen = 0;
  std::vector<Kernel> kernels = KernelsOf(world, &seen);
  uint32_t draw = 0;
  for (int round = 0; round < flags.rounds; ++round) {
    for (Kernel& kernel : kernels) {
      world.Draw(draw++);
      const Stopwatch watch;
      const absl::Status status = team.Run(
          NumTasks(flags.lists, kListsPerTask), [&](int64_t task, int) {
            const int64_t first = task * kListsPerTask;
            kernel.run(first,
                       std::min<int64_t>(first + kListsPerTask, flags.lists));
          });
      if (!status.ok()) {
        std::fprintf(stderr, "%s\n", status.ToString().c_str());
        std::exit(1);
      }
      kernel.seconds = std::min(kernel.seconds, watch.Seconds());
    }
  }
  std::printf(
      "| kernel | MB | GB/s | of reading the rows |\n|---|---|---|---|\n");
  for (const Kernel& kernel : kernels) {
    const auto rate = [](const Kernel& of) {
      return static_cast<double>(of.bytes) / of.seconds;
    };
    std::printf("| %s | %.0f | %.1f | %.2f |\n", kernel.name.c_str(),
                static_cast<double>(kernel.bytes) / 1e6, rate(kernel) / 1e9,
                rate(kernel) / rate(kernels[kernel.limit]));
  }
  if (seen == 1) std::printf("\n");
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  fgnn::Flags flags;
  fgnn::CommandLine line("Message passing beside the memory's bandwidth");
  const fgnn::Command app = line.root();
  app.AddOption("--rows", flags.rows, "Rows of x").Between(1u, 1u << 30);
  app.AddOption("--columns", flags.columns, "Of each row, a multiple of 64")
      .Between(64, 1 << 16);
  app.AddOption("--edges-per-row", flags.edges_per_row, "Of a list")
      .Between(1u, 1u << 10);
  app.AddOption("--lists", flags.lists, "Destinations").Between(1u, 1u << 20);
  app.AddOption("--threads", flags.threads).Between(1, 1024);
  app.AddOption("--rounds", flags.rounds, "The fastest counts")
      .Between(1, 1000);
  if (const auto code = line.ParseMain(argc, argv)) return *code;
  if (flags.columns % 64 != 0 || flags.lists > flags.rows) {
    std::fprintf(stderr,
                 "--columns has to be a multiple of 64, and --lists at most "
                 "--rows: destinations are rows too\n");
    return 2;
  }
  fgnn::Run(flags);
  return 0;
}
