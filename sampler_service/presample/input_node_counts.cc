#include "sampler_service/presample/input_node_counts.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/input_node_tally.h"
#include "sampler_service/sampling/scratch_block.h"
#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "shared/base/threads/thread.h"

namespace fgnn {
namespace {

class Counter {
 public:
  Counter(const SamplerInput& input, const SamplerOptions& sampling,
          const CountOptions& options)
      : input_(input),
        sampling_(sampling),
        options_(options),
        bound_task_bytes_(MaxTaskBytesOf(input.graph, sampling)),
        next_(options.batches.begin.value()) {}

  absl::StatusOr<std::vector<uint32_t>> Run() {
    const uint64_t num_batches = options_.batches.size();
    const uint64_t num_threads = std::clamp<uint64_t>(
        num_batches, 1, std::max(options_.num_threads, 1u));
    std::vector<std::optional<InputNodeTally>> tallies(num_threads);
    FirstError error;
    {
      std::vector<Thread> threads;
      for (std::optional<InputNodeTally>& mine : tallies) {
        threads.emplace_back(absl::StrCat("fgnn-count-", threads.size()),
                             [&, this] {
                               error.Note(CountInThread(mine));
                               if (error.any())
                                 next_ = options_.batches.end.value();
                             });
      }
    }
    FGNN_RETURN_IF_ERROR(error.status());
    std::vector<uint32_t> sum(input_.graph.num_nodes());
    for (const std::optional<InputNodeTally>& part : tallies) {
      part->AddTo(absl::MakeSpan(sum));
    }
    return sum;
  }

 private:
  absl::Status CountInThread(std::optional<InputNodeTally>& tally) {
    FGNN_ASSIGN_OR_RETURN(tally,
                          InputNodeTally::Create(input_.graph.num_nodes()));
    FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<Sampler> sampler,
                          options_.factory(input_, sampling_));
    ScratchBlock block(bound_task_bytes_);
    for (BatchSeq seq(next_++); seq < options_.batches.end;
         seq = BatchSeq(next_++)) {
      if (options_.check) FGNN_RETURN_IF_ERROR(options_.check());
      FGNN_RETURN_IF_ERROR(block.Tally(*sampler, seq, &*tally));
    }
    return absl::OkStatus();
  }

  const SamplerInput& input_;
  const SamplerOptions& sampling_;
  const CountOptions& options_;
  const uint64_t bound_task_bytes_;
  std::atomic<uint64_t> next_;  // Number of the next batch.
};

}  // namespace

absl::StatusOr<std::vector<uint32_t>> CountInputNodes(
    const SamplerInput& input, const SamplerOptions& sampling,
    const CountOptions& options) {
  FGNN_RETURN_IF_ERROR(Validate(input, sampling));
  const BatchRange& batches = options.batches;
  if (batches.begin > batches.end) {
    return absl::InvalidArgumentError(
        absl::StrCat("batches to count begin at ", batches.begin.value(),
                     " and end before that, at ", batches.end.value()));
  }
  return Counter(input, sampling, options).Run();
}

}  // namespace fgnn
