#include "tools/bench/sample_bench.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/threads/thread.h"
#include "shared/minibatch/task.h"
#include "tools/bench/files/task_block.h"
#include "tools/bench/files/task_dump.h"

namespace fgnn {
namespace {

constexpr uint32_t kWarmBatches = 5;

// The batches of a round.
struct Batches {
  BatchSeq begin;
  uint32_t count;
};

void Add(const SampleSeconds& from, SampleSeconds& to) {
  to.sample += from.sample;
  to.id_map += from.id_map;
  to.mark += from.mark;
  to.copy += from.copy;
}

// Samplers of one kind, one per thread.
class SamplerTeam {
 public:
  static absl::StatusOr<SamplerTeam> Create(const SamplerFactory& factory,
                                            const SamplerInput& input,
                                            const SampleBenchOptions& options) {
    SamplerTeam team(options);
    for (uint32_t t = 0; t < options.threads; ++t) {
      FGNN_ASSIGN_OR_RETURN(std::unique_ptr<Sampler> sampler,
                            factory(input, options.sampling));
      if (!options.marks.ranks.empty()) {
        FGNN_RETURN_IF_ERROR(sampler->MarkBy(options.marks));
      }
      FGNN_ASSIGN_OR_RETURN(TaskBlock block,
                            TaskBlock::Create(input, options.sampling));
      team.members_.push_back({std::move(sampler), std::move(block)});
    }
    return team;
  }

  // Returns the bytes of one member's workspace.
  uint64_t workspace_bytes() const {
    return members_.front().sampler->workspace_bytes();
  }

  // Samples the batches, and writes their digests to `digests` [batches.count].
  absl::StatusOr<SampleRound> Run(const Batches& batches, uint32_t* digests) {
    std::vector<SampleRound> parts(members_.size());
    std::vector<absl::Status> statuses(members_.size());
    std::atomic<uint32_t> next = 0;
    std::barrier begin(static_cast<std::ptrdiff_t>(members_.size()));
    {
      std::vector<Thread> threads;
      for (size_t t = 0; t < members_.size(); ++t) {
        threads.emplace_back("sample", [&, t] {
          begin.arrive_and_wait();
          statuses[t] =
              RunMember(members_[t], batches, next, digests, parts[t]);
        });
      }
    }
    SampleRound round;
    round.allocations = 0;
    for (size_t t = 0; t < parts.size(); ++t) {
      FGNN_RETURN_IF_ERROR(statuses[t]);
      round.seconds = std::max(round.seconds, parts[t].seconds);
      round.edges += parts[t].edges;
      round.input_nodes += parts[t].input_nodes;
      if (!parts[t].allocations.has_value()) round.allocations.reset();
      if (round.allocations) *round.allocations += *parts[t].allocations;
      Add(parts[t].stages, round.stages);
    }
    return round;
  }

 private:
  struct Member {
    std::unique_ptr<Sampler> sampler;
    TaskBlock block;
  };

  explicit SamplerTeam(const SampleBenchOptions& options)
      : thread_allocations_(options.thread_allocations) {}

  std::optional<uint64_t> CountAllocations() const {
    return thread_allocations_ == nullptr ? std::nullopt
                                          : thread_allocations_();
  }

  absl::Status RunMember(const Member& member, const Batches& batches,
                         std::atomic<uint32_t>& next, uint32_t* digests,
                         SampleRound& part) const {
    const std::optional<uint64_t> allocations = CountAllocations();
    const Stopwatch watch;
    for (uint32_t i = next++; i < batches.count; i = next++) {
      FGNN_ASSIGN_OR_RETURN(
          const SampledTask task,
          member.sampler->Sample(batches.begin + i, member.block.span()));
      digests[i] = task.digest;
      part.edges += task.num_edges;
      part.input_nodes += task.num_input_nodes;
      Add(task.seconds, part.stages);
    }
    part.seconds = watch.Seconds();
    if (allocations) part.allocations = *CountAllocations() - *allocations;
    return absl::OkStatus();
  }

  std::vector<Member> members_;
  std::optional<uint64_t> (*thread_allocations_)();
};

void KeepFaster(const SampleRound& round, std::optional<SampleRound>& best) {
  if (!best || round.edges_per_second() > best->edges_per_second()) {
    best = round;
  }
}

// Runs rounds of each kind in turns, so that other load of the machine meets
// both.
class Rounds {
 public:
  Rounds(SamplerTeam fused, std::optional<SamplerTeam> baseline,
         const SampleBenchOptions& options)
      : fused_(std::move(fused)),
        baseline_(std::move(baseline)),
        options_(options) {}

  absl::Status Run(uint32_t num_batches, bool is_counted) {
    // Other batches than before: the caches do not hold the data of these.
    const Batches batches = {end_, num_batches};
    end_ = end_ + num_batches;
    std::vector<uint32_t> digests(num_batches);
    FGNN_ASSIGN_OR_RETURN(const SampleRound fused,
                          fused_.Run(batches, digests.data()));
    if (is_counted) KeepFaster(fused, best_fused_);
    if (!baseline_) return absl::OkStatus();
    std::vector<uint32_t> others(num_batches);
    FGNN_ASSIGN_OR_RETURN(const SampleRound baseline,
                          baseline_->Run(batches, others.data()));
    if (is_counted) KeepFaster(baseline, best_baseline_);
    if (!options_.baseline->makes_same_batches) return absl::OkStatus();
    const auto differ = std::mismatch(digests.begin(), digests.end(),
                                      others.begin(), others.end());
    if (differ.first == digests.end()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(
        "batch ", (batches.begin + (differ.first - digests.begin())).value(),
        " has digest ", *differ.first, ", and ", *differ.second, " by ",
        options_.baseline->name, "; they have to be equal"));
  }

  SampleBenchResult result() const {
    return {.fused = *best_fused_,
            .baseline = best_baseline_,
            .workspace_bytes = fused_.workspace_bytes()};
  }

 private:
  SamplerTeam fused_;
  std::optional<SamplerTeam> baseline_;
  const SampleBenchOptions& options_;
  std::optional<SampleRound> best_fused_;
  std::optional<SampleRound> best_baseline_;
  BatchSeq end_;
};

}  // namespace

absl::Status ValidateBenchFlags(const SampleBenchOptions& options) {
  const std::vector<int32_t>& fanouts = options.sampling.fanouts;
  if (fanouts.empty() || fanouts.size() > kMaxHops) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--fanouts has ", fanouts.size(), " hops; give 1 to ", kMaxHops));
  }
  for (const int32_t fanout : fanouts) {
    if (fanout != -1 && (fanout < 1 || fanout > kMaxFanout)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--fanouts holds ", fanout, "; give 1 to ", kMaxFanout,
                       ", or -1 for all neighbours"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<SampleBenchResult> RunSampleBench(
    const SamplerInput& input, const SampleBenchOptions& options) {
  FGNN_RETURN_IF_ERROR(ValidateBenchFlags(options));
  FGNN_ASSIGN_OR_RETURN(SamplerTeam fused,
                        SamplerTeam::Create(NewCpuSampler, input, options));
  std::optional<SamplerTeam> baseline;
  if (options.baseline) {
    FGNN_ASSIGN_OR_RETURN(
        baseline, SamplerTeam::Create(options.baseline->make, input, options));
  }
  Rounds rounds(std::move(fused), std::move(baseline), options);
  FGNN_RETURN_IF_ERROR(
      rounds.Run(kWarmBatches * options.threads, /*is_counted=*/false));
  for (uint32_t round = 0; round < options.rounds; ++round) {
    FGNN_RETURN_IF_ERROR(rounds.Run(options.batches, /*is_counted=*/true));
  }
  SampleBenchResult result = rounds.result();
  result.num_nodes = input.graph.num_nodes();
  return result;
}

absl::Status DumpBatches(const SamplerInput& input,
                         const SampleBenchOptions& options,
                         const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return ErrnoToStatus(error.value(),
                         absl::StrCat("--dump: make ", folder.string()));
  }
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<Sampler> sampler,
                        NewCpuSampler(input, options.sampling));
  FGNN_ASSIGN_OR_RETURN(const TaskBlock block,
                        TaskBlock::Create(input, options.sampling));
  for (BatchSeq seq(0); seq < BatchSeq(options.batches); ++seq) {
    FGNN_RETURN_IF_ERROR(sampler->Sample(seq, block.span()).status());
    FGNN_ASSIGN_OR_RETURN(const TaskView task,
                          ReadTask(block.span(), options.sampling.job_key));
    FGNN_RETURN_IF_ERROR(WriteTaskNpz(
        task, folder / absl::StrCat("batch-", seq.value(), ".npz")));
  }
  return absl::OkStatus();
}

}  // namespace fgnn
