#include "shared/config/rules/job_rules.h"

#include <filesystem>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/config/field_text.h"
#include "shared/config/objective.h"
#include "shared/config/rules/device_rules.h"
#include "shared/config/rules/match_rules.h"
#include "shared/config/rules/model_rules.h"
#include "shared/config/rules/part_rules.h"
#include "shared/config/rules/user_code_rules.h"
#include "shared/device/device.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kAutoShare = "auto";

absl::Status CheckHops(const v1::JobSpec& spec) {
  const int hops = spec.sampling().fanouts_size();
  for (int hop = 0; hop < hops; ++hop) {
    if (spec.sampling().fanouts(hop) == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "sampling.fanouts: 0 for hop ", hop + 1,
          " is out of range; give 1 to 65535, or -1 for all neighbours"));
    }
  }
  if (static_cast<uint32_t>(hops) != spec.model().layers()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model.layers is ", spec.model().layers(),
        " but sampling.fanouts lists ", hops, hops == 1 ? " hop" : " hops",
        "; give one fanout per layer"));
  }
  return absl::OkStatus();
}

// A key that does not belong to the model is an error: it would be silently
// ignored.
absl::Status CheckModel(const v1::JobSpec& spec) {
  const v1::ModelSpec& model = spec.model();
  const auto only_for = [&](const char* field, const char* kind) {
    return HasDefault(model, field) || model.kind() == kind
               ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat(
                     "model.", field, " is for ", kind, ", but model.kind is ",
                     model.kind(), "; leave it out"));
  };
  FGNN_RETURN_IF_ERROR(only_for("aggregator", "graphsage"));
  FGNN_RETURN_IF_ERROR(only_for("attention_dropout", "gat"));
  FGNN_RETURN_IF_ERROR(only_for("degree_norm", "gcn"));
  if (model.normalization() != "none" && model.layers() == 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model.normalization is ", model.normalization(),
        ", but a model of one layer has no hidden one; leave it out"));
  }
  FGNN_RETURN_IF_ERROR(CheckModelKind({.kind = model.kind(),
                                       .hidden = model.hidden(),
                                       .heads = model.heads(),
                                       .normalization = model.normalization(),
                                       .residual = model.residual()}));
  if (model.residual() && model.layers() < 3) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model.residual is true, but of ", model.layers(),
        " layers none lies between others; leave it out, or use 3"));
  }
  return absl::OkStatus();
}

// All trainers are GPUs if a device is one.
absl::StatusOr<bool> GpusTrain(const v1::JobSpec& spec) {
  if (spec.device_request().kind() == WordOf(DeviceKind::kCuda)) return true;
  for (const std::string& name : spec.devices()) {
    FGNN_ASSIGN_OR_RETURN(const Device device, ParseDeviceName(name));
    if (device.kind == DeviceKind::kCuda) return true;
  }
  return false;
}

// Rules for what only one kind of device trains.
absl::Status CheckKindOfTrainers(const v1::JobSpec& spec) {
  FGNN_ASSIGN_OR_RETURN(const bool on_gpus, GpusTrain(spec));
  if (on_gpus) return CheckGpusTrain(spec.model().kind());
  if (spec.training().precision() != "tf32") return absl::OkStatus();
  return absl::InvalidArgumentError(
      "training.precision is tf32, which only GPUs multiply in; use f32 or "
      "bf16, or a GPU, e.g. devices: [cuda:0]");
}

// A key that does not belong to the algorithm is an error: it would be silently
// ignored.
absl::Status CheckAlgorithm(const v1::JobSpec& spec) {
  const v1::SamplingSpec& sampling = spec.sampling();
  const bool walks = sampling.kind() == "random_walk";
  if (sampling.replace() && sampling.kind() != "khop" &&
      sampling.kind() != "khop_weighted") {
    return absl::InvalidArgumentError(
        absl::StrCat("sampling.replace is true, but ", sampling.kind(),
                     " draws no neighbour twice; leave it out, or use khop or "
                     "khop_weighted"));
  }
  FGNN_RETURN_IF_ERROR(
      CheckNamed({"sampling.plugin", sampling.plugin(), "sampling.kind",
                  sampling.kind(), "plugin", "the plugin"}));
  if (sampling.weights().empty() ||
      fs::path(sampling.weights()).filename() != sampling.weights()) {
    return absl::InvalidArgumentError(
        absl::StrCat("sampling.weights: '", sampling.weights(),
                     "' is not the name of a file in the dataset's folder"));
  }
  if (sampling.order() != "matched" && !HasDefault(sampling, "window")) {
    return absl::InvalidArgumentError(
        absl::StrCat("sampling.window is ", sampling.window(),
                     ", but sampling.order is ", sampling.order(),
                     ", which has no windows; leave it out, or use "
                     "matched"));
  }
  constexpr uint64_t kMaxSteps = 4096;
  const uint64_t steps =
      uint64_t{sampling.walks().num()} * sampling.walks().length();
  if (steps > kMaxSteps) {
    return absl::InvalidArgumentError(
        absl::StrCat("sampling.walks: num * length is ", steps, "; at most ",
                     kMaxSteps, " steps of a destination are counted"));
  }
  for (const int32_t fanout : sampling.fanouts()) {
    if (walks && fanout < 0) {
      return absl::InvalidArgumentError(
          "sampling.fanouts: -1 means all neighbours, but random_walk keeps "
          "the most visited vertices; give how many");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckShare(const char* field, const std::string& text) {
  const std::optional<double> share = CapacityIn(text);
  if (text == kAutoShare || (share.has_value() && *share >= 0 && *share <= 1)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": '", text,
                   "' is not a share of the vertices; give 0 to 1, or auto"));
}

absl::Status CheckStandbyCapacity(const v1::JobSpec& spec) {
  const std::string& text = spec.cache().standby_capacity();
  FGNN_RETURN_IF_ERROR(CheckShare("cache.standby_capacity", text));
  if (text == kAutoShare ||
      (spec.executors() == "factored" && spec.switching())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("cache.standby_capacity is ", text, ", but ",
                   spec.executors() == "factored"
                       ? "switching is false"
                       : absl::StrCat("executors is ", spec.executors()),
                   ", so that there are no standby trainers; leave it out"));
}

absl::Status CheckCache(const v1::JobSpec& spec) {
  const v1::CacheSpec& cache = spec.cache();
  FGNN_RETURN_IF_ERROR(CheckShare("cache.capacity", cache.capacity()));
  FGNN_RETURN_IF_ERROR(CheckStandbyCapacity(spec));
  FGNN_RETURN_IF_ERROR(
      CheckNamed({"cache.plugin", cache.plugin(), "cache.policy",
                  cache.policy(), "plugin", "the plugin"}));
  if (cache.policy() == "online" &&
      cache.epochs() >= spec.training().epochs()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cache.policy online counts during ", cache.epochs(),
        " epochs (cache.epochs) and caches in those after them, but "
        "training.epochs is ",
        spec.training().epochs(), "; train longer, or use presc"));
  }
  return absl::OkStatus();
}

// Rows that training has changed are no features of the next batch. A window is
// a part of a cache.
absl::Status CheckMatch(const v1::JobSpec& spec) {
  if (spec.features().match() == "window" && spec.cache().policy() == "none") {
    return absl::InvalidArgumentError(
        "features.match is window, which is a part of a trainer's cache, but "
        "cache.policy is none; set it to presc, or features.match to on");
  }
  if (spec.features().match() != "on" && spec.features().match() != "window") {
    return absl::OkStatus();
  }
  const std::string why =
      WhyFeaturesChange(spec.model().kind(), spec.model().input_dropout());
  if (why.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("features.match is ", spec.features().match(), ", but ", why,
                   ", so that the next batch cannot copy them; use auto, or "
                   "off"));
}

absl::Status CheckTraining(const v1::TrainingSpec& training) {
  if (training.momentum() > 0 && training.optimizer() != "sgd") {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.momentum is ", training.momentum(),
        ", but training.optimizer is ", training.optimizer(),
        ", which has moments of its own; leave it out, or use sgd"));
  }
  if (training.sync() != "bounded_staleness" &&
      !HasDefault(training, "staleness")) {
    return absl::InvalidArgumentError(
        absl::StrCat("training.staleness is ", training.staleness(),
                     ", but training.sync is ", training.sync(),
                     ", whose weights are never old; leave it out, or use "
                     "bounded_staleness"));
  }
  if (training.sync() != "nccl" && !HasDefault(training, "deterministic")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.deterministic is for nccl, but training.sync is ",
        training.sync(), "; leave it out, or use nccl"));
  }
  if (training.patience() > 0 && training.evaluate_every() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.patience is ", training.patience(),
        ", but training.evaluate_every is 0, so that no epoch is validated; "
        "leave one of them out"));
  }
  if (training.schedule() != "plateau") return absl::OkStatus();
  if (training.evaluate_every() == 0) {
    return absl::InvalidArgumentError(
        "training.schedule is plateau, but training.evaluate_every is 0, so "
        "that no epoch is validated; validate, or use another schedule");
  }
  if (training.patience() > 0 &&
      training.patience() <= training.plateau_epochs()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.patience is ", training.patience(),
        " and training.plateau_epochs ", training.plateau_epochs(),
        ", so that the job would stop before its learning rate is lowered; "
        "let the job be more patient"));
  }
  return absl::OkStatus();
}

absl::Status CheckLabelSmoothing(const v1::TrainingSpec& training) {
  if (training.label_smoothing() == 0 ||
      training.task() == TaskOf(Objective::kClasses)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("training.label_smoothing is ", training.label_smoothing(),
                   ", but training.task is ", training.task(),
                   "; it is for node_classification, leave it out"));
}

// Rules for keys that only link prediction has, and for keys that it does not
// have.
absl::Status CheckTask(const v1::JobSpec& spec) {
  const v1::TrainingSpec& training = spec.training();
  if (training.task() != "link_prediction") {
    for (const char* const of_links : {"negatives", "exclude_seed_edges"}) {
      if (HasDefault(training, of_links)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("training.", of_links,
                       " is for link_prediction, but training.task is ",
                       training.task(), "; leave it out"));
    }
    return CheckLabelSmoothing(training);
  }
  FGNN_RETURN_IF_ERROR(CheckPredictsLinks(spec.model().kind()));
  if (training.label_smoothing() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("training.label_smoothing is ", training.label_smoothing(),
                     ", but link_prediction has no labels; leave it out"));
  }
  const std::string& policy = spec.cache().policy();
  if (policy == "vip" || policy == "auto" || policy == "plugin") {
    return absl::InvalidArgumentError(absl::StrCat(
        "cache.policy ", policy,
        " ranks by train.npy, but training.task is link_prediction; use presc, "
        "or another that counts"));
  }
  constexpr uint64_t kMostSeeds = uint64_t{1} << 24;
  const uint64_t seeds = uint64_t{spec.sampling().batch_size()} *
                         (uint64_t{training.negatives()} + 2);
  if (seeds > kMostSeeds) {
    return absl::InvalidArgumentError(
        absl::StrCat("sampling.batch_size is ", spec.sampling().batch_size(),
                     " and training.negatives ", training.negatives(),
                     ", so that a batch has ", seeds, " end points; at most ",
                     kMostSeeds, " are sampled for, lower one of them"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRules(v1::JobSpec* spec) {
  FGNN_RETURN_IF_ERROR(CheckHops(*spec));
  FGNN_RETURN_IF_ERROR(CheckUserModel(*spec));
  FGNN_RETURN_IF_ERROR(CheckModel(*spec));
  FGNN_RETURN_IF_ERROR(CheckAlgorithm(*spec));
  FGNN_RETURN_IF_ERROR(CheckDevices(spec));
  FGNN_RETURN_IF_ERROR(CheckKindOfTrainers(*spec));
  if (spec->training().sync() == "nccl") {
    FGNN_RETURN_IF_ERROR(CheckNccl(spec));
  }
  FGNN_RETURN_IF_ERROR(CheckExecutors(spec));
  FGNN_RETURN_IF_ERROR(CheckTraining(spec->training()));
  FGNN_RETURN_IF_ERROR(CheckTask(*spec));
  FGNN_RETURN_IF_ERROR(CheckCache(*spec));
  FGNN_RETURN_IF_ERROR(CheckMatch(*spec));
  FGNN_RETURN_IF_ERROR(CheckParts(*spec));
  return MemoryLimit(*spec).status();
}

absl::StatusOr<std::optional<uint64_t>> MemoryLimit(const v1::JobSpec& spec) {
  const std::string& text = spec.limits().memory();
  if (text == kAutoShare) return std::nullopt;
  const absl::StatusOr<uint64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("limits.memory: ", bytes.status().message(), ", or auto"));
  }
  if (*bytes == 0) {
    return absl::InvalidArgumentError(
        "limits.memory: 0 is out of range; write e.g. 2GiB, or auto");
  }
  return *bytes;
}

std::optional<double> CapacityIn(const std::string& text) {
  double share = 0;
  if (!absl::SimpleAtod(text, &share)) return std::nullopt;
  return share;
}

}  // namespace fgnn
