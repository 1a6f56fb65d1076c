// A CudaBackend on the fake runtime, a CpuBackend beside it, and made-up tasks.
#ifndef FGNN_TESTS_UNIT_TRAINER_SERVICE_BACKEND_CUDA_CUDA_BACKEND_FIXTURE_H_
#define FGNN_TESTS_UNIT_TRAINER_SERVICE_BACKEND_CUDA_CUDA_BACKEND_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/cuda/fake_cudart.h"
#include "tests/fakes/cuda/plain_products.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/trainer_service/daemon/small_world.h"
#include "trainer_service/backend/cpu/cpu_backend.h"
#include "trainer_service/backend/cuda/cuda_backend.h"
#include "trainer_service/backend/cuda/cuda_features.h"
#include "trainer_service/backend/seed_answers.h"
#include "trainer_service/compute/scratch.h"

namespace fgnn {

// A task in a block of its own.
struct MadeUpTask {
  Scratch<std::byte> memory;
  absl::Span<std::byte> block;
  TaskView view;
};

class CudaBackendTest : public testing::Test {
 protected:
  static constexpr uint64_t kKey = 5;  // Of the rank order.
  static constexpr uint64_t kJobKey = 9;
  static constexpr size_t kBlockBytes = 1 << 15;
  static constexpr size_t kMemory = size_t{256} << 20;

  CudaBackendTest() {
    SetDevice(kMemory);
    WriteSmallDataset(folder_ / "data");
    spec_ = SmallJob(folder_ / "data");
    const Dataset dataset =
        Dataset::Open(folder_ / "data", Validation::kShapes).value();
    std::vector<GlobalId> vertices(kSmallNodes);
    std::iota(vertices.rbegin(), vertices.rend(), 0U);
    EXPECT_THAT(RankOrder::Save(dataset, kKey, vertices), IsOk());
    order_.emplace(RankOrder::Open(dataset, kKey).value());
  }
  ~CudaBackendTest() override {
    cuda_.reset();
    EXPECT_EQ(AllocatedBytes(), 0U);
  }

  // Counts and errors start anew; what is allocated stays.
  static void SetDevice(size_t memory_bytes, uint64_t seed = 1) {
    simt::SetFakeDevice({.memory_bytes = memory_bytes, .seed = seed});
  }
  static size_t AllocatedBytes() {
    return simt::GetFakeCounts().allocated_bytes;
  }

  static CudaBackendOptions Options() {
    return {.device = 0, .open_products = [] {
              return absl::StatusOr<std::unique_ptr<DenseProducts>>(
                  simt::NewPlainProducts());
            }};
  }
  // The two back ends of spec_.
  void Open() {
    cuda_.reset();
    FGNN_ASSERT_OK_AND_ASSIGN(cuda_,
                              CudaBackend::OpenForJob(spec_, 2, Options()));
    FGNN_ASSERT_OK_AND_ASSIGN(cpu_, CpuBackend::OpenForJob(spec_, 2));
  }

  static TrainerCache Plan(uint64_t rows) {
    return {.rank_order_key = kKey, .rows = rows};
  }

  static std::unique_ptr<MadeUpTask> NewTask() {
    auto task = std::make_unique<MadeUpTask>();
    task->block =
        absl::MakeSpan(task->memory.Reserve(kBlockBytes), kBlockBytes);
    return task;
  }
  // `order`: that by which the task is marked, or null.
  static std::unique_ptr<MadeUpTask> MakeTask(uint64_t seq,
                                              const RankOrder* order) {
    auto task = NewTask();
    EXPECT_THAT(WriteMadeUpTask(task->block, kJobKey, BatchSeq(seq), order),
                IsOk());
    task->view = ReadTask(task->block, kJobKey).value();
    return task;
  }
  std::unique_ptr<MadeUpTask> MakeTask(uint64_t seq) const {
    return MakeTask(seq, &*order_);
  }

  absl::StatusOr<ExtractedRows> Extract(
      const TaskView& task, TaskFeatures* features,
      TrainerThread thread = TrainerThread::kLoop) {
    return cuda_->Extract(task, nullptr, thread, features);
  }
  // The gradient of the task by one of the back ends, for weights that the job
  // begins with.
  absl::StatusOr<BatchResult> Gradient(TrainerBackend& backend,
                                       const TaskView& task,
                                       TaskFeatures* features,
                                       std::vector<float>* gradient,
                                       RowShuffle* shuffle = nullptr) {
    SeedAnswers answers;
    EXPECT_THAT(
        answers.Gather(backend.dataset(), backend.model_options(), task),
        IsOk());
    weights_.resize(NumParameters(backend));
    StepTensors first;
    first.new_weights = absl::MakeSpan(weights_);
    EXPECT_THAT(
        backend.Step(spec_.training.seed, OptimizerOf(spec_.training), first),
        IsOk());
    TrainingBatch training;
    training.task = &task;
    training.seed = spec_.training.seed;
    training.epoch = 1;
    training.batch = task.seq.value();
    training.shuffle = shuffle;
    answers.AddTo(training);
    gradient->assign(NumParameters(backend), -1);
    return backend.Gradient({0, weights_}, training, features,
                            absl::MakeSpan(*gradient));
  }
  // The CUDA back end's gradient, or fails the test.
  std::vector<float> CudaGradient(const TaskView& task,
                                  TaskFeatures* features) {
    std::vector<float> gradient;
    EXPECT_THAT(Gradient(*cuda_, task, features, &gradient), IsOk());
    return gradient;
  }

  static const DeviceTaskView& ViewOf(const TaskFeatures& features) {
    return static_cast<const CudaFeatures&>(features).task().view();
  }
  // Returns the rows of all input nodes, wherever they lie in device memory.
  static std::vector<std::byte> RowsOf(const TaskFeatures& features) {
    const DeviceTaskView& task = ViewOf(features);
    const size_t row_bytes = task.columns * BytesOf(task.x_type);
    std::vector<std::byte> copied(task.num_rows * row_bytes);
    Get(task.x, copied.size(), copied.data());
    if (task.placed.places == nullptr) return copied;
    std::vector<uint32_t> places(task.num_input_nodes);
    Get(task.placed.places, places.size() * sizeof(uint32_t), places.data());
    std::vector<std::byte> rows(task.placed.capacity * row_bytes);
    Get(task.placed.table, rows.size(), rows.data());
    rows.insert(rows.end(), copied.begin(), copied.end());
    std::vector<std::byte> all;
    for (const uint32_t place : places) {
      const std::byte* const row = rows.data() + place * row_bytes;
      all.insert(all.end(), row, row + row_bytes);
    }
    return all;
  }
  static void Get(const void* from, size_t bytes, void* to) {
    const CudaStream stream = CudaStream::Make().value();
    EXPECT_EQ(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream.get()),
        cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  }
  // The same rows as the dataset has them.
  std::vector<std::byte> Expected(const TaskView& task) const {
    std::vector<std::byte> rows(task.input_nodes.size() * kSmallColumns *
                                sizeof(float));
    EXPECT_THAT(cpu_->host().features().CopyRows(
                    task.input_nodes, reinterpret_cast<float*>(rows.data())),
                IsOk());
    return rows;
  }

  TempFolder folder_;
  JobSpec spec_;
  std::optional<RankOrder> order_;
  std::unique_ptr<CudaBackend> cuda_;
  std::unique_ptr<CpuBackend> cpu_;
  std::vector<float> weights_;
};

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TRAINER_SERVICE_BACKEND_CUDA_CUDA_BACKEND_FIXTURE_H_
