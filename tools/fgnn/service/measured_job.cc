#include "tools/fgnn/service/measured_job.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sampler_service/job/job_sampling.h"
#include "sampler_service/sampling/profile.h"
#include "scheduler/planning/placement.h"
#include "shared/base/status.h"
#include "shared/config/job_spec_proto.h"
#include "shared/config/state_dir.h"
#include "shared/device/device.h"
#include "shared/device/memory.h"
#include "tools/fgnn/service/devices_for_job.h"
#include "tools/fgnn/service/program.h"
#include "tools/fgnn/service/trainer_profile.h"

namespace fgnn {
namespace {

// Returns the device of the job's first sampler on cores, or on a GPU if there
// is none.
absl::StatusOr<Device> FirstSampler(const JobSpec& spec) {
  const std::vector<Device> cores = DevicesThatOnlySample(spec.devices);
  return OnThisMachine(cores.empty() ? ExecutorsOf(spec).front().device
                                     : cores.front());
}

absl::StatusOr<uint32_t> SamplerThreads(const JobSpec& spec) {
  if (spec.sampling.threads > 0) return spec.sampling.threads;
  FGNN_ASSIGN_OR_RETURN(const Device device, FirstSampler(spec));
  return static_cast<uint32_t>(device.cores.size());
}

// Where a plan measures.
struct Programs {
  std::filesystem::path state_dir = {};
  std::filesystem::path sampler = {};
  std::filesystem::path trainer = {};
  // Why GPUs are not used; empty: they are, or the job has none.
  std::string why_no_gpus = {};
};

bool IsGpu(const Device& device) { return device.kind == DeviceKind::kCuda; }

// Returns the device on which to measure the work of a device: cores, if GPUs
// are not used.
absl::StatusOr<Device> MeasuredOn(const Device& of_job,
                                  const Programs& programs) {
  FGNN_ASSIGN_OR_RETURN(Device device, OnThisMachine(of_job));
  if (!IsGpu(device) || programs.why_no_gpus.empty()) return device;
  return ParseDevice(DeviceName(device.cores));
}

// Returns the first GPU of the job; nullopt: it has none.
std::optional<Device> FirstGpu(const JobSpec& spec) {
  const auto gpu =
      std::find_if(spec.devices.begin(), spec.devices.end(), IsGpu);
  return gpu == spec.devices.end() ? std::nullopt : std::optional(*gpu);
}

// Returns whether the job has samplers on cores and on GPUs.
bool SamplesOnBoth(const JobSpec& spec) {
  return KindsWith(ExecutorRole::kSampler, ExecutorsOf(spec)).size() > 1;
}

absl::StatusOr<Programs> FindPrograms(const JobSpec& spec,
                                      const std::filesystem::path& state_dir) {
  Programs programs = {.state_dir = state_dir};
  FGNN_ASSIGN_OR_RETURN(programs.trainer, FindProgram("fgnn-trainer"));
  if (!FirstGpu(spec).has_value()) return programs;
  FGNN_ASSIGN_OR_RETURN(programs.sampler, FindProgram("fgnn-sampler"));
  const absl::StatusOr<size_t> gpus = CountGpus(programs.sampler);
  if (!gpus.ok()) programs.why_no_gpus = MessageOf(gpus.status());
  return programs;
}

// nullopt: the job has no GPU, or it was measured there.
std::optional<std::string> NoteOnGpu(const JobSpec& spec,
                                     const Programs& programs) {
  const std::optional<Device> gpu = FirstGpu(spec);
  if (!gpu.has_value() || programs.why_no_gpus.empty()) return std::nullopt;
  return absl::StrCat("the job is measured on cores (", programs.why_no_gpus,
                      "): the times of ", gpu->name,
                      " are theirs, and the memory that the job takes there is "
                      "not in the plan");
}

// Measures sampling on cores in this program, where the scheduler would ask a
// sampler. This program is about as large as a sampler.
absl::StatusOr<SamplingProfile> MeasureSamplingHere(const JobSpec& spec,
                                                    const JobSampling& job,
                                                    uint32_t num_threads) {
  return ProfileSampling(
      job.input(), job.options,
      {.num_batches = kProfiledBatches,
       .num_threads = num_threads,
       .order_bytes = job.order_bytes(),
       .factory = job.factory,
       .limit_bytes = spec.limits.memory_bytes.value_or(UINT64_MAX),
       .check = nullptr});
}

// Fills in what samplers measure, one on each kind of device that has some, and
// the dataset's shape.
absl::Status MeasureSampling(const v1::JobSpec& effective,
                             const Programs& programs, PlanInput* input) {
  const JobSpec& spec = input->spec;
  FGNN_ASSIGN_OR_RETURN(const uint32_t num_threads, SamplerThreads(spec));
  FGNN_ASSIGN_OR_RETURN(
      const JobSampling job,
      OpenJobSampling(spec, {.num_threads = num_threads,
                             .plugins = PluginFolder(programs.state_dir),
                             .state_dir = programs.state_dir}));
  input->dataset = ShapeOf(job.dataset.sizes(), spec.training);
  const auto measure =
      [&](const Device& of_job) -> absl::StatusOr<SamplingProfile> {
    FGNN_ASSIGN_OR_RETURN(const Device device, MeasuredOn(of_job, programs));
    if (!IsGpu(device)) return MeasureSamplingHere(spec, job, num_threads);
    return AskForSamplingProfile(programs.sampler, programs.state_dir,
                                 effective, kProfiledBatches, device.name);
  };
  FGNN_ASSIGN_OR_RETURN(const Device first, FirstSampler(spec));
  FGNN_ASSIGN_OR_RETURN(input->sampling, measure(first));
  if (!programs.why_no_gpus.empty() || !SamplesOnBoth(spec)) {
    return absl::OkStatus();
  }
  FGNN_ASSIGN_OR_RETURN(input->sampling_on_gpus, measure(*FirstGpu(spec)));
  return absl::OkStatus();
}

// Makes it the input of the plan of the job's first host.
void PlanForFirst(const std::vector<HostShare>& hosts, PlanInput& input) {
  if (hosts.size() < 2) return;
  input.num_hosts = hosts.size();
  for (size_t i = 1; i < hosts.size(); ++i) {
    input.places_after += hosts[i].num_places;
  }
  input.spec = OnHost(std::move(input.spec), hosts.front().name);
}

}  // namespace

absl::StatusOr<MeasuredJob> MeasureJob(const v1::JobSpec& effective,
                                       const std::filesystem::path& state_dir) {
  MeasuredJob measured;
  PlanInput& input = measured.input;
  input.job_key = 1;
  input.spec = FromProto(effective);
  if (effective.has_device_request()) {
    FGNN_ASSIGN_OR_RETURN(input.spec.devices,
                          DevicesForJob(effective, CountGpusHere));
  }
  measured.hosts = HostSharesOf(input.spec);
  PlanForFirst(measured.hosts, input);
  const JobSpec& spec = input.spec;
  FGNN_ASSIGN_OR_RETURN(const Programs programs, FindPrograms(spec, state_dir));
  measured.note = NoteOnGpu(spec, programs);
  FGNN_RETURN_IF_ERROR(MeasureSampling(effective, programs, &input));
  const Device trainer =
      FirstDeviceWith(ExecutorRole::kTrainer, ExecutorsOf(spec));
  FGNN_ASSIGN_OR_RETURN(const Device device, MeasuredOn(trainer, programs));
  FGNN_ASSIGN_OR_RETURN(
      input.training,
      AskForTrainingProfile(programs.trainer, programs.state_dir, effective,
                            input.sampling.hops, device.name));
  FGNN_ASSIGN_OR_RETURN(input.available_bytes, AvailableMemoryBytes());
  return measured;
}

}  // namespace fgnn
