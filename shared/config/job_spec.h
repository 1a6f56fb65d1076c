// A training job as the rooms of the house see it: the effective spec without
// a trace of protobuf. Fields, units, ranges and defaults are documented in
// proto/fgnn/v1/job.proto, once.
#ifndef FGNN_SHARED_CONFIG_JOB_SPEC_H_
#define FGNN_SHARED_CONFIG_JOB_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fgnn {

struct ModelSpec {
  std::string kind;  // "graphsage", "gcn", "gin", "gat", "pinsage", …
  uint32_t layers = 2;
  uint32_t hidden = 256;
  double dropout = 0.5;
  double input_dropout = 0;
  std::string aggregator = "mean";     // Of "graphsage": or "pool".
  uint32_t heads = 8;                  // Of "gat".
  double attention_dropout = 0;        // Of "gat".
  std::string normalization = "none";  // "batch", "layer"
  bool residual = false;
  std::string degree_norm = "both";  // Of "gcn": or "right".
  std::string plugin = "";           // Of "plugin".
  std::string file = "";             // Of "torchscript": an absolute path.
};

struct SamplingSpec {
  std::string kind;              // "khop", "khop_weighted", "labor", …
  std::vector<int32_t> fanouts;  // First hop first; -1: all.
  uint32_t batch_size = 1024;
  uint32_t threads = 0;  // 0: the cores of the device.
  bool replace = false;
  bool resample = true;
  std::string weights = "edge_weights.npy";
  uint32_t num_walks = 4;
  uint32_t walk_length = 3;
  double walk_restart = 0.5;
  std::string plugin = "";  // Of kind "plugin".
};

struct TrainingSpec {
  uint32_t epochs = 10;
  std::string task = "node_classification";  // Or "link_prediction".
  uint32_t negatives = 1;                    // Of "link_prediction".
  bool exclude_seed_edges = true;            // Of "link_prediction".
  std::string optimizer;                     // "adam", "adamw", "sgd"
  double momentum = 0;                       // Of "sgd".
  double learning_rate = 0.003;
  std::string schedule = "constant";  // "cosine", "plateau"
  uint32_t plateau_epochs = 5;        // Of "plateau".
  uint64_t warmup_steps = 0;
  double weight_decay = 0;
  double clip_norm = 0;  // 0: no limit.
  uint64_t seed = 1;
  uint32_t batches_per_step = 1;  // W; effective, so never 0.
  double label_smoothing = 0;
  std::string sync;        // "steps", "bounded_staleness"
  uint32_t staleness = 1;  // Of "bounded_staleness": most versions.
  std::string precision;   // "f32", "bf16"
  uint32_t evaluate_every = 1;
  uint32_t patience = 0;  // 0: the job never stops early.
  uint32_t checkpoint_every = 1;
  uint32_t checkpoint_steps = 0;  // 0: only at ends of epochs.
  uint32_t keep_checkpoints = 2;
  uint32_t threads = 0;

  bool predicts_links() const { return task == "link_prediction"; }
  // Versions that the weights of a batch may be older than those it changes.
  uint32_t most_staleness() const {
    return sync == "bounded_staleness" ? staleness : 0;
  }
};

struct CacheSpec {
  std::string policy;
  std::optional<double> capacity;  // Share of the vertices; nullopt: "auto".
  std::optional<double> standby_capacity = std::nullopt;  // Of "factored".
  uint32_t epochs = 1;      // That are pre-sampled or counted.
  std::string plugin = "";  // Of policy "plugin".
};

struct FeaturesSpec {
  std::string store = "auto";  // "memory", "disk"
  uint32_t ahead = 1;          // Batches extracted while another is trained.
};

// Devices of the service by number.
struct DeviceRequestSpec {
  std::string kind = "any";  // "cpu"
  uint32_t min = 1;
  uint32_t max = 1;
};

struct LimitsSpec {
  std::optional<uint64_t> memory_bytes;  // nullopt: what the machine has.
  uint32_t restarts = 5;
};

struct JobSpec {
  std::string dataset;  // Absolute.
  ModelSpec model;
  SamplingSpec sampling;
  TrainingSpec training;
  CacheSpec cache;
  // Empty only while device_request is not answered.
  std::vector<std::string> devices;
  std::optional<DeviceRequestSpec> device_request;
  std::string executors = "together";  // "factored", "time_sharing"
  // Of "factored": devices that sample, 0: as planned. Of "together":
  // executors.
  uint32_t samplers = 1;
  uint32_t trainers = 1;     // Of "together".
  bool switching = true;     // Of "factored".
  uint32_t queue_slots = 0;  // 0: planned.
  LimitsSpec limits;
  FeaturesSpec features;

  // A device has a sampler and a trainer, one of which works at a time.
  bool takes_turns() const { return executors != "together"; }
  // Trainers of devices that sample, which train in what time is left.
  bool has_standbys() const { return executors == "factored" && switching; }
  // Daemons of the job.
  uint32_t num_samplers() const {
    return takes_turns() ? static_cast<uint32_t>(devices.size()) : samplers;
  }
  uint32_t num_trainers() const {
    return takes_turns() ? static_cast<uint32_t>(devices.size()) : trainers;
  }
};

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_JOB_SPEC_H_
