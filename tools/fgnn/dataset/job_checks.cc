#include "tools/fgnn/dataset/job_checks.h"

#include <algorithm>
#include <thread>

#include "absl/strings/str_cat.h"
#include "sampler_service/job/job_sampling.h"
#include "scheduler/files/job_dataset.h"
#include "scheduler/files/submission.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "shared/graph/dataset.h"
#include "trainer_service/nn/job_model.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// The devices of a job whose file names none. No check depends on them.
constexpr char kDevice[] = "cpu:0";

absl::StatusOr<JobSpec> ReadSpecOf(const fs::path& job_file,
                                   const fs::path& dataset) {
  FGNN_ASSIGN_OR_RETURN(v1::JobSpec spec, ReadJobFile(job_file, {}));
  spec.set_dataset(fs::absolute(dataset).lexically_normal().string());
  FGNN_ASSIGN_OR_RETURN(const v1::JobSpec effective,
                        MakeEffective(std::move(spec), {kDevice}));
  return FromProto(effective);
}

}  // namespace

std::vector<TaskCheck> CheckTasks(const fs::path& dataset) {
  std::vector<TaskCheck> checks;
  for (const Objective objective :
       {Objective::kClasses, Objective::kLinks, Objective::kValues,
        Objective::kLabelSets}) {
    JobSpec spec;
    spec.dataset = dataset;
    spec.training.task = std::string(TaskOf(objective));
    checks.push_back({spec.training.task, LookAtDataset(spec).status()});
  }
  return checks;
}

absl::Status CheckJob(const fs::path& job_file, const fs::path& dataset) {
  FGNN_ASSIGN_OR_RETURN(const JobSpec spec, ReadSpecOf(job_file, dataset));
  KnownDatasets datasets;
  FGNN_RETURN_IF_ERROR(CheckSubmission(spec, /*run_dir=*/"", datasets));
  if (spec.sampling.kind == "plugin") {
    FGNN_ASSIGN_OR_RETURN(const Dataset opened,
                          Dataset::Open(spec.dataset, Validation::kShapes));
    return ModelOptionsOf(spec, opened).status();
  }
  FGNN_ASSIGN_OR_RETURN(
      const JobSampling sampling,
      OpenJobSampling(spec, {.num_threads = std::max(
                                 std::thread::hardware_concurrency(), 1U)}));
  return ModelOptionsOf(spec, sampling.dataset).status();
}

}  // namespace fgnn
