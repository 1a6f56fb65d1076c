#include "trainer_service/backend/cpu/cpu_backend.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"
#include "trainer_service/backend/cpu/cpu_features.h"
#include "trainer_service/nn/row_shuffle.h"

namespace fgnn {
namespace {

// Returns the features as CpuFeatures. All features that callers pass came from
// NewFeatures() of this back end.
CpuFeatures* AsCpus(TaskFeatures* features) {
  return static_cast<CpuFeatures*>(features);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuBackend>> CpuBackend::OpenForJob(
    const JobSpec& spec, int num_threads,
    const std::filesystem::path& plugins) {
  FGNN_ASSIGN_OR_RETURN(std::unique_ptr<HostModel> host,
                        HostModel::OpenForJob(spec, num_threads, plugins));
  const bool are_loaded = host->features().data() == nullptr;
  const MatchChoice match = ChooseMatch(spec, are_loaded);
  if (match.matches || are_loaded) {
    LogInfo("{}", Describe(match));
  }
  return absl::WrapUnique(new CpuBackend(std::move(host), match));
}

std::unique_ptr<TaskFeatures> CpuBackend::NewFeatures() const {
  return std::make_unique<CpuFeatures>();
}

absl::StatusOr<ExtractedRows> CpuBackend::Extract(const TaskView& task,
                                                  const TaskFeatures* before,
                                                  TrainerThread thread,
                                                  TaskFeatures* features) {
  return AsCpus(features)->Extract(
      {.store = &host().features(),
       .cached = cache_.now(),
       .before = static_cast<const CpuFeatures*>(before),
       .matches = matches_},
      host().model(), task, host().team(thread));
}

std::function<void(const TaskView&)> CpuBackend::expect() const {
  std::shared_ptr<const LoadedCache> cached = cache_.now();
  if (cached->window == nullptr) return {};
  return [cached = std::move(cached)](const TaskView& task) {
    cached->window->Expect(task.seq, cached->MissesOf(task));
  };
}

absl::StatusOr<BatchResult> CpuBackend::Gradient(
    const VersionedWeights& weights, const TrainingBatch& task,
    TaskFeatures* features, absl::Span<float> gradient) {
  const CpuFeatures* const of_task = AsCpus(features);
  TrainingBatch batch = task;
  batch.features = of_task->dense();
  batch.stored_rows = of_task->stored();
  batch.indptr = dataset().graph().indptr;
  if (task.task->shares_inputs) {
    FGNN_RETURN_IF_ERROR(FetchInputs(batch));
  }
  return host().model().Gradient(weights.values, batch, gradient);
}

// Fills the features that the batch's other parts have loaded.
absl::Status CpuBackend::FetchInputs(const TrainingBatch& batch) {
  const TaskView& task = *batch.task;
  const uint64_t own = task.num_loaded_nodes();
  if (batch.shuffle == nullptr) {
    if (own == task.input_nodes.size()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("batch ", task.seq.value(),
                     " is a part, and has no exchange with the other parts"));
  }
  return batch.shuffle->Forward(static_cast<uint32_t>(task.num_hops - 1),
                                {.rows = batch.features.data(),
                                 .precision = Precision::kFloat32,
                                 .columns = model_options().input_columns,
                                 .own = own,
                                 .remote = task.input_nodes.size() - own},
                                host().team(TrainerThread::kLoop));
}

PlacedBytes CpuBackend::BytesOfFeatures(const TaskView& task) const {
  return {.host = CpuFeatures::Bytes(host().features(), host().model(), task,
                                     matches_)};
}

}  // namespace fgnn
