// What crash safety costs: checksums written and checked, bounds checked, slots
// owned by compare-and-swap, as a share of an epoch. Prints one JSON document.
//
//   fgnn run job.yaml --run-dir RUN
//   fgnn_bench_crash_safety --run RUN --dataset DIR --fanouts 10,10
//                           --batch-size 1024
//
// The share is an upper bound: a queue without any of it would still hand slots
// over somehow, and the shares of samplers and trainers overlap in time.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/command_line/command_line.h"
#include "shared/graph/dataset.h"
#include "shared/minibatch/task.h"
#include "shared/queue/global_queue.h"

namespace fgnn {
namespace {

struct Flags {
  std::string run;
  std::string dataset;
  std::vector<int32_t> fanouts = {10, 10};
  uint32_t batch_size = 1024;
  uint32_t batches = 50;
};

// Seconds of one batch's part in the run's fastest epoch.
absl::StatusOr<double> EpochSecondsPerBatch(const std::string& run) {
  std::ifstream file(run + "/metrics.jsonl");
  double fastest = 0;
  for (std::string text; std::getline(file, text);) {
    const auto line = nlohmann::json::parse(text, nullptr,
                                            /*allow_exceptions=*/false);
    if (!line.is_object() || !line.contains("seconds")) continue;
    const double seconds =
        line["seconds"].get<double>() / line["batches"].get<double>();
    if (fastest == 0 || seconds < fastest) fastest = seconds;
  }
  if (fastest > 0) return fastest;
  return absl::NotFoundError("--run: no epochs in " + run + "/metrics.jsonl");
}

struct Checks {
  double bytes = 0;
  double write = 0;  // CRC and header.
  double read = 0;   // CRC, sizes, offsets, monotone indptr, local ids.
};

// Means per batch; every batch has memory of its own, so that no reader finds
// it in its cache for free.
absl::StatusOr<Checks> TimeChecks(const Flags& flags, const Dataset& dataset) {
  const SamplerInput input{dataset.graph(), dataset.train()};
  const SamplerOptions options{
      .fanouts = flags.fanouts, .batch_size = flags.batch_size, .seed = 1};
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<Sampler> sampler,
                        NewCpuSampler(input, options));
  const size_t most = MaxTaskBytesOf(input.graph, options);
  std::vector<std::byte> scratch(most + 64);
  std::byte* const aligned =
      scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64);
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::vector<std::pair<std::unique_ptr<std::byte, Free>, size_t>> tasks;
  Checks checks;
  for (BatchSeq seq(0); seq < BatchSeq(flags.batches); ++seq) {
    FGNN_ASSIGN_OR_RETURN(const SampledTask task,
                          sampler->Sample(seq, {aligned, most}));
    checks.write += double{task.seconds.copy};
    const size_t bytes =
        reinterpret_cast<const TaskHeader*>(aligned)->total_bytes;
    std::unique_ptr<std::byte, Free> block(static_cast<std::byte*>(
        std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
    std::copy_n(aligned, bytes, block.get());
    tasks.emplace_back(std::move(block), bytes);
    checks.bytes += static_cast<double>(bytes);
  }
  const Stopwatch watch;
  for (const auto& [block, bytes] : tasks) {
    FGNN_RETURN_IF_ERROR(
        ReadTask({block.get(), bytes}, options.job_key).status());
  }
  checks.read = watch.Seconds();
  const double batches = flags.batches;
  return Checks{checks.bytes / batches, checks.write / batches,
                checks.read / batches};
}

// Claim, publish, claim, release: seconds of one batch's way without its task.
absl::StatusOr<double> TimeSlots() {
  constexpr uint64_t kBatches = 200'000;
  SegmentOptions options;
  options.num_slots = 16;
  options.slot_bytes = 4096;
  options.batches_per_epoch = kBatches;
  options.epochs = 1;
  options.num_parameters = 1;
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<Segment> segment,
                        Segment::Create(options));
  GlobalQueue sampler(segment.get(), OwnerIndex{1});
  GlobalQueue trainer(segment.get(), OwnerIndex{2});
  sampler.OpenForSampling(BatchSeq(kBatches));
  const Stopwatch watch;
  for (BatchSeq seq(0); seq < BatchSeq(kBatches); ++seq) {
    FGNN_ASSIGN_OR_RETURN(auto written, sampler.TryClaimForWriting());
    FGNN_RETURN_IF_ERROR(std::move(*written).Publish());
    FGNN_ASSIGN_OR_RETURN(auto read, trainer.TryClaimForReading(seq, seq + 1));
    FGNN_RETURN_IF_ERROR(std::move(*read).Release());
  }
  return watch.Seconds() / kBatches;
}

absl::Status Main(const Flags& flags) {
  FGNN_ASSIGN_OR_RETURN(const double epoch, EpochSecondsPerBatch(flags.run));
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(flags.dataset, Validation::kStructure));
  FGNN_ASSIGN_OR_RETURN(const Checks checks, TimeChecks(flags, dataset));
  FGNN_ASSIGN_OR_RETURN(const double slots, TimeSlots());
  std::cout << nlohmann::ordered_json{{"task_bytes", checks.bytes},
                                      {"write_seconds", checks.write},
                                      {"read_seconds", checks.read},
                                      {"slot_seconds", slots},
                                      {"epoch_seconds_per_batch", epoch},
                                      {"share_of_epoch",
                                       (checks.write + checks.read + slots) /
                                           epoch}}
            << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  fgnn::Flags flags;
  fgnn::CommandLine line("What crash safety costs", "fgnn_bench_crash_safety");
  const fgnn::Command app = line.root();
  app.AddOption("--run", flags.run, "A run's folder, of this machine")
      .Required();
  app.AddOption("--dataset", flags.dataset, "That it was trained on")
      .Required();
  app.AddOption("--fanouts", flags.fanouts, "Of its job").SplitAt(',');
  app.AddOption("--batch-size", flags.batch_size, "Of its job");
  app.AddOption("--batches", flags.batches, "To be measured")
      .Between(uint32_t{1}, UINT32_MAX);
  if (const auto code = line.ParseMain(argc, argv)) return *code;
  const absl::Status status = fgnn::Main(flags);
  if (!status.ok()) std::cerr << fgnn::MessageOf(status) << "\n";
  return fgnn::ExitCode(status);
}
