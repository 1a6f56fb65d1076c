#include "tests/unit/trainer_service/daemon/small_world.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "shared/base/hash.h"
#include "shared/base/status.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/npy.h"
#include "shared/minibatch/task.h"
#include "tests/fakes/default_job.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tools/dataset/building/dataset_writer.h"
#include "tools/dataset/building/host_folders.h"

namespace fgnn {
namespace {

template <typename T>
void WriteArray(const std::filesystem::path& path, NpyType type,
                std::vector<uint64_t> row_shape, const std::vector<T>& values) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      NpyWriter writer, NpyWriter::Create(path, type, std::move(row_shape)));
  FGNN_ASSERT_OK(writer.Append(values.data(), values.size() * sizeof(T)));
  FGNN_ASSERT_OK(writer.Close());
}

// A column of the targets says what the same column of the features hints at.
void WriteSmallTargets(const std::filesystem::path& path, Objective objective) {
  std::vector<float> numbers;
  std::vector<uint8_t> bits;
  for (uint32_t v = 0; v < kSmallNodes; ++v) {
    for (uint32_t c = 0; c < kSmallClasses; ++c) {
      const bool hinted = c == v % kSmallClasses;
      numbers.push_back((hinted ? 2.0F : -1.0F) +
                        0.25F * static_cast<float>(v % 7));
      bits.push_back(hinted || (v + c) % 5 == 0 ? 1 : 0);
    }
  }
  if (objective == Objective::kValues) {
    WriteArray(path, NpyType::kF32, {kSmallClasses}, numbers);
  } else {
    WriteArray(path, NpyType::kU8, {kSmallClasses}, bits);
  }
}

}  // namespace

void WriteSmallDataset(const std::filesystem::path& folder, bool broken,
                       Objective objective) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<int64_t> indptr = {0};
  std::vector<uint32_t> indices;
  std::vector<float> features;
  std::vector<int64_t> labels;
  std::vector<int64_t> splits[3];
  for (uint32_t v = 0; v < kSmallNodes; ++v) {
    labels.push_back(v % kSmallClasses);
    splits[v % 2 == 0 ? 0 : 1 + v % 4 / 2].push_back(v);
    for (uint64_t e = random() % 6; e > 0; --e) {
      indices.push_back(static_cast<uint32_t>(random() % kSmallNodes));
    }
    indptr.push_back(static_cast<int64_t>(indices.size()));
    for (uint64_t c = 0; c < kSmallColumns; ++c) {
      // A column says a little of the class.
      const float hint = c == v % kSmallClasses ? 1.0F : 0.0F;
      features.push_back(broken ? NAN : normal(random) + hint);
    }
  }
  FGNN_ASSERT_OK_AND_ASSIGN(DatasetWriter writer,
                            DatasetWriter::Create(folder));
  WriteArray(writer.folder() / "csc_indptr.npy", NpyType::kI64, {}, indptr);
  WriteArray(writer.folder() / "indices.npy", NpyType::kU32, {}, indices);
  WriteArray(writer.folder() / "features.npy", NpyType::kF32, {kSmallColumns},
             features);
  DatasetMetadata metadata;
  if (HasTargets(objective)) {
    WriteSmallTargets(writer.folder() / "targets.npy", objective);
    metadata.target_columns = kSmallClasses;
    metadata.target_type = objective == Objective::kValues
                               ? TargetType::kFloat32
                               : TargetType::kBits;
  } else {
    FGNN_ASSERT_OK(writer.WriteLabels(labels));
    metadata.num_classes = kSmallClasses;
  }
  FGNN_ASSERT_OK(writer.WriteSplit("train", splits[0]));
  FGNN_ASSERT_OK(writer.WriteSplit("valid", splits[1]));
  FGNN_ASSERT_OK(writer.WriteSplit("test", splits[2]));
  metadata.num_nodes = kSmallNodes;
  metadata.num_edges = indices.size();
  metadata.feature_columns = kSmallColumns;
  FGNN_ASSERT_OK(writer.Commit(metadata));
}

void CutInTwo(const std::filesystem::path& dataset,
              const std::filesystem::path& out) {
  FGNN_ASSERT_OK_AND_ASSIGN(const Dataset whole,
                            Dataset::Open(dataset, Validation::kShapes));
  std::vector<uint8_t> parts(whole.num_nodes());
  for (size_t v = 0; v < parts.size(); ++v) {
    parts[v] = static_cast<uint8_t>(v * 37 % kFineParts);
  }
  FGNN_ASSERT_OK(PartitionBook::Save(whole, parts));
  FGNN_ASSERT_OK_AND_ASSIGN(const PartitionBook book,
                            PartitionBook::Open(whole));
  CutOptions options;
  options.owners = 2;
  options.out = out;
  ASSERT_THAT(CutHostFolders(whole, book, options), IsOk());
}

JobSpec SmallJob(const std::filesystem::path& dataset) {
  JobSpec spec = DefaultJob();
  spec.dataset = dataset.string();
  spec.model.kind = "graphsage";
  spec.model.layers = 2;
  spec.model.hidden = 16;
  spec.model.dropout = 0.3;
  spec.sampling.kind = "khop";
  spec.sampling.fanouts = {3, 3};
  spec.sampling.batch_size = 8;
  spec.training.epochs = 2;
  spec.training.optimizer = "adam";
  spec.training.learning_rate = 0.01;
  spec.training.weight_decay = 0.001;
  spec.training.seed = 5;
  spec.training.batches_per_step = 3;
  spec.training.sync = "steps";
  spec.training.precision = "f32";
  spec.cache.policy = "none";
  spec.cache.capacity = std::nullopt;
  spec.devices = Devs({"cpu:0"});
  spec.features.ahead = 0;  // One piece of work after the other.
  return spec;
}

SegmentOptions SmallSegmentOptions(const std::string& job_id) {
  SegmentOptions options;
  options.job_key = HashString(job_id);
  options.num_slots = 5;
  options.slot_bytes = 1 << 14;
  options.num_overflow_blocks = 1;
  options.overflow_bytes = 1 << 16;
  options.batches_per_epoch = 7;
  options.epochs = 2;
  options.batches_per_step = 3;
  options.num_parameters =
      2 * 16 * kSmallColumns + 16 + 2 * kSmallClasses * 16 + kSmallClasses;
  return options;
}

JobSpec SmallLinkJob(const std::filesystem::path& dataset) {
  JobSpec spec = SmallJob(dataset);
  spec.training.task = "link_prediction";
  spec.training.negatives = 2;
  return spec;
}

SegmentOptions SmallLinkSegmentOptions(const std::string& job_id) {
  SegmentOptions options = SmallSegmentOptions(job_id);
  options.num_parameters = 2 * 16 * kSmallColumns + 16 + 2 * 16 * 16 + 16;
  return options;
}

absl::Status WriteMadeUpTask(absl::Span<std::byte> block, uint64_t job_key,
                             BatchSeq seq, const RankOrder* order, bool links) {
  std::mt19937_64 random(1000 + seq.value());
  // The last batch of an epoch is smaller.
  uint32_t num_destinations = seq.value() % 7 == 6 ? 3 : 8;
  TaskWriter writer(block, job_key, seq, num_destinations);
  if (links) {
    constexpr uint32_t kEdges = 3;
    constexpr uint32_t kPairs = 3 * kEdges;
    FGNN_ASSIGN_OR_RETURN(uint32_t* const pairs,
                          writer.AddPairs(kPairs, kEdges));
    for (uint32_t end = 0; end < 2 * kPairs; ++end) {
      pairs[end] = static_cast<uint32_t>(random() % num_destinations);
    }
  }
  for (int hop = 0; hop < 2; ++hop) {
    const uint32_t num_sources = num_destinations * 2;
    const uint64_t num_edges = uint64_t{num_destinations} * 2;
    FGNN_ASSIGN_OR_RETURN(const TaskWriter::HopArrays arrays,
                          writer.AddHop(num_destinations, num_edges));
    arrays.indptr[0] = 0;
    for (uint32_t d = 0; d < num_destinations; ++d) {
      // One, three, one, three, … neighbours.
      arrays.indptr[d + 1] = arrays.indptr[d] + (d % 2 == 0 ? 1 : 3);
    }
    arrays.indptr[num_destinations] = static_cast<uint32_t>(num_edges);
    for (uint64_t e = 0; e < num_edges; ++e) {
      arrays.indices[e] = static_cast<uint32_t>(random() % num_sources);
    }
    writer.SetNumSources(num_sources);
    num_destinations = num_sources;
  }
  FGNN_ASSIGN_OR_RETURN(uint32_t* const nodes,
                        writer.AddInputNodes(num_destinations));
  const auto start = static_cast<uint32_t>(random() % kSmallNodes);
  for (uint32_t i = 0; i < num_destinations; ++i) {
    nodes[i] = (start + 7 * i) % kSmallNodes;
  }
  if (order != nullptr) {
    FGNN_ASSIGN_OR_RETURN(uint32_t* const ranks,
                          writer.AddHotRanks(order->version()));
    for (uint32_t i = 0; i < num_destinations; ++i) {
      ranks[i] = order->ranks()[nodes[i]];
    }
  }
  writer.Finish({});
  return absl::OkStatus();
}

absl::Status WriteTaskWithoutSeeds(absl::Span<std::byte> block,
                                   uint64_t job_key, BatchSeq seq) {
  TaskWriter writer(block, job_key, seq, /*num_seeds=*/0);
  for (int hop = 0; hop < 2; ++hop) {
    FGNN_ASSIGN_OR_RETURN(const TaskWriter::HopArrays arrays,
                          writer.AddHop(0, 0));
    arrays.indptr[0] = 0;
    writer.SetNumSources(0);
  }
  FGNN_RETURN_IF_ERROR(writer.AddInputNodes(0).status());
  writer.Finish({});
  return absl::OkStatus();
}

bool SampleNext(GlobalQueue* queue, uint64_t job_key, const RankOrder* order,
                bool links) {
  absl::StatusOr<std::optional<WriteSlot>> slot = queue->TryClaimForWriting();
  if (!slot.ok() || !slot->has_value()) return false;
  const BatchSeq seq = (*slot)->seq();
  EXPECT_THAT(WriteMadeUpTask((*slot)->block(), job_key, seq, order, links),
              IsOk());
  EXPECT_THAT((**std::move(slot)).Publish(), IsOk());
  return true;
}

}  // namespace fgnn
