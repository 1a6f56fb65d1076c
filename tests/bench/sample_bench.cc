// How fast a dataset's batches are sampled on this machine, beside how fast its
// indices can be read at random at all. Prints one JSON document.
//
//   fgnn_bench_sample --dataset DIR --fanouts 15,10,5 --batch-size 1024
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/thread.h"
#include "shared/graph/dataset.h"

namespace {
std::atomic<uint64_t> num_allocations = 0;
}  // namespace

// Not inlined: the compiler would see malloc() and delete apart, and object.
__attribute__((noinline)) void* operator new(std::size_t bytes) {
  num_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(std::max<size_t>(bytes, 1))) {
    return memory;
  }
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept {
  std::free(memory);
}
__attribute__((noinline)) void operator delete(void* memory,
                                               std::size_t) noexcept {
  std::free(memory);
}

namespace fgnn {
namespace {

constexpr uint32_t kWarmBatches = 5;

struct Flags {
  std::string dataset;
  std::vector<int32_t> fanouts = {15, 10, 5};
  uint32_t batch_size = 1024;
  uint32_t batches = 30;  // Of each round; the fastest round counts.
  uint32_t rounds = 5;
  uint32_t threads = 1;
  uint64_t seed = 1;
};

struct Round {
  double seconds = 1e30;
  uint64_t edges = 0;
  uint64_t input_nodes = 0;
  uint64_t allocations = 0;
  SampleSeconds stages;

  double edges_per_second() const {
    return static_cast<double>(edges) / seconds;
  }
};

// Sums of one thread over a round.
void Add(const SampledTask& task, Round& round) {
  round.edges += task.num_edges;
  round.input_nodes += task.num_input_nodes;
  round.stages.sample += task.seconds.sample;
  round.stages.id_map += task.seconds.id_map;
  round.stages.mark += task.seconds.mark;
  round.stages.copy += task.seconds.copy;
}

class Bench {
 public:
  Bench(const Flags& flags, const Dataset& dataset)
      : flags_(flags),
        input_{dataset.graph(), dataset.train()},
        options_{.fanouts = flags.fanouts,
                 .batch_size = flags.batch_size,
                 .seed = flags.seed},
        block_bytes_((MaxTaskBytesOf(input_.graph, options_) + 63) / 64 * 64) {}

  absl::StatusOr<Round> Run() {
    std::vector<std::unique_ptr<Sampler>> samplers;
    for (uint32_t t = 0; t < flags_.threads; ++t) {
      FGNN_ASSIGN_OR_RETURN(std::unique_ptr<Sampler> sampler,
                            NewCpuSampler(input_, options_));
      samplers.push_back(std::move(sampler));
    }
    FGNN_RETURN_IF_ERROR(RunRound(samplers, kWarmBatches).status());
    Round best;
    for (uint32_t r = 0; r < flags_.rounds; ++r) {
      FGNN_ASSIGN_OR_RETURN(const Round round,
                            RunRound(samplers, flags_.batches));
      if (round.edges_per_second() > best.edges_per_second()) best = round;
    }
    return best;
  }

  // One prefetched read of a random index after the other, by one thread.
  double RandomReadsPerSecond() const {
    constexpr size_t kReads = 1 << 18;
    constexpr size_t kAhead = 128;
    std::vector<uint64_t> places(kReads);
    for (size_t i = 0; i < kReads; ++i) {
      places[i] = UniformBelow(Mix64(i), input_.graph.num_edges());
    }
    return std::visit(
        [&](auto indices) {
          double best = 1e30;
          for (uint32_t r = 0; r < flags_.rounds; ++r) {
            const Stopwatch watch;
            uint64_t sum = 0;
            for (size_t i = 0; i + kAhead < kReads; ++i) {
              __builtin_prefetch(indices.data() + places[i + kAhead]);
              sum += static_cast<uint64_t>(indices.data()[places[i]]);
            }
            asm volatile("" : : "r"(sum));
            best = std::min(best, watch.Seconds());
          }
          return static_cast<double>(kReads - kAhead) / best;
        },
        input_.graph.indices);
  }

 private:
  absl::StatusOr<Round> RunRound(
      const std::vector<std::unique_ptr<Sampler>>& samplers,
      uint32_t num_batches) {
    std::vector<Round> parts(samplers.size());
    std::vector<absl::Status> statuses(samplers.size());
    // Other batches than before: the caches have forgotten these.
    std::atomic<BatchSeq> next = end_;
    end_ += num_batches;
    {
      std::vector<Thread> threads;
      for (size_t t = 0; t < samplers.size(); ++t) {
        threads.emplace_back("sample", [&, t] {
          statuses[t] = RunThread(*samplers[t], next, parts[t]);
        });
      }
    }
    Round round;
    round.seconds = 0;
    for (size_t t = 0; t < parts.size(); ++t) {
      FGNN_RETURN_IF_ERROR(statuses[t]);
      round.seconds = std::max(round.seconds, parts[t].seconds);
      round.edges += parts[t].edges;
      round.input_nodes += parts[t].input_nodes;
      round.allocations += parts[t].allocations;
      round.stages.sample += parts[t].stages.sample;
      round.stages.id_map += parts[t].stages.id_map;
      round.stages.mark += parts[t].stages.mark;
      round.stages.copy += parts[t].stages.copy;
    }
    return round;
  }

  absl::Status RunThread(Sampler& sampler, std::atomic<BatchSeq>& next,
                         Round& part) const {
    struct Free {
      void operator()(std::byte* memory) const { std::free(memory); }
    };
    const std::unique_ptr<std::byte, Free> block(
        static_cast<std::byte*>(std::aligned_alloc(64, block_bytes_)));
    if (block == nullptr) return absl::ResourceExhaustedError("no memory");
    // The block's pages, as a slot has them.
    FGNN_RETURN_IF_ERROR(
        sampler.Sample(0, {block.get(), block_bytes_}).status());
    const uint64_t allocations = num_allocations;
    const Stopwatch watch;
    for (BatchSeq seq = next++; seq < end_; seq = next++) {
      FGNN_ASSIGN_OR_RETURN(const SampledTask task,
                            sampler.Sample(seq, {block.get(), block_bytes_}));
      Add(task, part);
    }
    part.seconds = watch.Seconds();
    part.allocations = num_allocations - allocations;
    return absl::OkStatus();
  }

  const Flags flags_;
  const SamplerInput input_;
  const SamplerOptions options_;
  const uint64_t block_bytes_;
  BatchSeq end_ = 0;  // Of the batches of the round.
};

absl::Status Main(const Flags& flags) {
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(flags.dataset, Validation::kStructure));
  Bench bench(flags, dataset);
  FGNN_ASSIGN_OR_RETURN(const Round round, bench.Run());
  const double batches = flags.batches;
  std::cout
      << nlohmann::json{{"algorithm", "khop"},
                        {"draws", SupportedDrawLanes().front().name},
                        {"fanouts", flags.fanouts},
                        {"batch_size", flags.batch_size},
                        {"threads", flags.threads},
                        {"batches", flags.batches},
                        {"edges", round.edges},
                        {"input_nodes", round.input_nodes},
                        {"seconds", round.seconds},
                        {"edges_per_second",
                         static_cast<double>(round.edges) / round.seconds},
                        {"allocations_per_batch",
                         static_cast<double>(round.allocations) / batches},
                        {"random_reads_per_second",
                         bench.RandomReadsPerSecond()},
                        {"stages",
                         {{"sample", round.stages.sample},
                          {"id_map", round.stages.id_map},
                          {"mark", round.stages.mark},
                          {"copy", round.stages.copy}}}}
      << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  fgnn::Flags flags;
  CLI::App app("Sampled edges per second", "fgnn_bench_sample");
  app.add_option("--dataset", flags.dataset, "A dataset folder")->required();
  app.add_option("--fanouts", flags.fanouts, "First hop first; -1: all")
      ->delimiter(',');
  app.add_option("--batch-size", flags.batch_size, "Seeds of a batch");
  app.add_option("--batches", flags.batches, "Batches of a round")
      ->check(CLI::PositiveNumber);
  app.add_option("--rounds", flags.rounds, "Rounds; the fastest counts")
      ->check(CLI::PositiveNumber);
  app.add_option("--threads", flags.threads, "Samplers side by side")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", flags.seed, "Of the job");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = fgnn::Main(flags);
  if (!status.ok()) std::cerr << fgnn::MessageOf(status) << "\n";
  return fgnn::ExitCode(status);
}
