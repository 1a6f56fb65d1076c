// What every back end does on the host, whatever its device is.
#ifndef FGNN_TRAINER_SERVICE_BACKEND_CPU_HOSTED_BACKEND_H_
#define FGNN_TRAINER_SERVICE_BACKEND_CPU_HOSTED_BACKEND_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "shared/graph/dataset.h"
#include "trainer_service/backend/cpu/host_model.h"
#include "trainer_service/backend/trainer_backend.h"
#include "trainer_service/nn/model.h"

namespace fgnn {

// A back end with a HostModel. Cores of the host make its steps, and evaluate
// where no InferenceDevice does. Its bytes are those of the host.
class HostedBackend : public TrainerBackend {
 public:
  const Dataset& dataset() const final { return host_->dataset(); }
  const ModelOptions& model_options() const final {
    return host_->model().options();
  }
  const std::vector<ParameterInfo>& parameters() const final {
    return host_->model().parameters();
  }
  GradientOrigin origin() const override {
    return {.code_crc32c = host_->code_crc32c(), .gpu = {}};
  }
  void FindDerivedIn(const std::filesystem::path& state_dir) final {
    host_->FindDerivedIn(state_dir);
  }

  PartitionedStore* partitioned() const final { return host_->partitioned(); }

  absl::Status Step(uint64_t seed, const OptimizerOptions& options,
                    const StepTensors& step) final;
  absl::StatusOr<std::vector<SplitScore>> Evaluate(
      const ScoredWeights& weights,
      const std::vector<absl::Span<const int64_t>>& splits) override;
  absl::StatusOr<std::vector<EdgeRanking>> RankEdges(
      const ScoredWeights& weights, absl::Span<const EdgeView> splits) override;

  absl::StatusOr<PlacedBytes> BytesInUse() const override;
  EvaluationBytes BytesOfEvaluation() override;
  uint64_t progress(TrainerThread thread) const final;

  // See HostModel for who may use which part.
  HostModel& host() const { return *host_; }

 protected:
  explicit HostedBackend(std::unique_ptr<HostModel> host)
      : host_(std::move(host)) {}

 private:
  const std::unique_ptr<HostModel> host_;
};

}  // namespace fgnn

#endif  // FGNN_TRAINER_SERVICE_BACKEND_CPU_HOSTED_BACKEND_H_
