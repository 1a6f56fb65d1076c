// A trainer's back end on cores of the host.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CPU_CPU_BACKEND_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CPU_CPU_BACKEND_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/base/files/unique_fd.h"
#include "shared/config/job_spec.h"
#include "shared/config/rules/match_rules.h"
#include "trainer_service/backend/cpu/host_model.h"
#include "trainer_service/backend/cpu/hosted_backend.h"
#include "trainer_service/backend/cpu/planned_cache.h"
#include "trainer_service/backend/trainer_backend.h"

namespace fgnn {

// All device bytes are 0.
class CpuBackend final : public HostedBackend {
 public:
  // Opens the back end of a job; see HostModel::OpenForJob().
  static absl::StatusOr<std::unique_ptr<CpuBackend>> OpenForJob(
      const JobSpec& spec, int num_threads,
      const std::filesystem::path& plugins = {});

  void ShareTables(HotTableSource source) override {
    cache_.ShareTables(std::move(source));
  }
  UniqueFd SharedTable() const override { return cache_.SharedTable(); }
  absl::Status CacheAsPlanned(const TrainerCache& plan) override {
    return cache_.Follow(plan, dataset(), host().team(TrainerThread::kLoop));
  }
  bool IsCachedAs(const TrainerCache& plan) const override {
    return cache_.IsFollowed(plan);
  }
  void GiveUpMoreThan(const TrainerCache& plan) override {
    cache_.GiveUpMoreThan(plan);
  }
  // The features that are cached now. Never null; any thread.
  std::shared_ptr<const LoadedCache> cache() const { return cache_.now(); }

  std::unique_ptr<TaskFeatures> NewFeatures() const override;
  absl::StatusOr<ExtractedRows> Extract(const TaskView& task,
                                        const TaskFeatures* before,
                                        TrainerThread thread,
                                        TaskFeatures* features) override;
  std::function<void(const TaskView&)> expect() const override;
  absl::StatusOr<BatchResult> Gradient(const VersionedWeights& weights,
                                       const TrainingBatch& task,
                                       TaskFeatures* features,
                                       absl::Span<float> gradient) override;
  PlacedBytes BytesOfFeatures(const TaskView& task) const override;

 private:
  CpuBackend(std::unique_ptr<HostModel> opened, const MatchChoice& match)
      : HostedBackend(std::move(opened)),
        cache_(&host().features(), match.looks_ahead),
        matches_(match.matches) {}

  absl::Status FetchInputs(const TrainingBatch& batch);

  PlannedCache cache_;
  const bool matches_;  // See ChooseMatch().
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CPU_CPU_BACKEND_H_
