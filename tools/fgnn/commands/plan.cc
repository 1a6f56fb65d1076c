// plan: computes what a job would take, before any part of it is started.
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "scheduler/files/job_dataset.h"
#include "scheduler/planning/allocation.h"
#include "scheduler/planning/gpu_notes.h"
#include "scheduler/planning/job_plan.h"
#include "scheduler/planning/memory_plan.h"
#include "scheduler/planning/order_note.h"
#include "scheduler/planning/parts/part_plan.h"
#include "scheduler/times/device_times.h"
#include "shared/base/json_text.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/config/job_notes.h"
#include "shared/config/job_spec_proto.h"
#include "shared/config/rules/match_rules.h"
#include "shared/device/device.h"
#include "tools/fgnn/commands/commands.h"
#include "tools/fgnn/reports/evaluation_report.h"
#include "tools/fgnn/reports/exchange_report.h"
#include "tools/fgnn/reports/owner_report.h"
#include "tools/fgnn/reports/part_report.h"
#include "tools/fgnn/reports/text_table.h"
#include "tools/fgnn/service/job_request.h"
#include "tools/fgnn/service/measured_job.h"
#include "tools/fgnn/service/service_client.h"

namespace fgnn {
namespace {

struct PlanFlags {
  std::string job_file;
  std::vector<std::string> overrides;
};

// Returns the items of one place.
nlohmann::ordered_json ToJson(const std::vector<MemoryItem>& items,
                              std::string_view place) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const MemoryItem& item : items) {
    if (item.place != place) continue;
    array.push_back({{"name", item.name},
                     {"holder", item.holder},
                     {"device", item.device},
                     {"bytes", item.bytes}});
  }
  return array;
}

// Which rows trainers keep, why, and what it takes.
nlohmann::ordered_json MatchToJson(const PlanInput& input) {
  const MatchChoice match = ChooseMatch(input.spec, LoadsRows(input));
  // The model may read rows where they lie.
  const bool copies = input.training.match_bytes > 0;
  return {{"on", match.matches && copies},
          {"window", match.looks_ahead && copies},
          {"reason", match.reason},
          {"bytes", input.training.match_bytes}};
}

std::string MatchText(const PlanInput& input) {
  const MatchChoice match = ChooseMatch(input.spec, LoadsRows(input));
  const uint64_t bytes = input.training.match_bytes;
  if (match.matches && bytes == 0) {
    return "no rows are kept for other batches: the model reads all rows where "
           "they lie\n";
  }
  return absl::StrCat(
      Describe(match), " (features.match)",
      match.matches ? absl::StrCat("; the copies take ", FormatBytes(bytes),
                                   " of each trainer's memory")
                    : "",
      "\n");
}

// The plan of the devices' roles, and the times that it is based on.
struct DevicesPlan {
  bool has_run = false;  // Whether the times are those of the job's last run.
  std::vector<DeviceTimes> times;
  Allocation allocation;
};

// Plans the devices of a job in which they sample or train, as the service does
// before the first epoch. nullopt: the job has no such plan, or no times of a
// batch are known.
absl::StatusOr<std::optional<DevicesPlan>> PlanDevices(
    const PlanInput& input, const JobPlan& plan,
    const std::filesystem::path& state_dir) {
  if (input.spec.executors != "factored") return std::nullopt;
  std::optional<MeasuredTimes> stored =
      DeviceTimesFile(input.spec, state_dir).Read();
  MeasuredTimes times = stored.value_or(MeasuredTimes());
  FillIn(input.spec, ProfiledTimes(input), &times);
  std::optional<std::vector<DeviceTimes>> complete =
      CompleteTimes(input.spec, times);
  if (!complete.has_value()) return std::nullopt;
  AllocationInput allocation = AllocationInputOf(input.spec, plan.segment);
  allocation.devices = *complete;
  allocation.spread = times.spread;
  DevicesPlan devices;
  devices.has_run = stored.has_value();
  devices.times = *std::move(complete);
  FGNN_ASSIGN_OR_RETURN(devices.allocation, Allocate(allocation));
  return devices;
}

nlohmann::ordered_json ToJson(const DevicesPlan& devices,
                              const PlanInput& input,
                              const SegmentOptions& segment) {
  const Allocation& allocation = devices.allocation;
  nlohmann::ordered_json times = nlohmann::ordered_json::array();
  for (size_t i = 0; i < devices.times.size(); ++i) {
    const DeviceTimes& device = devices.times[i];
    times.push_back({{"device", input.spec.devices[i].name},
                     {"sample_ms", device.sample * 1e3},
                     {"train_ms", device.train * 1e3},
                     {"standby_ms", device.standby * 1e3}});
  }
  return {{"samplers", allocation.num_samplers},
          {"most_samplers", segment.most_samplers},
          {"most_trainers", segment.most_trainers},
          {"epoch_seconds", allocation.epoch_seconds},
          {"paper_samplers", allocation.paper_samplers},
          {"paper_epoch_seconds", allocation.paper_epoch_seconds},
          {"times_of", devices.has_run ? "last run" : "profile"},
          {"devices", times}};
}

std::string ToText(const DevicesPlan& devices) {
  const Allocation& allocation = devices.allocation;
  return absl::StrFormat(
      "%u of %u devices sample, by the times %s: %.2f s an epoch expected; by "
      "the paper's formula %u%s\n",
      allocation.num_samplers, allocation.plans.size(),
      devices.has_run ? "of the job's last run" : "of this profile",
      allocation.epoch_seconds, allocation.paper_samplers,
      allocation.paper_epoch_seconds > 0
          ? absl::StrFormat(", %.2f s", allocation.paper_epoch_seconds)
          : "");
}

// Returns the memory of each GPU that was measured.
nlohmann::ordered_json GpusToJson(const JobPlan& plan) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const PlaceBytes& gpu : plan.gpus) {
    array.push_back({{"gpu", gpu.place},
                     {"memory", ToJson(plan.memory, gpu.place)},
                     {"total_bytes", gpu.total_bytes},
                     {"available_bytes", gpu.have_bytes}});
  }
  return array;
}

// Returns what samplers measured on each kind of device of a job that samples
// on both.
nlohmann::ordered_json SamplingToJson(const PlanInput& input) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const DeviceKind kind : {DeviceKind::kCpu, DeviceKind::kCuda}) {
    const SamplingProfile& sampling = SamplingOn(input, kind);
    array.push_back({{"kind", WordOf(kind)},
                     {"seconds_per_batch", sampling.seconds_per_batch},
                     {"threads", sampling.num_threads},
                     {"program_bytes", sampling.program_bytes},
                     {"workspace_bytes", sampling.workspace_bytes}});
  }
  return array;
}

nlohmann::ordered_json ToJson(const PlanInput& input, const JobPlan& plan) {
  const SegmentOptions& segment = plan.segment;
  return {{"memory", ToJson(plan.memory, kHostMemory)},
          {"total_bytes", plan.total_bytes},
          {"mapped", ToJson(plan.mapped, kHostMemory)},
          {"available_bytes", HaveBytes(input)},
          {"gpus", GpusToJson(plan)},
          {"topology_on_host", segment.topology_on_host != 0},
          {"hidden_on_gpu", segment.hidden_on_gpu != 0},
          {"devices", NamesOf(input.spec.devices)},
          {"samplers", input.spec.num_samplers()},
          {"trainers", input.spec.num_trainers()},
          {"slots", segment.num_slots},
          {"batches_per_epoch", segment.batches_per_epoch},
          {"batches_per_step", segment.batches_per_step},
          {"sync", input.spec.training.sync},
          {"staleness", segment.staleness},
          {"parameters", segment.num_parameters},
          {"cache_rows", segment.cache_rows},
          {"standby_cache_rows", segment.standby_cache_rows},
          {"cache_shared", segment.shares_table()},
          {"match", MatchToJson(input)},
          {"parts", ToJson(FiguresOfParts(input))},
          {"seconds_per_sampled_batch", input.sampling.seconds_per_batch},
          {"seconds_per_trained_batch", input.training.seconds_per_batch}};
}

// Returns the number of devices that the plan is made for, of a job that leaves
// it open.
std::string DeviceCountText(const JobSpec& spec) {
  if (!spec.device_request.has_value()) return "";
  return absl::StrCat("planned for ", spec.devices.size(),
                      spec.devices.size() == 1 ? " device, " : " devices, ",
                      absl::StrJoin(NamesOf(spec.devices), " "), ", of ",
                      spec.device_request->min, " to ",
                      spec.device_request->max, "\n\n");
}

std::string GpusToText(const JobPlan& plan) {
  std::string text;
  for (const PlaceBytes& gpu : plan.gpus) {
    TextTable table({absl::StrCat("in ", gpu.place, "'s memory"), "bytes"},
                    {1});
    for (const MemoryItem& item : plan.memory) {
      if (item.place != gpu.place) continue;
      table.AddRow({item.name, FormatBytes(item.bytes)});
    }
    table.AddRow({"in all", FormatBytes(gpu.total_bytes)});
    table.AddRow({"available", FormatBytes(gpu.have_bytes)});
    absl::StrAppend(&text, "\n", table.ToString());
  }
  return text;
}

// Returns in how long a GPU samples a batch, of a job that samples on both
// kinds.
std::string OnGpusText(const PlanInput& input) {
  if (!input.sampling_on_gpus.has_value()) return "";
  return absl::StrFormat(" on cores, in %.2f ms on a GPU,",
                         input.sampling_on_gpus->seconds_per_batch * 1e3);
}

std::string ToText(const PlanInput& input, const JobPlan& plan) {
  TextTable table({"for", "device", "memory"}, {2});
  for (const MemoryItem& item : plan.memory) {
    if (item.place != kHostMemory) continue;
    table.AddRow({item.name, item.device, FormatBytes(item.bytes)});
  }
  table.AddRow({"in all", "", FormatBytes(plan.total_bytes)});
  table.AddRow({"available", "", FormatBytes(HaveBytes(input))});
  for (const MemoryItem& item : plan.mapped) {
    table.AddRow({absl::StrCat(item.name, ": mapped, may be dropped"),
                  item.device, FormatBytes(item.bytes)});
  }
  const SegmentOptions& segment = plan.segment;
  std::string text = absl::StrCat(DeviceCountText(input.spec), table.ToString(),
                                  GpusToText(plan));
  absl::StrAppend(
      &text, "\n", FormatCount(segment.batches_per_epoch),
      " batches an epoch, ", segment.batches_per_step, " a step; ",
      FormatCount(segment.num_parameters), " parameters\n",
      absl::StrFormat("a batch is sampled in %.2f ms%s and trained in %.2f ms, "
                      "and has at most %s input nodes (of %u batches)\n",
                      input.sampling.seconds_per_batch * 1e3, OnGpusText(input),
                      input.training.seconds_per_batch * 1e3,
                      FormatCount(input.sampling.max_input_nodes),
                      kProfiledBatches));
  if (segment.plans_caches()) {
    absl::StrAppend(&text,
                    segment.shares_table()
                        ? "all trainers share a cache of the features of "
                        : "each trainer caches the features of ",
                    FormatCount(segment.cache_rows), " of ",
                    FormatCount(input.dataset.num_nodes), " vertices, by ",
                    input.spec.cache.policy,
                    input.spec.has_standbys() && !segment.shares_table()
                        ? absl::StrCat("; each standby trainer of ",
                                       FormatCount(segment.standby_cache_rows))
                        : "",
                    "\n");
  }
  return absl::StrCat(text, MatchText(input), ToText(FiguresOfParts(input)));
}

// What the hosts of a job send each other.
struct PlanOverHosts {
  ExchangeReport exchange;
  // nullopt: nothing is evaluated.
  std::optional<EvaluationChoice> evaluation = std::nullopt;
};

// Returns nullopt for a job of one host. Where a service runs that knows the
// links, it has times too.
std::optional<PlanOverHosts> PlanHosts(const MeasuredJob& measured,
                                       const CommandContext& context) {
  if (measured.hosts.size() < 2) return std::nullopt;
  v1::ListDevicesResponse links;
  absl::StatusOr<ServiceClient> client = ServiceClient::Connect(context.place);
  if (client.ok()) {
    absl::StatusOr<v1::ListDevicesResponse> listed = client->ListDevices();
    if (listed.ok()) links = *std::move(listed);
  }
  PlanOverHosts plan = {
      .exchange =
          ReportExchange(measured.hosts, measured.input.training.num_parameters,
                         measured.input.training.seconds_per_batch, links)};
  if (measured.input.training.evaluation_bytes > 0) {
    plan.evaluation = PlanEvaluation(measured.input, measured.hosts, links);
  }
  return plan;
}

absl::Status Plan(const PlanFlags& flags, const CommandContext& context) {
  FGNN_ASSIGN_OR_RETURN(const v1::JobSpec written,
                        ReadJobFile(flags.job_file, flags.overrides));
  FGNN_ASSIGN_OR_RETURN(const v1::JobSpec effective,
                        MakeEffective(written, {AllCoresDevice()}));
  std::vector<std::string> notes = NotesOnJob(written, effective);
  FGNN_ASSIGN_OR_RETURN(MeasuredJob measured,
                        MeasureJob(effective, context.place.state_dir));
  const PlanInput& input = measured.input;
  FGNN_ASSIGN_OR_RETURN(const DatasetFacts facts, LookAtDataset(input.spec));
  for (const std::optional<std::string>& note :
       {NoteOnBatchSize(input.spec, input.dataset.num_train),
        NoteOnScores(input.spec, facts), NoteOnOrder(input), NoteOnNccl(input),
        NoteOnRoles(input), measured.note}) {
    if (note.has_value()) notes.push_back(*note);
  }
  FGNN_ASSIGN_OR_RETURN(const JobPlan plan, PlanJob(input));
  FGNN_ASSIGN_OR_RETURN(const std::optional<DevicesPlan> devices,
                        PlanDevices(input, plan, context.place.state_dir));
  const std::optional<PlanOverHosts> hosts = PlanHosts(measured, context);
  FGNN_ASSIGN_OR_RETURN(const std::optional<OwnerReport> owner,
                        ReportOwner(input.spec.dataset));
  if (context.json) {
    nlohmann::ordered_json json = ToJson(input, plan);
    if (owner.has_value()) json["rows"] = ToJson(*owner);
    if (hosts.has_value()) json["exchange"] = ToJson(hosts->exchange);
    if (hosts.has_value() && hosts->evaluation.has_value()) {
      json["evaluation"] = ToJson(*hosts->evaluation);
    }
    if (devices.has_value()) {
      json["allocation"] = ToJson(*devices, input, plan.segment);
    }
    if (input.sampling_on_gpus.has_value()) {
      json["sampling"] = SamplingToJson(input);
    }
    json["notes"] = notes;
    std::cout << JsonText(json, 2) << "\n";
  } else {
    PrintNotes(notes);
    std::cout << ToText(input, plan);
    if (devices.has_value()) {
      const std::string limits = DescribeRoleLimits(plan, input.spec);
      std::cout << limits << (limits.empty() ? "" : "\n") << ToText(*devices);
    }
    if (owner.has_value()) std::cout << ToText(*owner);
    if (hosts.has_value()) std::cout << ToText(hosts->exchange);
    if (hosts.has_value() && hosts->evaluation.has_value()) {
      std::cout << ToText(*hosts->evaluation);
    }
  }
  return absl::OkStatus();
}

}  // namespace

void AddPlanCommand(Command app, CommandContext& context) {
  const Command plan = app.AddSubcommand(
      "plan", "What a job would take, measured before anything is started");
  context.places["plan"] = CommandPlace::kThisMachine;
  PlanFlags& flags = OnRun(plan, context, &Plan);
  plan.AddOption("JOB", flags.job_file, "Job file (YAML)")
      .Required()
      .Takes("FILE");
  plan.AddOption("--set", flags.overrides,
                 "Override a field of the job, e.g. cache.capacity=0.2; may "
                 "be given again")
      .Takes("KEY=VALUE")
      .OneWordEach();
}

}  // namespace fgnn
