#include "tests/unit/sampler_service/daemon/small_job.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "sampler_service/job/job_sampling.h"
#include "shared/base/files/unique_fd.h"
#include "shared/base/hash.h"
#include "shared/graph/metadata.h"
#include "shared/graph/npy.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/status_matchers.h"
#include "tests/reference/random_graph.h"

namespace fgnn {
namespace {

constexpr uint32_t kNumNodes = 1000;
constexpr uint32_t kNumOverflowBlocks = 2;

template <typename T>
void WriteArray(const std::filesystem::path& path, NpyType type,
                const std::vector<T>& values) {
  FGNN_ASSERT_OK_AND_ASSIGN(NpyWriter writer,
                            NpyWriter::Create(path, type, {}));
  FGNN_ASSERT_OK(writer.Append(values.data(), values.size() * sizeof(T)));
  FGNN_ASSERT_OK(writer.Close());
}

void WriteDataset(const std::filesystem::path& folder) {
  const reference::CscGraph graph = reference::RandomGraph(kNumNodes, 4);
  const CscView csc = graph.view();
  const auto indices = std::get<absl::Span<const uint32_t>>(csc.indices);
  std::vector<int64_t> splits[2];
  for (int64_t v = 0; v < kNumNodes; ++v) splits[v % 2].push_back(v);
  DatasetMetadata metadata;
  metadata.name = "small";
  metadata.num_nodes = kNumNodes;
  metadata.num_edges = csc.num_edges();
  metadata.num_classes = 2;
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "metadata.yaml") << FormatMetadata(metadata);
  WriteArray(folder / "csc_indptr.npy", NpyType::kI64,
             std::vector<int64_t>(csc.indptr.begin(), csc.indptr.end()));
  WriteArray(folder / "indices.npy", NpyType::kU32,
             std::vector<uint32_t>(indices.begin(), indices.end()));
  WriteArray(folder / "labels.npy", NpyType::kI64,
             std::vector<int64_t>(kNumNodes, 1));
  WriteArray(folder / "train.npy", NpyType::kI64, splits[0]);
  WriteArray(folder / "valid.npy", NpyType::kI64, splits[1]);
  WriteArray(folder / "test.npy", NpyType::kI64, splits[1]);
}

}  // namespace

SmallJob::SmallJob()
    : dataset_(folder_ / "small"), job_key_(HashString(job_id_)) {
  WriteDataset(dataset_);
  absl::StatusOr<JobSampling> job =
      OpenJobSampling(spec(), {.job_key = job_key_});
  EXPECT_THAT(job, IsOk());
  batches_per_epoch_ = job->batches_per_epoch();
  bound_bytes_ =
      (MaxTaskBytesOf(job->dataset.graph(), job->options) + 63) / 64 * 64;
  const auto sampler = job->factory(job->input(), job->options);
  EXPECT_THAT(sampler, IsOk());
  auto* const block =
      static_cast<std::byte*>(std::aligned_alloc(64, bound_bytes_));
  for (BatchSeq seq(0); seq < BatchSeq(num_batches()); ++seq) {
    const auto task = (*sampler)->Sample(seq, {block, bound_bytes_});
    EXPECT_THAT(task, IsOk());
    digests_.push_back(task->digest);
    task_bytes_.push_back(task->bytes);
  }
  std::free(block);
  std::sort(task_bytes_.begin(), task_bytes_.end());
}

JobSpec SmallJob::spec() const {
  JobSpec spec = DefaultJob();
  spec.dataset = dataset_.string();
  spec.sampling.fanouts = {10, 5};
  spec.sampling.batch_size = 16;
  spec.training.epochs = 2;
  spec.training.seed = 11;
  return spec;
}

std::unique_ptr<Segment> SmallJob::MakeSegment(Slots slots, uint32_t num_slots,
                                               uint32_t num_devices) const {
  SegmentOptions options;
  options.job_key = job_key_;
  options.num_slots = num_slots;
  options.slot_bytes = slots == Slots::kRoomy
                           ? bound_bytes_
                           : task_bytes_[task_bytes_.size() / 2];
  options.num_overflow_blocks = kNumOverflowBlocks;
  options.overflow_bytes =
      slots == Slots::kCramped ? options.slot_bytes : bound_bytes_;
  options.batches_per_epoch = batches_per_epoch_;
  options.epochs = 2;
  options.num_parameters = 1;
  options.num_devices = num_devices;
  options.switching = 1;
  auto segment = Segment::Create(options);
  EXPECT_THAT(segment, IsOk());
  return std::move(segment).value();
}

std::unique_ptr<Segment> SmallJob::Attach(const Segment& segment) const {
  auto attached = Segment::Attach(UniqueFd(::dup(segment.fd())), job_key_);
  EXPECT_THAT(attached, IsOk());
  return std::move(attached).value();
}

void SmallJob::DamageIndices() const {
  const std::filesystem::path path = dataset_ / "indices.npy";
  constexpr std::streamoff kHeaderBytes = 128;
  const auto bytes =
      static_cast<std::streamoff>(std::filesystem::file_size(path));
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(kHeaderBytes);
  file << std::string(static_cast<size_t>(bytes - kHeaderBytes), '\xee');
}

}  // namespace fgnn
