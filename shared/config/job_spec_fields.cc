// The fields that a JobSpec and its message share, each in one list that is
// read both ways.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/config/job_spec_proto.h"
#include "shared/config/rules/job_rules.h"

namespace fgnn {
namespace {

// Direction of a copy: from the message, or into it.
struct Read {
  template <typename Value, typename Get, typename Set>
  void operator()(Value& value, const Get& get, const Set& /*set*/) const {
    value = get();
  }
};
struct Write {
  template <typename Value, typename Get, typename Set>
  void operator()(const Value& value, const Get& /*get*/,
                  const Set& set) const {
    set(value);
  }
};

// Copies between `value` and the field of a message, in the direction `copy`.
#define FGNN_FIELD(value, message, field)       \
  copy(                                         \
      value, [&] { return (message).field(); }, \
      [&](const auto& set) { (message).set_##field(set); })

template <typename Copy, typename Spec, typename Message>
void CopyModel(const Copy& copy, Spec& model, Message& message) {
  FGNN_FIELD(model.kind, message, kind);
  FGNN_FIELD(model.layers, message, layers);
  FGNN_FIELD(model.hidden, message, hidden);
  FGNN_FIELD(model.dropout, message, dropout);
  FGNN_FIELD(model.input_dropout, message, input_dropout);
  FGNN_FIELD(model.aggregator, message, aggregator);
  FGNN_FIELD(model.heads, message, heads);
  FGNN_FIELD(model.attention_dropout, message, attention_dropout);
  FGNN_FIELD(model.normalization, message, normalization);
  FGNN_FIELD(model.residual, message, residual);
  FGNN_FIELD(model.degree_norm, message, degree_norm);
  FGNN_FIELD(model.plugin, message, plugin);
  FGNN_FIELD(model.file, message, file);
}

template <typename Copy, typename Spec, typename Message>
void CopySampling(const Copy& copy, Spec& sampling, Message& message) {
  FGNN_FIELD(sampling.kind, message, kind);
  FGNN_FIELD(sampling.batch_size, message, batch_size);
  FGNN_FIELD(sampling.threads, message, threads);
  FGNN_FIELD(sampling.replace, message, replace);
  FGNN_FIELD(sampling.resample, message, resample);
  FGNN_FIELD(sampling.weights, message, weights);
  FGNN_FIELD(sampling.plugin, message, plugin);
  FGNN_FIELD(sampling.batch_dependency, message, batch_dependency);
  FGNN_FIELD(sampling.order, message, order);
  FGNN_FIELD(sampling.window, message, window);
}

template <typename Copy, typename Spec, typename Message>
void CopyWalks(const Copy& copy, Spec& sampling, Message& message) {
  FGNN_FIELD(sampling.num_walks, message, num);
  FGNN_FIELD(sampling.walk_length, message, length);
  FGNN_FIELD(sampling.walk_restart, message, restart);
}

template <typename Copy, typename Spec, typename Message>
void CopyTraining(const Copy& copy, Spec& training, Message& message) {
  FGNN_FIELD(training.epochs, message, epochs);
  FGNN_FIELD(training.task, message, task);
  FGNN_FIELD(training.negatives, message, negatives);
  FGNN_FIELD(training.exclude_seed_edges, message, exclude_seed_edges);
  FGNN_FIELD(training.optimizer, message, optimizer);
  FGNN_FIELD(training.momentum, message, momentum);
  FGNN_FIELD(training.learning_rate, message, learning_rate);
  FGNN_FIELD(training.schedule, message, schedule);
  FGNN_FIELD(training.plateau_epochs, message, plateau_epochs);
  FGNN_FIELD(training.warmup_steps, message, warmup_steps);
  FGNN_FIELD(training.weight_decay, message, weight_decay);
  FGNN_FIELD(training.clip_norm, message, clip_norm);
  FGNN_FIELD(training.seed, message, seed);
  FGNN_FIELD(training.batches_per_step, message, batches_per_step);
  FGNN_FIELD(training.label_smoothing, message, label_smoothing);
  FGNN_FIELD(training.sync, message, sync);
  FGNN_FIELD(training.staleness, message, staleness);
  FGNN_FIELD(training.deterministic, message, deterministic);
  FGNN_FIELD(training.precision, message, precision);
  FGNN_FIELD(training.evaluate_every, message, evaluate_every);
  FGNN_FIELD(training.patience, message, patience);
  FGNN_FIELD(training.checkpoint_every, message, checkpoint_every);
  FGNN_FIELD(training.checkpoint_steps, message, checkpoint_steps);
  FGNN_FIELD(training.keep_checkpoints, message, keep_checkpoints);
  FGNN_FIELD(training.threads, message, threads);
}

template <typename Copy, typename Spec, typename Message>
void CopyCache(const Copy& copy, Spec& cache, Message& message) {
  FGNN_FIELD(cache.policy, message, policy);
  FGNN_FIELD(cache.epochs, message, epochs);
  FGNN_FIELD(cache.plugin, message, plugin);
}

template <typename Copy, typename Spec, typename Message>
void CopyFeatures(const Copy& copy, Spec& features, Message& message) {
  FGNN_FIELD(features.store, message, store);
  FGNN_FIELD(features.ahead, message, ahead);
  FGNN_FIELD(features.match, message, match);
}

template <typename Copy, typename Spec, typename Message>
void CopyDeviceRequest(const Copy& copy, Spec& request, Message& message) {
  FGNN_FIELD(request.kind, message, kind);
  FGNN_FIELD(request.min, message, min);
  FGNN_FIELD(request.max, message, max);
}

template <typename Copy, typename Spec, typename Message>
void CopyJob(const Copy& copy, Spec& spec, Message& message) {
  FGNN_FIELD(spec.dataset, message, dataset);
  FGNN_FIELD(spec.executors, message, executors);
  FGNN_FIELD(spec.samplers, message, samplers);
  FGNN_FIELD(spec.trainers, message, trainers);
  FGNN_FIELD(spec.switching, message, switching);
}

#undef FGNN_FIELD

constexpr char kAuto[] = "auto";

// Returns the text of a share; 17 digits tell all values apart.
std::string TextOfShare(const std::optional<double>& share) {
  return share.has_value() ? absl::StrFormat("%.17g", *share) : kAuto;
}

}  // namespace

JobSpec FromProto(const v1::JobSpec& from) {
  JobSpec to;
  CopyJob(Read(), to, from);
  CopyModel(Read(), to.model, from.model());
  CopySampling(Read(), to.sampling, from.sampling());
  to.sampling.fanouts.assign(from.sampling().fanouts().begin(),
                             from.sampling().fanouts().end());
  CopyWalks(Read(), to.sampling, from.sampling().walks());
  CopyTraining(Read(), to.training, from.training());
  CopyCache(Read(), to.cache, from.cache());
  to.cache.capacity = CapacityIn(from.cache().capacity());
  to.cache.standby_capacity = CapacityIn(from.cache().standby_capacity());
  to.devices = {from.devices().begin(), from.devices().end()};
  if (from.has_device_request()) {
    CopyDeviceRequest(Read(), to.device_request.emplace(),
                      from.device_request());
  }
  CopyFeatures(Read(), to.features, from.features());
  to.queue_slots = from.queue().slots();
  // An effective spec has been through MakeEffective(), so this is a number.
  to.limits.memory_bytes = MemoryLimit(from).value_or(std::nullopt);
  to.limits.restarts = from.limits().restarts();
  return to;
}

v1::JobSpec ToProto(const JobSpec& from) {
  v1::JobSpec to;
  CopyJob(Write(), from, to);
  CopyModel(Write(), from.model, *to.mutable_model());
  v1::SamplingSpec& sampling = *to.mutable_sampling();
  CopySampling(Write(), from.sampling, sampling);
  sampling.mutable_fanouts()->Add(from.sampling.fanouts.begin(),
                                  from.sampling.fanouts.end());
  CopyWalks(Write(), from.sampling, *sampling.mutable_walks());
  CopyTraining(Write(), from.training, *to.mutable_training());
  v1::CacheSpec& cache = *to.mutable_cache();
  CopyCache(Write(), from.cache, cache);
  cache.set_capacity(TextOfShare(from.cache.capacity));
  cache.set_standby_capacity(TextOfShare(from.cache.standby_capacity));
  // Devices answer the request for them.
  if (from.devices.empty() && from.device_request.has_value()) {
    CopyDeviceRequest(Write(), *from.device_request,
                      *to.mutable_device_request());
  }
  to.mutable_devices()->Add(from.devices.begin(), from.devices.end());
  CopyFeatures(Write(), from.features, *to.mutable_features());
  to.mutable_queue()->set_slots(from.queue_slots);
  v1::LimitsSpec& limits = *to.mutable_limits();
  limits.set_memory(from.limits.memory_bytes.has_value()
                        ? absl::StrCat(*from.limits.memory_bytes)
                        : kAuto);
  limits.set_restarts(from.limits.restarts);
  return to;
}

}  // namespace fgnn
