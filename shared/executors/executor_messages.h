// What the scheduler and a daemon tell each other: the requests and answers of
// fgnn/v1/executor.proto, without protobuf types. A request has the name of its
// message. shared/rpc/executor_proto.h converts them.
#ifndef FGNN_SHARED_EXECUTORS_EXECUTOR_MESSAGES_H_
#define FGNN_SHARED_EXECUTORS_EXECUTOR_MESSAGES_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/files/guarded_path.h"
#include "shared/base/types.h"
#include "shared/config/job_spec.h"
#include "shared/graph/book/seed_shares.h"
#include "shared/measured/scores.h"
#include "shared/minibatch/hop_size.h"

namespace fgnn {

// A job whose spec a daemon is told. Later requests name it by its id.
struct OpenJobRequest {
  std::string job_id;
  JobSpec spec;  // Effective spec.
};

// A host of a job over several hosts.
struct JobHost {
  std::string name;
  std::string exchange;     // Where others reach its exchange: HOST:PORT.
  uint64_t num_places = 0;  // Number of places of each step that it has.
};

// The hosts of a job, as one of them sees them. The places of a step are theirs
// in this order.
struct JobHosts {
  std::vector<JobHost> all = {};  // Empty: the job is of one host.
  uint32_t self = 0;              // Index of the host that sees them.
  // Number of the run. Exchanges of another run of the job are strangers.
  uint64_t attempt = 0;
  SeedShares seeds = {};  // Also of a job of one host.
};

struct AttachJobRequest {
  std::string job_id;
  // Index of the daemon in the job's segment, [1, kMaxOwners].
  OwnerIndex owner = kNoOwner;
  // Number of the overflow block that a sampler owns; nullopt for trainers.
  std::optional<uint32_t> overflow_block;
  uint64_t scheduler_generation = 0;
  // Number of the executor among the job's executors of its role. Where devices
  // take turns: number of its device.
  uint32_t device = 0;
  JobHosts hosts = {};
};

struct ProfileSamplingRequest {
  std::string job_id;
  uint32_t num_batches = 0;
};

// Result of a sampler's reading all values of a dataset.
struct ValidatedDataset {
  uint64_t state = 0;  // FingerprintOf() the folder at that time.
  // Fingerprint of the contents; equal for copies of a dataset.
  uint64_t content = 0;
  std::string warning;  // Warning in one line; empty: none.
  // PartitionBook::key(), if the job needs a book.
  uint64_t book = 0;
  // Number of train vertices of each fine part, with training.seeds own.
  std::vector<uint64_t> train_of_parts = {};
};

// Part of the batches that are sampled to rank the vertices.
struct CountInputNodesRequest {
  std::string job_id;
  uint32_t part = 0;  // Number of the part, in [0, num_parts).
  uint32_t num_parts = 1;
  std::filesystem::path path;  // Absolute path of the file for the counts.
};

struct RankVerticesRequest {
  std::string job_id;
  // Files with the counts of all parts or all samplers; empty: not counted yet.
  std::vector<std::filesystem::path> counts;
};

struct RankedVertices {
  uint64_t rank_order_key = 0;
  // Whether there is no order yet, and vertices have to be counted first.
  bool needs_counts = false;
};

struct ProfileTrainingRequest {
  std::string job_id;
  std::vector<HopSize> hops;  // Sizes of the hops, first hop first.
};

struct EvaluateRequest {
  std::string job_id;
  // Path of a checkpoint; empty: the newest weights of the segment.
  std::filesystem::path checkpoint;
  std::vector<std::string> splits;  // "train", "valid", "test".
  // Number of JobSegment::OpenScratch() if several trainers evaluate together;
  // 0: one trainer evaluates alone.
  uint64_t scratch = 0;
};

struct Evaluation {
  std::vector<SplitScore> scores;
  double seconds = 0;  // Seconds of one trainer, or their sum.

  // Returns the scores of a split; nullopt: the split is empty or was not
  // asked.
  std::optional<Scores> ScoresOf(const std::string& split) const;
};

struct SaveCheckpointRequest {
  std::string job_id;
  std::filesystem::path path;  // Absolute path.
  // The folder that the path has to be in.
  FolderId folder = {};
  uint64_t version = 0;  // Version of the weights.
  uint32_t epochs_done = 0;
  // State of the run, opaque to the trainer, which DescribeCheckpoint() returns
  // again.
  std::string run_state;
};

struct CheckpointProfile {
  uint64_t version = 0;  // Number of committed steps.
  uint32_t epochs_done = 0;
  uint64_t seed = 0;
  std::string run_state;
};

}  // namespace fgnn

#endif  // FGNN_SHARED_EXECUTORS_EXECUTOR_MESSAGES_H_
