// Writes the first inputs of the fuzzed programs: fuzz_make_corpus DIR
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fgnn/v1/executor.pb.h"
#include "fgnn/v1/host.pb.h"
#include "fgnn/v1/job_service.pb.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/scheduler/ring_dataset.h"
#include "tests/unit/shared/minibatch/random_task.h"
#include "trainer_service/checkpoint/checkpoint.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

class Corpus {
 public:
  Corpus(const fs::path& root, const std::string& name) : folder_(root / name) {
    fs::create_directories(folder_);
  }
  void Add(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }

 private:
  fs::path folder_;
};

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void MakeDatasets(const Corpus& corpus) {
  const TempFolder temp;
  WriteRing(temp / "ring", {.with_edge_splits = true});
  const char* const files[] = {"metadata.yaml", "csc_indptr.npy", "indices.npy",
                               "features.npy",  "labels.npy",     "train.npy"};
  for (size_t i = 0; i < std::size(files); ++i) {
    corpus.Add(files[i],
               static_cast<char>(i) + ReadAll(temp / "ring" / files[i]));
  }
  // Its place in the list of dataset_fuzz.cc.
  constexpr char kValidEdges = 11;
  corpus.Add("valid_edges.npy",
             kValidEdges + ReadAll(temp / "ring" / "valid_edges.npy"));
  WriteRing(temp / "numbers", {.labels = RingLabels::kNumbers});
  WriteRing(temp / "sets", {.labels = RingLabels::kSets});
  constexpr char kNumbers = 12;
  constexpr char kSets = 13;
  constexpr char kNames = 14;
  corpus.Add("targets.npy", kNumbers + ReadAll(temp / "numbers/targets.npy"));
  corpus.Add("sets.npy", kSets + ReadAll(temp / "sets/targets.npy"));
  corpus.Add("target_names.txt",
             kNames + ReadAll(temp / "numbers/target_names.txt"));
}

void MakeCheckpoints(const Corpus& corpus) {
  const TempFolder temp;
  CheckpointInfo info;
  info.job_id = "job";
  info.model.layers = 1;
  info.model.hidden = 2;
  info.model.input_columns = 3;
  info.model.num_classes = 2;
  info.run_state = R"({"next_seq":1})";
  const std::vector<float> floats(2 * NumParameters(info.model), 0.5F);
  const absl::Span<const float> all(floats);
  if (WriteCheckpoint(temp / "c", info, {all.subspan(0, all.size() / 2), all})
          .ok()) {
    corpus.Add("small", ReadAll(temp / "c"));
  }
}

void MakeTasks(const Corpus& corpus) {
  const auto add = [&](const std::string& name, const TaskContent& task) {
    Block block(task.Bytes());
    if (block.size() > 8192 || !WriteTask(task, block.span()).ok()) return;
    corpus.Add(name,
               {reinterpret_cast<const char*>(block.data()), block.size()});
  };
  for (uint64_t seed = 0; seed < 12; ++seed) {
    add("random-" + std::to_string(seed), RandomTask(seed));
    add("part-" + std::to_string(seed), RandomPart(seed));
  }
}

void MakeJobFiles(const Corpus& corpus) {
  corpus.Add("usual", R"(dataset: packages
model: {kind: graphsage, layers: 2, hidden: 256, dropout: 0.5}
sampling: {kind: khop, fanouts: [10, 10], batch_size: 1024}
training: {epochs: 10, optimizer: adam, learning_rate: 0.003, seed: 1}
devices: [cpu:0-1]
)");
  corpus.Add("all", R"(dataset: /d
model: {layers: 3, hidden: 64, dropout: 0, input_dropout: 0.9}
sampling: {fanouts: [-1, 5, 1], threads: 2}
training: {weight_decay: 1e-4, batches_per_step: 4, sync: steps,
  precision: f32, evaluate_every: 0, checkpoint_every: 2, checkpoint_steps: 7,
  keep_checkpoints: 3, threads: 1}
cache: {policy: none, capacity: "0.5"}
samplers: 2
trainers: 3
queue: {slots: 9}
limits: {memory: 2GiB, restarts: 0}
)");
  corpus.Add("anchors", "a: &a [*a, {<<: *a}]\n---\n!!binary x: ? y\n");
}

void MakeRequests(const Corpus& corpus) {
  const auto add = [&](const char* name, int method,
                       const google::protobuf::Message& message) {
    corpus.Add(name, static_cast<char>(method) + message.SerializeAsString());
  };
  v1::SubmitJobRequest submit;
  submit.mutable_spec()->set_dataset("/nowhere");
  submit.mutable_spec()->mutable_sampling()->add_fanouts(5);
  submit.set_client_key("key");
  add("submit", 0, submit);
  v1::SubmitJobRequest resume;
  resume.set_run_dir("/nowhere");
  resume.set_resume(true);
  add("resume", 0, resume);
  v1::GetJobRequest get;
  get.set_job_id("2026");
  add("get", 1, get);
  v1::ListJobsRequest list;
  list.set_limit(3);
  add("list", 2, list);
  add("watch", 3, get);
  add("cancel", 4, get);
  add("service", 5, v1::GetServiceRequest());
  v1::RegisterRequest registration;
  registration.set_name("sampler.0");
  registration.set_role("sampler");
  registration.set_device("cpu:0");
  registration.set_pid(1);
  registration.set_start_time(1);
  registration.set_socket_path("/s");
  registration.set_version("test");
  add("register", 7, registration);
  v1::HeartbeatRequest heartbeat;
  heartbeat.set_name("sampler.0");
  heartbeat.set_pid(1);
  heartbeat.set_state("working");
  heartbeat.set_error_code(13);
  heartbeat.set_error_message("why");
  heartbeat.set_job_id("job");
  add("heartbeat", 8, heartbeat);
  v1::OpenJobRequest open;
  open.set_job_id("job");
  *open.mutable_spec() = submit.spec();
  add("open", 12, open);
  v1::AttachJobRequest attach;
  attach.set_job_id("job");
  attach.set_owner(1);
  attach.set_overflow_block(-1);
  attach.set_scheduler_generation(1);
  add("attach", 9, attach);
  v1::DetachJobRequest detach;
  detach.set_job_id("job");
  add("detach", 10, detach);
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "fuzz_make_corpus: name the folder of the corpus\n");
    return 2;
  }
  using fgnn::Corpus;
  fgnn::MakeDatasets(Corpus(argv[1], "dataset"));
  fgnn::MakeCheckpoints(Corpus(argv[1], "checkpoint"));
  fgnn::MakeTasks(Corpus(argv[1], "task"));
  fgnn::MakeJobFiles(Corpus(argv[1], "job_file"));
  fgnn::MakeRequests(Corpus(argv[1], "handlers"));
  return 0;
}
