// A sampler with all its input, to compare with the plain reference.
#ifndef FGNN_TESTS_UNIT_SAMPLER_SERVICE_SAMPLING_SAMPLER_CASE_H_
#define FGNN_TESTS_UNIT_SAMPLER_SERVICE_SAMPLING_SAMPLER_CASE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sampler_service/id_map/cpu/direct_id_map.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "sampler_service/sampling/own_seeds.h"
#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"
#include "tests/reference/sampling_reference.h"

namespace fgnn {

inline constexpr uint64_t kJobKey = 99;

// Memory for a task, filled with rubbish.
class TaskBlock {
 public:
  explicit TaskBlock(uint64_t bytes)
      : bytes_(bytes),
        memory_(static_cast<std::byte*>(
            std::aligned_alloc(64, (bytes + 63) / 64 * 64))) {
    std::fill_n(memory_.get(), bytes, std::byte{0xa5});
  }
  absl::Span<std::byte> span() { return {memory_.get(), bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  uint64_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

// Borrows the graph.
class SamplerCase {
 public:
  SamplerCase(const reference::CscGraph& graph, reference::Job job,
              bool wide = false,
              const LaneFunctions& lanes = SupportedDrawLanes().front())
      : graph_(graph), job_(std::move(job)), view_(graph.view(wide)) {
    job_.options.job_key = kJobKey;
    if (job_.options.algorithm == SamplingAlgorithm::kWeighted) {
      auto tables = AliasTables::Build(view_, job_.weights, 2);
      EXPECT_THAT(tables, IsOk());
      if (!tables.ok()) return;
      tables_.emplace(*std::move(tables));
      job_.cells.assign(tables_->cells().begin(), tables_->cells().end());
    }
    if (job_.seeds.are_own()) {
      own_seeds_.emplace(job_.parts_of_train, job_.seeds);
    }
    auto id_map = DirectIdMap::Create(view_.num_nodes(),
                                      MaxBatchNodes(view_, job_.options));
    EXPECT_THAT(id_map, IsOk());
    auto sampler =
        NewCpuSamplerOf({*std::move(id_map), lanes}, input(), job_.options);
    EXPECT_THAT(sampler, IsOk());
    if (!sampler.ok()) return;
    sampler_ = *std::move(sampler);
    block_.emplace(MaxTaskBytesOf(view_, job_.options));
  }

  SamplerInput input() const {
    return {.graph = view_,
            .train = job_.train,
            .weights = tables_.has_value() ? &*tables_ : nullptr,
            .train_edges = EdgeView(absl::MakeConstSpan(job_.train_edges)),
            .own_seeds = own_seeds_.has_value() ? &*own_seeds_ : nullptr};
  }
  const reference::Job& job() const { return job_; }
  uint64_t batches_per_epoch() const {
    return BatchesPerEpoch(input(), job_.options);
  }
  absl::Span<std::byte> block() { return block_->span(); }
  Sampler& sampler() { return *sampler_; }

  absl::StatusOr<SampledTask> Sample(BatchSeq seq) {
    return sampler_->Sample(seq, block());
  }
  // Samples batch `seq`. The view is valid until the next batch.
  TaskView Task(BatchSeq seq) {
    EXPECT_THAT(Sample(seq), IsOk());
    auto task = ReadTask(block(), kJobKey);
    EXPECT_THAT(task, IsOk());
    return task.ok() ? *task : TaskView();
  }

  // Looks at the first and last batch of an epoch, and at a later epoch.
  void ExpectEpochsLikeReference() {
    const uint64_t per_epoch = batches_per_epoch();
    for (const uint64_t seq : {uint64_t{0}, per_epoch - 1, 3 * per_epoch}) {
      ExpectLikeReference(BatchSeq(seq));
    }
  }
  void ExpectLikeReference(BatchSeq seq) {
    SCOPED_TRACE(absl::StrCat("seq=", seq.value()));
    FGNN_ASSERT_OK_AND_ASSIGN(const SampledTask sampled, Sample(seq));
    FGNN_ASSERT_OK_AND_ASSIGN(const TaskView task, ReadTask(block(), kJobKey));
    EXPECT_EQ(task.seq, seq);
    EXPECT_EQ(sampled.digest, task.digest);
    EXPECT_EQ(sampled.num_edges, task.num_edges());
    EXPECT_EQ(sampled.num_seeds, task.num_seeds);
    EXPECT_EQ(sampled.num_input_nodes, task.input_nodes.size());
    EXPECT_LE(sampled.bytes, block().size());
    const reference::Batch batch =
        reference::SampleBatch(graph_.lists(), job_, seq.value());
    EXPECT_EQ(task.num_seeds, batch.num_seeds);
    EXPECT_EQ(task.num_positives, batch.num_positives);
    EXPECT_THAT(task.pairs, testing::ElementsAreArray(batch.pairs));
    EXPECT_THAT(task.input_nodes, testing::ElementsAreArray(batch.input_nodes));
    ASSERT_EQ(static_cast<size_t>(task.num_hops), batch.hops.size());
    for (size_t h = 0; h < batch.hops.size(); ++h) {
      SCOPED_TRACE(absl::StrCat("hop=", h));
      const reference::Hop& hop = batch.hops[h];
      EXPECT_EQ(task.hops[h].num_sources, hop.num_sources);
      EXPECT_THAT(task.hops[h].indptr, testing::ElementsAreArray(hop.indptr));
      EXPECT_THAT(task.hops[h].indices, testing::ElementsAreArray(hop.indices));
      EXPECT_THAT(task.hops[h].weights, testing::ElementsAreArray(hop.weights));
    }
  }

 private:
  const reference::CscGraph& graph_;
  reference::Job job_;
  CscView view_;
  std::optional<AliasTables> tables_;
  std::optional<OwnSeeds> own_seeds_;
  std::unique_ptr<Sampler> sampler_;
  std::optional<TaskBlock> block_;
};

// Returns the digests of the first batches, which threads make that share the
// graph.
inline std::vector<uint32_t> DigestsOf(const reference::CscGraph& graph,
                                       const reference::Job& job,
                                       uint64_t num_batches,
                                       unsigned num_threads) {
  std::vector<uint32_t> digests(num_batches);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < num_threads; ++t) {
    threads.emplace_back([&, t] {
      SamplerCase sampling(graph, job);
      for (uint64_t seq = t; seq < num_batches; seq += num_threads) {
        const auto sampled = sampling.Sample(BatchSeq(seq));
        ASSERT_THAT(sampled, IsOk());
        digests[seq] = sampled->digest;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return digests;
}

// Returns a job of up to three hops, with fanouts of every kind.
inline reference::Job RandomJob(uint32_t num_nodes, uint64_t seed) {
  reference::TestDraws draws(seed + 2000);
  reference::Job job;
  job.train = reference::RandomTrainSet(num_nodes, seed);
  job.options.batch_size = 1 + static_cast<uint32_t>(draws.Below(40));
  job.options.seed = draws.Below(1000);
  const uint64_t num_hops = 1 + draws.Below(3);
  for (uint64_t h = 0; h < num_hops; ++h) {
    const uint64_t kind = draws.Below(8);
    const auto small = static_cast<int32_t>(1 + draws.Below(20));
    const auto large = static_cast<int32_t>(50 + draws.Below(400));
    job.options.fanouts.push_back(kind == 0 ? -1 : kind == 1 ? large : small);
  }
  return job;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SAMPLER_SERVICE_SAMPLING_SAMPLER_CASE_H_
