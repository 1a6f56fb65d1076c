// A training job for all parts of the service: the effective spec, without
// protobuf types. proto/fgnn/v1/job.proto documents the fields, their units,
// ranges and defaults. FromProto() of job_spec_proto.h sets every field; until
// then numbers are 0 and words are empty.
#ifndef FGNN_SHARED_CONFIG_JOB_SPEC_H_
#define FGNN_SHARED_CONFIG_JOB_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/config/objective.h"
#include "shared/device/device.h"

namespace fgnn {

struct ModelSpec {
  // "graphsage", "gcn", "gin", "gat", "pinsage"; or one of IsUsersKind() of
  // rules/model_rules.h.
  std::string kind;
  uint32_t layers = 0;
  uint32_t hidden = 0;
  double dropout = 0;
  double input_dropout = 0;
  std::string aggregator = "";     // "graphsage" only: "mean" or "pool".
  uint32_t heads = 0;              // "gat" only.
  double attention_dropout = 0;    // "gat" only.
  std::string normalization = "";  // "none", "batch" or "layer".
  bool residual = false;
  std::string degree_norm = "";  // "gcn" only: "both" or "right".
  std::string plugin = "";       // "plugin" only.
  std::string file = "";  // "python", "torchscript" only: an absolute path.
  std::string class_name = "";  // "python" only.
  // "python" only: an absolute path; empty: python3 of the PATH.
  std::string python = "";

  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

struct SamplingSpec {
  // "khop", "khop_weighted", "labor", "random_walk" or "plugin".
  std::string kind;
  // Neighbours per hop, first hop first; -1: all.
  std::vector<int32_t> fanouts;
  uint32_t batch_size = 0;
  // Number of threads; 0: as many as the device has cores.
  uint32_t threads = 0;
  bool replace = false;
  bool resample = false;
  std::string weights = "";
  uint32_t num_walks = 0;
  uint32_t walk_length = 0;
  double walk_restart = 0;
  std::string plugin = "";  // Kind "plugin" only.
  // Batches in a row that draw a vertex's neighbours by one key.
  uint32_t batch_dependency = 1;
  std::string order = "";  // "drawn" or "matched".
  uint32_t window = 0;     // "matched" only: batches, [1, 64].

  // Returns true if batches have a weight for each edge.
  bool weighs_edges() const {
    return kind == "random_walk" || kind == "plugin";
  }
  // Returns the batches of a window within which the order of batches is not
  // the drawn one; 0: there is none.
  uint32_t matched_window() const {
    return order == "matched" && window > 1 ? window : 0;
  }

  friend bool operator==(const SamplingSpec&, const SamplingSpec&) = default;
};

struct TrainingSpec {
  uint32_t epochs = 0;
  // "node_classification", "link_prediction", "node_regression" or
  // "multi_label_classification".
  std::string task;
  uint32_t negatives = 0;           // "link_prediction" only.
  bool exclude_seed_edges = false;  // "link_prediction" only.
  std::string optimizer;            // "adam", "adamw" or "sgd".
  double momentum = 0;              // "sgd" only.
  double learning_rate = 0;
  std::string schedule;         // "constant", "cosine" or "plateau".
  uint32_t plateau_epochs = 0;  // "plateau" only.
  uint64_t warmup_steps = 0;
  double weight_decay = 0;
  double clip_norm = 0;  // Largest norm of a step's gradient; 0: no limit.
  uint64_t seed = 0;
  uint32_t batches_per_step = 0;  // W; at least 1 in an effective spec.
  uint32_t parts = 1;             // Parts P of a batch; 1: it is whole.
  // Whether parts may be more than the devices that train.
  bool parts_on_fewer_trainers = false;
  std::string share_inputs;  // "auto", "on" or "off"; see SharesInputs().
  double label_smoothing = 0;
  std::string seeds;       // "global" or "own".
  std::string sync;        // "steps", "bounded_staleness" or "nccl".
  uint32_t staleness = 0;  // "bounded_staleness" only: most versions.
  // "nccl" only: whether gradients are added in the order of the batches.
  bool deterministic = true;
  std::string precision;  // "f32", "tf32" or "bf16".
  uint32_t evaluate_every = 0;
  // Epochs without improvement; 0: the job never stops early.
  uint32_t patience = 0;
  uint32_t checkpoint_every = 0;
  // Steps between checkpoints; 0: only at ends of epochs.
  uint32_t checkpoint_steps = 0;
  uint32_t keep_checkpoints = 0;
  uint32_t threads = 0;

  Objective objective() const {
    return ObjectiveOf(task).value_or(Objective::kClasses);
  }
  bool predicts_links() const { return objective() == Objective::kLinks; }
  bool has_own_seeds() const { return seeds == "own"; }
  // Returns the most versions that the weights of a batch may be older than the
  // weights that the batch changes.
  uint32_t most_staleness() const {
    return sync == "bounded_staleness" ? staleness : 0;
  }

  friend bool operator==(const TrainingSpec&, const TrainingSpec&) = default;
};

struct CacheSpec {
  std::string policy;
  std::optional<double> capacity;  // Share of the vertices; nullopt: "auto".
  std::optional<double> standby_capacity = std::nullopt;  // "factored" only.
  uint32_t epochs = 0;      // Number of epochs that are pre-sampled or counted.
  std::string plugin = "";  // Policy "plugin" only.

  friend bool operator==(const CacheSpec&, const CacheSpec&) = default;
};

struct FeaturesSpec {
  std::string store;  // "auto", "memory" or "disk".
  // Batches whose features are extracted while another batch is trained.
  uint32_t ahead = 0;
  std::string match;  // "auto", "on", "off" or "window"; see ChooseMatch().
  // Type that features are rounded to, "f16" or "bf16"; "stored": they are not.
  std::string wire = "";

  friend bool operator==(const FeaturesSpec&, const FeaturesSpec&) = default;
};

// A request for devices of the service by number.
struct DeviceRequestSpec {
  std::string kind;  // "any", which is cores, "cpu" or "cuda".
  uint32_t min = 0;
  uint32_t max = 0;

  friend bool operator==(const DeviceRequestSpec&,
                         const DeviceRequestSpec&) = default;
};

// How the hosts of a job share its steps.
struct HostsSpec {
  // Numbers of places of each step, of the hosts in their order; empty: in
  // proportion to their devices; {0}: by their speed.
  std::vector<uint32_t> shares = {};
  // Fewest hosts, the service's own one among them; 0: those of the devices, or
  // 1 if the spec asks for no devices.
  uint32_t min = 0;
  uint32_t max = 0;             // Most hosts; 0: those of the devices.
  std::string evaluation = {};  // Who evaluates: "auto", "head" or "all".

  bool are_shares_by_speed() const {
    return shares.size() == 1 && shares.front() == 0;
  }
  bool are_shares_given() const {
    return !shares.empty() && !are_shares_by_speed();
  }

  friend bool operator==(const HostsSpec&, const HostsSpec&) = default;
};

struct LimitsSpec {
  // Limit of memory in bytes; nullopt: the memory of the machine.
  std::optional<uint64_t> memory_bytes;
  uint32_t restarts = 0;
  uint32_t host_wait = 0;  // Seconds for which a lost host is waited for.

  friend bool operator==(const LimitsSpec&, const LimitsSpec&) = default;
};

struct JobSpec {
  std::string preset =
      "";               // Name of the preset that gave fields; may be empty.
  std::string dataset;  // Absolute path.
  ModelSpec model;
  SamplingSpec sampling;
  TrainingSpec training;
  CacheSpec cache;
  // Empty only until the scheduler has answered device_request.
  std::vector<Device> devices;
  std::optional<DeviceRequestSpec> device_request;
  // "together", "factored" or "time_sharing".
  std::string executors;
  // "factored": devices that sample, 0: as planned. "together": number of
  // samplers.
  uint32_t samplers = 0;
  uint32_t trainers = 0;     // Number of trainers; "together" only.
  bool switching = false;    // "factored" only.
  uint32_t queue_slots = 0;  // Slots of the queue; 0: as planned.
  LimitsSpec limits;
  FeaturesSpec features;
  HostsSpec hosts = {};

  // Returns true if each device has a sampler and a trainer, one of which works
  // at a time. Cores beside a GPU have a sampler alone.
  bool takes_turns() const { return executors != "together"; }
  // Returns true if devices that sample have trainers for the time that is
  // left.
  bool has_standbys() const { return executors == "factored" && switching; }
  // Numbers of the job's sampler daemons and of its trainer daemons.
  uint32_t num_samplers() const {
    return takes_turns() ? static_cast<uint32_t>(devices.size()) : samplers;
  }
  uint32_t num_trainers() const;

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// Returns the spec as bytes of fgnn.v1.JobSpec, for a disk.
std::string ToBytes(const JobSpec& spec);
// Reads the bytes of an effective spec. DataLoss: they are none.
absl::StatusOr<JobSpec> SpecOfBytes(const std::string& bytes);

// Returns the text of job.yaml.
std::string ToYaml(const JobSpec& spec);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_JOB_SPEC_H_
