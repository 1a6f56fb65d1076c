// The fields that a JobSpec and its message share, each in one list that is
// read both ways.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/config/device_list.h"
#include "shared/config/field_doc.h"
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

// Copies between a field of `part` and the message's field of that name, or of
// the other name, in the direction `copy`.
#define FGNN_FIELD_AS(field, message_field)                \
  copy(                                                    \
      part.field, [&] { return message.message_field(); }, \
      [&](const auto& value) { message.set_##message_field(value); })
#define FGNN_FIELD(field) FGNN_FIELD_AS(field, field)

template <typename Copy, typename Spec, typename Message>
void CopyModel(const Copy& copy, Spec& part, Message& message) {
  FGNN_FIELD(kind);
  FGNN_FIELD(layers);
  FGNN_FIELD(hidden);
  FGNN_FIELD(dropout);
  FGNN_FIELD(input_dropout);
  FGNN_FIELD(aggregator);
  FGNN_FIELD(heads);
  FGNN_FIELD(attention_dropout);
  FGNN_FIELD(normalization);
  FGNN_FIELD(residual);
  FGNN_FIELD(degree_norm);
  FGNN_FIELD(plugin);
  FGNN_FIELD(file);
  FGNN_FIELD(class_name);
  FGNN_FIELD(python);
}

template <typename Copy, typename Spec, typename Message>
void CopySampling(const Copy& copy, Spec& part, Message& message) {
  FGNN_FIELD(kind);
  FGNN_FIELD(batch_size);
  FGNN_FIELD(threads);
  FGNN_FIELD(replace);
  FGNN_FIELD(resample);
  FGNN_FIELD(weights);
  FGNN_FIELD(plugin);
  FGNN_FIELD(batch_dependency);
  FGNN_FIELD(order);
  FGNN_FIELD(window);
}

template <typename Copy, typename Spec, typename Message>
void CopyWalks(const Copy& copy, Spec& part, Message& message) {
  FGNN_FIELD_AS(num_walks, num);
  FGNN_FIELD_AS(walk_length, length);
  FGNN_FIELD_AS(walk_restart, restart);
}

template <typename Copy, typename Spec, typename Message>
void CopyTraining(const Copy& copy, Spec& part, Message& message) {
  FGNN_FIELD(epochs);
  FGNN_FIELD(task);
  FGNN_FIELD(negatives);
  FGNN_FIELD(exclude_seed_edges);
  FGNN_FIELD(optimizer);
  FGNN_FIELD(momentum);
  FGNN_FIELD(learning_rate);
  FGNN_FIELD(schedule);
  FGNN_FIELD(plateau_epochs);
  FGNN_FIELD(warmup_steps);
  FGNN_FIELD(weight_decay);
  FGNN_FIELD(clip_norm);
  FGNN_FIELD(seed);
  FGNN_FIELD(batches_per_step);
  FGNN_FIELD(parts);
  FGNN_FIELD(parts_on_fewer_trainers);
  FGNN_FIELD(share_inputs);
  FGNN_FIELD(label_smoothing);
  FGNN_FIELD(seeds);
  FGNN_FIELD(sync);
  FGNN_FIELD(staleness);
  FGNN_FIELD(deterministic);
  FGNN_FIELD(precision);
  FGNN_FIELD(evaluate_every);
  FGNN_FIELD(patience);
  FGNN_FIELD(checkpoint_every);
  FGNN_FIELD(checkpoint_steps);
  FGNN_FIELD(keep_checkpoints);
  FGNN_FIELD(threads);
}

template <typename Copy, typename Spec, typename Message>
void CopyCache(const Copy& copy, Spec& part, Message& message) {
  FGNN_FIELD(policy);
  FGNN_FIELD(epochs);
  FGNN_FIELD(plugin);
}

template <typename Copy, typename Spec, typename Message>
void CopyFeatures(const Copy& copy, Spec& part, Message& message) {
  FGNN_FIELD(store);
  FGNN_FIELD(ahead);
  FGNN_FIELD(match);
  FGNN_FIELD(wire);
}

template <typename Copy, typename Spec, typename Message>
void CopyHosts(const Copy& copy, Spec& part, Message& message) {
  FGNN_FIELD(min);
  FGNN_FIELD(max);
  FGNN_FIELD(evaluation);
}

template <typename Copy, typename Spec, typename Message>
void CopyLimits(const Copy& copy, Spec& part, Message& message) {
  FGNN_FIELD(restarts);
  FGNN_FIELD(host_wait);
}

template <typename Copy, typename Spec, typename Message>
void CopyDeviceRequest(const Copy& copy, Spec& part, Message& message) {
  FGNN_FIELD(kind);
  FGNN_FIELD(min);
  FGNN_FIELD(max);
}

template <typename Copy, typename Spec, typename Message>
void CopyJob(const Copy& copy, Spec& part, Message& message) {
  FGNN_FIELD(dataset);
  FGNN_FIELD(preset);
  FGNN_FIELD(executors);
  FGNN_FIELD(samplers);
  FGNN_FIELD(trainers);
  FGNN_FIELD(switching);
}

#undef FGNN_FIELD
#undef FGNN_FIELD_AS

constexpr char kAuto[] = "auto";

// Returns the bytes with the largest unit that leaves a whole number.
std::string TextOfBytes(uint64_t bytes) {
  constexpr std::pair<uint64_t, const char*> kUnits[] = {
      {uint64_t{1} << 40, "TiB"}, {1'000'000'000'000, "TB"},
      {uint64_t{1} << 30, "GiB"}, {1'000'000'000, "GB"},
      {uint64_t{1} << 20, "MiB"}, {1'000'000, "MB"},
      {uint64_t{1} << 10, "KiB"}, {1'000, "KB"}};
  for (const auto& [unit, name] : kUnits) {
    if (bytes > 0 && bytes % unit == 0) {
      return absl::StrCat(bytes / unit, name);
    }
  }
  return absl::StrCat(bytes);
}

std::string TextOfShare(const std::optional<double>& share) {
  return share.has_value() ? FormatDouble(*share) : kAuto;
}

absl::StatusOr<std::vector<Device>> DevicesOf(const v1::JobSpec& spec) {
  return DevicesOfNames({spec.devices().begin(), spec.devices().end()});
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
  // An effective spec has been through MakeEffective(), so these are devices.
  to.devices = DevicesOf(from).value_or(std::vector<Device>());
  if (from.has_device_request()) {
    CopyDeviceRequest(Read(), to.device_request.emplace(),
                      from.device_request());
  }
  CopyFeatures(Read(), to.features, from.features());
  to.hosts.shares.assign(from.hosts().shares().begin(),
                         from.hosts().shares().end());
  CopyHosts(Read(), to.hosts, from.hosts());
  to.queue_slots = from.queue().slots();
  // An effective spec has been through MakeEffective(), so this is a number.
  to.limits.memory_bytes = MemoryLimit(from).value_or(std::nullopt);
  CopyLimits(Read(), to.limits, from.limits());
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
  for (const Device& device : from.devices) to.add_devices(device.name);
  CopyFeatures(Write(), from.features, *to.mutable_features());
  to.mutable_hosts()->mutable_shares()->Add(from.hosts.shares.begin(),
                                            from.hosts.shares.end());
  CopyHosts(Write(), from.hosts, *to.mutable_hosts());
  to.mutable_queue()->set_slots(from.queue_slots);
  v1::LimitsSpec& limits = *to.mutable_limits();
  limits.set_memory(from.limits.memory_bytes.has_value()
                        ? TextOfBytes(*from.limits.memory_bytes)
                        : kAuto);
  CopyLimits(Write(), from.limits, limits);
  return to;
}

std::string ToBytes(const JobSpec& spec) {
  return ToProto(spec).SerializeAsString();
}

absl::StatusOr<JobSpec> SpecOfBytes(const std::string& bytes) {
  v1::JobSpec spec;
  if (spec.ParseFromString(bytes) && DevicesOf(spec).ok()) {
    return FromProto(spec);
  }
  return absl::DataLossError("its spec cannot be read");
}

}  // namespace fgnn
