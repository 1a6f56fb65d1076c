#include "sampler_service/sampling/profile.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sampler_service/sampling/scratch_block.h"
#include "shared/base/status.h"
#include "shared/base/threads/thread.h"
#include "shared/base/units.h"
#include "shared/device/anonymous_memory.h"

namespace fgnn {
namespace {

// Measurements of one thread. The thread keeps its sampler, as memory is
// measured while all samplers exist.
struct ThreadProfile {
  std::unique_ptr<Sampler> sampler;
  uint64_t available_bytes = 0;  // Before any thread touched its tables.
  // Measurement of this thread. seconds_per_batch is the sum over the warm
  // batches.
  SamplingProfile seen;
  uint64_t num_warm = 0;
  double cold_seconds = 0;  // Seconds of the first batch; 0 if there was none.
  absl::Status status;
};

void TakeLargest(const std::vector<HopSize>& from, std::vector<HopSize>* to) {
  to->resize(std::max(from.size(), to->size()));
  for (size_t h = 0; h < from.size(); ++h) {
    HopSize& most = (*to)[h];
    most = {std::max(most.num_destinations, from[h].num_destinations),
            std::max(most.num_sources, from[h].num_sources),
            std::max(most.num_edges, from[h].num_edges)};
  }
}

// Returns the hops of a task that this process has just written.
std::vector<HopSize> HopsOf(absl::Span<const std::byte> block) {
  TaskHeader header;
  std::memcpy(&header, block.data(), sizeof(header));
  std::vector<HopSize> hops;
  for (uint32_t h = 0; h < header.num_hops; ++h) {
    const TaskHop& hop = header.hops[h];
    hops.push_back({hop.num_destinations, hop.num_sources, hop.num_edges});
  }
  return hops;
}

// Returns what limits.memory leaves each of so many batches that are made at
// once, beside the tables of all threads. An error says that the tables do not
// fit. Their pages are taken as batches touch them. `available`: before that.
// `program_bytes`: what the process had before.
absl::StatusOr<uint64_t> LeftForABatch(const ProfileOptions& options,
                                       uint64_t available,
                                       uint64_t program_bytes,
                                       uint64_t table_bytes,
                                       uint64_t num_batches) {
  const uint64_t limit =
      options.limit_bytes == UINT64_MAX
          ? UINT64_MAX
          : options.limit_bytes - std::min(options.limit_bytes, program_bytes);
  const uint64_t threads = std::max(options.num_threads, 1u);
  const uint64_t have = std::min(available, limit);
  const bool by_limit = limit < available;
  if (table_bytes <= have / threads) {
    return by_limit
               ? (have - threads * table_bytes) / std::min(threads, num_batches)
               : UINT64_MAX;
  }
  return absl::Status(
      by_limit ? absl::StatusCode::kInvalidArgument
               : absl::StatusCode::kResourceExhausted,
      absl::StrCat(
          by_limit ? "limits.memory: " : "memory: ", "the job needs at least ",
          FormatBytes(threads * table_bytes + (by_limit ? program_bytes : 0)),
          by_limit ? " for the program and" : " for", " the tables of ",
          threads, " threads that sample, ",
          FormatBytes(by_limit ? options.limit_bytes : have),
          by_limit ? " allowed" : " available", "; lower sampling.threads",
          by_limit ? ", or raise limits.memory" : ""));
}

absl::Status ProfileThread(const SamplerInput& input,
                           const SamplerOptions& sampling,
                           const ProfileOptions& options, uint64_t num_batches,
                           std::atomic<uint64_t>& next,
                           ThreadProfile& profile) {
  FGNN_ASSIGN_OR_RETURN(profile.sampler, options.factory(input, sampling));
  SamplingProfile& seen = profile.seen;
  FGNN_ASSIGN_OR_RETURN(
      const uint64_t left_bytes,
      LeftForABatch(options, profile.available_bytes, seen.program_bytes,
                    profile.sampler->workspace_bytes(), num_batches));
  ScratchBlock block(seen.bound_task_bytes, left_bytes);
  for (uint64_t batch = next++; batch < num_batches; batch = next++) {
    if (options.check) FGNN_RETURN_IF_ERROR(options.check());
    FGNN_ASSIGN_OR_RETURN(const SampledTask task,
                          block.Sample(*profile.sampler, BatchSeq(batch)));
    TakeLargest(HopsOf(block.bytes()), &seen.hops);
    seen.max_task_bytes = std::max(seen.max_task_bytes, task.bytes);
    seen.max_input_nodes =
        std::max<uint64_t>(seen.max_input_nodes, task.num_input_nodes);
    seen.max_edges = std::max(seen.max_edges, task.num_edges);
    const double seconds = double{task.seconds.sample} + task.seconds.id_map +
                           task.seconds.mark + task.seconds.copy;
    if (profile.cold_seconds == 0) {
      profile.cold_seconds = seconds;
    } else {
      seen.seconds_per_batch += seconds;
      ++profile.num_warm;
    }
  }
  return absl::OkStatus();
}

SamplingProfile Merge(const std::vector<ThreadProfile>& threads) {
  SamplingProfile all;
  double cold_seconds = 0;
  double warm_seconds = 0;
  uint64_t num_cold = 0;
  uint64_t num_warm = 0;
  for (const ThreadProfile& thread : threads) {
    const SamplingProfile& seen = thread.seen;
    all.max_task_bytes = std::max(all.max_task_bytes, seen.max_task_bytes);
    all.max_input_nodes = std::max(all.max_input_nodes, seen.max_input_nodes);
    all.max_edges = std::max(all.max_edges, seen.max_edges);
    all.bound_task_bytes = seen.bound_task_bytes;
    TakeLargest(seen.hops, &all.hops);
    cold_seconds += thread.cold_seconds;
    num_cold += thread.cold_seconds > 0 ? 1 : 0;
    warm_seconds += seen.seconds_per_batch;
    num_warm += thread.num_warm;
  }
  const double per_thread =
      num_warm > 0
          ? warm_seconds / static_cast<double>(num_warm)
          : cold_seconds / static_cast<double>(std::max<uint64_t>(num_cold, 1));
  all.seconds_per_batch = per_thread / static_cast<double>(threads.size());
  return all;
}

// Returns the bytes of tables with a word per vertex that are not yet resident.
// A few batches leave most pages untouched, unless the pages are huge; all
// batches of a job touch every page.
uint64_t FilledTableBytes(const std::vector<ThreadProfile>& threads,
                          uint64_t num_nodes) {
  const uint64_t table_bytes =
      std::min(num_nodes * sizeof(GlobalId), kHugeTableBytes);
  uint64_t sum = 0;
  for (const ThreadProfile& thread : threads) {
    sum += std::min(table_bytes, thread.sampler->workspace_bytes());
  }
  return sum;
}

}  // namespace

absl::StatusOr<SamplingProfile> ProfileSampling(const SamplerInput& input,
                                                const SamplerOptions& sampling,
                                                const ProfileOptions& options) {
  FGNN_RETURN_IF_ERROR(Validate(input, sampling));
  const uint64_t num_batches = std::min<uint64_t>(
      std::max(options.num_batches, 1u),
      BatchesPerEpoch(NumExamples(input, sampling), sampling.batch_size));
  std::vector<ThreadProfile> profiles(std::max(options.num_threads, 1u));
  const uint64_t bound = MaxTaskBytesOf(input.graph, sampling);
  FGNN_ASSIGN_OR_RETURN(const uint64_t bytes_before, AnonymousMemoryBytes());
  FGNN_ASSIGN_OR_RETURN(const uint64_t available, options.available());
  std::atomic<uint64_t> next = 0;
  {
    std::vector<Thread> threads;
    for (ThreadProfile& profile : profiles) {
      profile.available_bytes = available;
      profile.seen.bound_task_bytes = bound;
      profile.seen.program_bytes = bytes_before;
      threads.emplace_back(
          absl::StrCat("fgnn-prof-", threads.size()), [&, mine = &profile] {
            mine->status = ProfileThread(input, sampling, options, num_batches,
                                         next, *mine);
            // Ends the other threads: the rest of a failed profile is not
            // needed.
            if (!mine->status.ok()) next = num_batches;
          });
    }
  }
  for (const ThreadProfile& profile : profiles) {
    FGNN_RETURN_IF_ERROR(profile.status);
  }
  SamplingProfile all = Merge(profiles);
  FGNN_ASSIGN_OR_RETURN(const uint64_t bytes, AnonymousMemoryBytes());
  all.program_bytes = bytes_before;
  all.workspace_bytes =
      std::max(bytes - std::min(bytes, bytes_before),
               FilledTableBytes(profiles, input.graph.num_nodes()));
  if (options.order_bytes > 0) {
    // A thread that orders a window makes its batches in memory of its own.
    all.workspace_bytes += options.order_bytes + all.max_task_bytes;
  }
  all.num_threads = static_cast<uint32_t>(profiles.size());
  all.gpu = options.gpu;
  if (all.gpu.has_value()) {
    all.gpu->topology_bytes = TopologyBytesOf(input);
    for (const ThreadProfile& profile : profiles) {
      all.gpu->work_bytes += profile.sampler->device_bytes();
    }
  }
  return all;
}

}  // namespace fgnn
