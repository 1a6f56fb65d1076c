#include "tools/bench/split/split_bench.h"

#include <time.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "sampler_service/sampling/scratch_block.h"
#include "sampler_service/split/batch_splitter.h"
#include "shared/base/status.h"
#include "shared/minibatch/batches_per_epoch.h"
#include "shared/minibatch/task.h"
#include "tools/bench/files/task_block.h"
#include "tools/bench/hot_ranks.h"
#include "tools/bench/split/micro_batches.h"

namespace fgnn {
namespace {

// Measures the seconds that the calling thread has had of processors: what else
// the machine does counts little.
class ProcessorWatch {
 public:
  // Returns the seconds since the last call, or the construction.
  double Restart() {
    const double now = Now();
    return now - std::exchange(last_, now);
  }

 private:
  static double Now() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) +
           static_cast<double>(now.tv_nsec) * 1e-9;
  }
  double last_ = Now();
};

double MedianOf(std::vector<double> values) {
  const auto middle =
      values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// One number of parts: samplers of both kinds, and memory for P tasks.
class SplitMeasurement {
 public:
  static absl::StatusOr<SplitMeasurement> Create(
      const SamplerInput& input, const PartitionBook& book,
      const SplitBenchOptions& options, uint32_t num_parts) {
    SplitMeasurement made(input, book, options, num_parts);
    FGNN_ASSIGN_OR_RETURN(made.whole_sampler_,
                          NewCpuSampler(input, options.sampling));
    FGNN_ASSIGN_OR_RETURN(made.micro_sampler_,
                          NewCpuSampler(input, made.micro_.options()));
    const uint64_t bound = MaxPartBytes(
        MaxTaskBytesOf(input.graph, options.sampling), input.graph.num_nodes(),
        num_parts, static_cast<uint32_t>(options.sampling.fanouts.size()));
    for (uint32_t p = 0; p < num_parts; ++p) {
      FGNN_ASSIGN_OR_RETURN(
          TaskBlock block,
          TaskBlock::OfBytes(bound,
                             "--fanouts, --batch-size, --parts or "
                             "--threads"));
      made.blocks_.push_back(std::move(block));
    }
    return made;
  }

  // Samples the batches in both ways, and counts them; null: does not count.
  absl::Status Run(BatchRange batches, SplitCounter* counter) {
    SplitTimes sums;
    ProcessorWatch watch;
    for (BatchSeq seq = batches.begin; seq < batches.end; ++seq) {
      watch.Restart();
      FGNN_RETURN_IF_ERROR(scratch_.Sample(*whole_sampler_, seq).status());
      sums.whole += watch.Restart();
      const TaskView whole = ViewOfTask(scratch_.bytes());
      FGNN_RETURN_IF_ERROR(splitter_.Prepare(whole));
      for (uint32_t p = 0; p < num_parts_; ++p) {
        FGNN_RETURN_IF_ERROR(splitter_.Write(p, micro_.options().job_key,
                                             whole.seconds, blocks_[p].span()));
      }
      sums.split += watch.Restart();
      if (counter != nullptr) CountParts(whole, counter);
      const BatchRange micro = micro_.Of(seq);
      watch.Restart();
      for (BatchSeq each = micro.begin; each < micro.end; ++each) {
        FGNN_RETURN_IF_ERROR(
            micro_sampler_->Sample(each, blocks_[each - micro.begin].span())
                .status());
      }
      sums.micro += watch.Restart();
      if (counter == nullptr) continue;
      for (uint64_t i = 0; i < micro.size(); ++i) {
        counter->AddMicro(ViewOfTask(blocks_[i].span()));
      }
    }
    Keep(sums, static_cast<double>(batches.size()));
    return absl::OkStatus();
  }

  // Forgets the rounds so far.
  void Forget() { whole_ = split_ = micro_seconds_ = ratios_ = {}; }

  SplitTimes Times() const {
    return {.whole = MedianOf(whole_),
            .split = MedianOf(split_),
            .micro = MedianOf(micro_seconds_),
            .ratio = MedianOf(ratios_)};
  }

 private:
  SplitMeasurement(const SamplerInput& input, const PartitionBook& book,
                   const SplitBenchOptions& options, uint32_t num_parts)
      : num_parts_(num_parts),
        micro_(input, options.sampling, num_parts),
        scratch_(MaxTaskBytesOf(input.graph, options.sampling)),
        splitter_(&book, num_parts) {}

  void CountParts(const TaskView& whole, SplitCounter* counter) const {
    counter->AddWhole(whole);
    for (const TaskBlock& block : blocks_) {
      counter->AddPart(ViewOfTask(block.span()));
    }
  }

  void Keep(const SplitTimes& sums, double batches) {
    whole_.push_back(sums.whole / batches);
    split_.push_back(sums.split / batches);
    micro_seconds_.push_back(sums.micro / batches);
    ratios_.push_back((sums.whole + sums.split) / sums.micro);
  }

  uint32_t num_parts_;
  MicroBatches micro_;
  ScratchBlock scratch_;
  BatchSplitter splitter_;
  std::unique_ptr<Sampler> whole_sampler_;
  std::unique_ptr<Sampler> micro_sampler_;
  std::vector<TaskBlock> blocks_;  // [P]
  // Of each round.
  std::vector<double> whole_;
  std::vector<double> split_;
  std::vector<double> micro_seconds_;
  std::vector<double> ratios_;
};

absl::Status ValidateFlags(const SplitBenchOptions& options) {
  FGNN_RETURN_IF_ERROR(CheckCacheShares("--cache", options.caches));
  const uint32_t batch_size = options.sampling.batch_size;
  for (const uint32_t parts : options.parts) {
    if (parts < 2 || parts > kMostParts) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--parts holds ", parts, "; give 2 to ", kMostParts, " parts"));
    }
    if (batch_size % parts != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--parts holds ", parts, ", which does not divide --batch-size ",
          batch_size, " into micro-batches; give a multiple, such as ",
          (batch_size / parts + 1) * parts));
    }
  }
  return absl::OkStatus();
}

// The batches that are counted warm the samplers up. Each round has the batches
// behind those before it.
absl::StatusOr<SplitCase> Measure(SplitMeasurement measurement,
                                  const SplitBenchOptions& options,
                                  SplitCounter counter, uint32_t num_parts) {
  BatchRange batches = {BatchSeq(0), BatchSeq(options.batches)};
  FGNN_RETURN_IF_ERROR(measurement.Run(batches, &counter));
  measurement.Forget();
  for (uint32_t round = 0; round < options.rounds; ++round) {
    batches = {batches.end, batches.end + options.batches};
    FGNN_RETURN_IF_ERROR(measurement.Run(batches, nullptr));
  }
  return SplitCase{num_parts, counter.Counts(), measurement.Times()};
}

}  // namespace

absl::StatusOr<std::vector<SplitCase>> RunSplitBench(
    const SamplerInput& input, const PartitionBook& book,
    const SplitBenchOptions& options) {
  FGNN_RETURN_IF_ERROR(ValidateFlags(options));
  FGNN_RETURN_IF_ERROR(Validate(input, options.sampling));
  FGNN_ASSIGN_OR_RETURN(const std::vector<uint32_t> ranks,
                        PrescRanks(input, options.sampling, options.threads));
  std::vector<SplitCase> cases;
  for (const uint32_t parts : options.parts) {
    FGNN_ASSIGN_OR_RETURN(
        SplitMeasurement measurement,
        SplitMeasurement::Create(input, book, options, parts));
    FGNN_ASSIGN_OR_RETURN(
        SplitCase found,
        Measure(std::move(measurement), options,
                SplitCounter(parts, ranks, options.caches), parts));
    cases.push_back(std::move(found));
  }
  return cases;
}

}  // namespace fgnn
