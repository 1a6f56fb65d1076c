// Seconds of processors for a training step with parts of a batch, with
// micro-batches of the same seeds, and with the whole batch, in turns step by
// step, without daemons:
//
//   fgnn_bench_split_steps --dataset DIR --parts 2 --batch-size 1024
//
// Each way samples (and splits), copies features, and computes gradients of
// GraphSAGE. Parts and micro-batches have a thread each. Parts exchange rows
// over a message board, as trainers do.
#include <time.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "sampler_service/sampling/scratch_block.h"
#include "sampler_service/split/batch_splitter.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "shared/base/threads/first_error.h"
#include "shared/base/threads/thread.h"
#include "shared/command_line/command_line.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/dataset.h"
#include "shared/queue/gradient_board.h"
#include "shared/queue/message_board.h"
#include "shared/queue/segment.h"
#include "tools/bench/files/task_block.h"
#include "tools/bench/split/micro_batches.h"
#include "trainer_service/compute/thread_team.h"
#include "trainer_service/nn/cpu/cpu_model.h"
#include "trainer_service/shuffle/board_shuffle.h"

namespace fgnn {
namespace {

struct Flags {
  std::string dataset;
  uint32_t parts = 2;
  uint32_t hidden = 256;
  uint32_t steps = 25;
  uint32_t rounds = 4;
  SamplerOptions sampling = {.fanouts = {15, 10, 5}, .batch_size = 1024};
};

constexpr uint32_t kClasses = 10;

// The ways of a step, and the seconds of processors that each takes.
enum Way : uint8_t { kSplit, kMicro, kWhole };
using Seconds = std::array<double, 3>;

double ProcessorSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) * 1e-9;
}

ModelOptions ModelOf(const Flags& flags, uint64_t columns) {
  ModelOptions model;
  model.layers = static_cast<uint32_t>(flags.sampling.fanouts.size());
  model.hidden = flags.hidden;
  model.input_columns = columns;
  model.num_classes = kClasses;
  model.dropout = 0;
  return model;
}

// Who computes the gradient of a part or a batch, with one thread.
class Trainer {
 public:
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(
      const ModelOptions& options, const FeatureView& features) {
    std::unique_ptr<Trainer> made(new Trainer(features));
    FGNN_ASSIGN_OR_RETURN(made->model_, MakeCpuModel(options, &made->team_));
    made->weights_.resize(made->model_->num_parameters());
    made->gradient_.resize(made->weights_.size());
    made->model_->Initialize(1, absl::MakeSpan(made->weights_));
    return made;
  }
  uint64_t num_parameters() const { return weights_.size(); }

  absl::Status Train(const TaskView& task, RowShuffle* shuffle) {
    const uint64_t row_bytes = features_.row_bytes();
    rows_.resize(task.input_nodes.size() * features_.columns);
    auto* to = reinterpret_cast<std::byte*>(rows_.data());
    for (const GlobalId v : task.input_nodes) {
      std::memcpy(to, features_.data + v * row_bytes, row_bytes);
      to += row_bytes;
    }
    labels_.assign(task.num_seeds, 0);
    TrainingBatch batch;
    batch.task = &task;
    batch.shuffle = shuffle;
    batch.features = absl::MakeSpan(rows_);
    batch.labels = labels_;
    return model_->Gradient(weights_, batch, absl::MakeSpan(gradient_))
        .status();
  }

 private:
  explicit Trainer(const FeatureView& features) : features_(features) {}

  const FeatureView features_;
  ThreadTeam team_{1};
  std::unique_ptr<Model> model_;
  std::vector<float> weights_;
  std::vector<float> gradient_;
  std::vector<float> rows_;
  std::vector<int64_t> labels_;
};

// Calls body(i) for each i below `count`, each on a thread of its own.
absl::Status OnThreads(size_t count,
                       const std::function<absl::Status(size_t i)>& body) {
  FirstError error;
  {
    std::vector<Thread> threads;
    for (size_t i = 0; i < count; ++i) {
      threads.emplace_back(absl::StrCat("fgnn-part-", i),
                           [&, i] { error.Note(body(i)); });
    }
  }
  return error.status();
}

class Steps {
 public:
  static absl::StatusOr<std::unique_ptr<Steps>> Create(
      const Flags& flags, const Dataset& dataset, const PartitionBook& book) {
    std::unique_ptr<Steps> made(new Steps(flags, dataset, book));
    FGNN_RETURN_IF_ERROR(made->Prepare(dataset));
    return made;
  }

  // Trains the batch in each of the ways, beginning with another one than for
  // the batch before.
  absl::Status Run(BatchSeq seq, Seconds* sums) {
    for (uint64_t turn = 0; turn < sums->size(); ++turn) {
      const uint64_t way = (seq.value() + turn) % sums->size();
      const double before = ProcessorSeconds();
      FGNN_RETURN_IF_ERROR(way == kSplit   ? Split(seq)
                           : way == kMicro ? Micro(seq)
                                           : Whole(seq));
      (*sums)[way] += ProcessorSeconds() - before;
    }
    return absl::OkStatus();
  }

 private:
  Steps(const Flags& flags, const Dataset& dataset, const PartitionBook& book)
      : flags_(flags),
        input_{dataset.graph(), dataset.train()},
        model_(ModelOf(flags, dataset.features().columns)),
        micro_(input_, flags.sampling, flags.parts),
        scratch_(MaxTaskBytesOf(input_.graph, flags.sampling)),
        splitter_(&book, flags.parts) {}

  absl::Status Prepare(const Dataset& dataset) {
    FGNN_ASSIGN_OR_RETURN(whole_sampler_,
                          NewCpuSampler(input_, flags_.sampling));
    FGNN_ASSIGN_OR_RETURN(micro_sampler_,
                          NewCpuSampler(input_, micro_.options()));
    const uint64_t bound =
        MaxPartBytes(MaxTaskBytesOf(input_.graph, flags_.sampling),
                     input_.graph.num_nodes(), flags_.parts, model_.layers);
    for (uint32_t p = 0; p < flags_.parts; ++p) {
      FGNN_ASSIGN_OR_RETURN(TaskBlock block, TaskBlock::OfBytes(bound));
      blocks_.push_back(std::move(block));
      FGNN_ASSIGN_OR_RETURN(std::unique_ptr<Trainer> trainer,
                            Trainer::Create(model_, dataset.features()));
      trainers_.push_back(std::move(trainer));
    }
    SegmentOptions options;
    options.job_key = 1;
    options.num_slots = 2 * flags_.parts;
    options.slot_bytes = 4096;
    options.num_overflow_blocks = flags_.parts;
    options.overflow_bytes = 8192;
    options.batches_per_epoch = 1 << 20;
    options.epochs = 1;
    options.parts = flags_.parts;
    options.num_messages = NumMessages(model_.layers, false);
    options.num_parameters = trainers_.front()->num_parameters();
    for (uint32_t hop = 0; hop + 1 < model_.layers; ++hop) {
      const uint64_t most =
          MaxNodesAfter(hop + 1, input_.graph, flags_.sampling);
      options.message_bytes +=
          2 * MessageBytes(flags_.parts, most, model_.hidden * sizeof(float));
    }
    FGNN_ASSIGN_OR_RETURN(segment_, Segment::Create(options));
    board_ = std::make_unique<MessageBoard>(segment_.get());
    return absl::OkStatus();
  }

  absl::Status Whole(BatchSeq seq) {
    FGNN_RETURN_IF_ERROR(scratch_.Sample(*whole_sampler_, seq).status());
    return trainers_.front()->Train(ViewOfTask(scratch_.bytes()), nullptr);
  }

  absl::Status Micro(BatchSeq seq) {
    const BatchRange micro = micro_.Of(seq);
    for (uint64_t i = 0; i < micro.size(); ++i) {
      FGNN_RETURN_IF_ERROR(
          micro_sampler_->Sample(micro.begin + i, blocks_[i].span()).status());
    }
    return OnThreads(micro.size(), [&](size_t i) {
      return trainers_[i]->Train(ViewOfTask(blocks_[i].span()), nullptr);
    });
  }

  absl::Status Split(BatchSeq seq) {
    FGNN_RETURN_IF_ERROR(scratch_.Sample(*whole_sampler_, seq).status());
    const TaskView whole = ViewOfTask(scratch_.bytes());
    FGNN_RETURN_IF_ERROR(splitter_.Prepare(whole));
    for (uint32_t p = 0; p < flags_.parts; ++p) {
      FGNN_RETURN_IF_ERROR(
          splitter_.Write(p, 1, whole.seconds, blocks_[p].span()));
    }
    return OnThreads(flags_.parts, [&](size_t p) {
      const TaskView part = ViewOfTask(blocks_[p].span());
      BoardShuffle shuffle(&part, model_, board_.get(),
                           [&](uint32_t message, uint32_t of) {
                             return WaitFor(seq, message, of);
                           });
      return trainers_[p]->Train(part, &shuffle);
    });
  }

  absl::Status WaitFor(BatchSeq seq, uint32_t message, uint32_t part) {
    GradientBoard changes(segment_.get(), OwnerIndex{1});
    const Deadline deadline = DeadlineIn(std::chrono::minutes(1));
    while (MonotonicClock::now() < deadline) {
      const uint32_t seen = changes.changes();
      if (board_->IsThere(seq, message, part)) return absl::OkStatus();
      FGNN_RETURN_IF_ERROR(changes.WaitForChange(seen, deadline));
    }
    return absl::DeadlineExceededError("another part failed");
  }

  const Flags flags_;
  const SamplerInput input_;
  const ModelOptions model_;
  const MicroBatches micro_;
  ScratchBlock scratch_;
  BatchSplitter splitter_;
  std::unique_ptr<Sampler> whole_sampler_;
  std::unique_ptr<Sampler> micro_sampler_;
  std::vector<TaskBlock> blocks_;                   // [P]
  std::vector<std::unique_ptr<Trainer>> trainers_;  // [P]
  std::unique_ptr<Segment> segment_;
  std::unique_ptr<MessageBoard> board_;
};

// Prints a row for each round. The first two batches warm up.
absl::Status RunRounds(const Flags& flags, Steps* steps) {
  BatchSeq seq(0);
  Seconds warm = {};
  for (int i = 0; i < 2; ++i, ++seq) {
    FGNN_RETURN_IF_ERROR(steps->Run(seq, &warm));
  }
  for (uint32_t round = 0; round < flags.rounds; ++round) {
    Seconds sums = {};
    for (uint32_t i = 0; i < flags.steps; ++i, ++seq) {
      FGNN_RETURN_IF_ERROR(steps->Run(seq, &sums));
    }
    const double a_step = 1e3 / flags.steps;
    std::cout << absl::StrFormat(
                     "| %u | %u | %.1f | %.1f | %.1f | %.3f | %.3f |\n",
                     flags.parts, flags.sampling.batch_size,
                     a_step * sums[kSplit], a_step * sums[kMicro],
                     a_step * sums[kWhole], sums[kMicro] / sums[kSplit],
                     sums[kSplit] / sums[kWhole])
              << std::flush;
  }
  return absl::OkStatus();
}

absl::Status Measure(const Flags& flags) {
  if (flags.parts < 2 || flags.parts > kMostParts ||
      flags.sampling.batch_size % flags.parts != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--parts is ", flags.parts, "; give 2 to ", kMostParts,
        ", a divisor of --batch-size ", flags.sampling.batch_size));
  }
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(flags.dataset, Validation::kStructure));
  if (dataset.features().columns == 0 ||
      dataset.features().type != FeatureType::kFloat32) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.dataset, " has no features of f32"));
  }
  FGNN_ASSIGN_OR_RETURN(const PartitionBook book, PartitionBook::Open(dataset));
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<Steps> steps,
                        Steps::Create(flags, dataset, book));
  std::cout
      << "| parts | seeds | split, CPU ms | micro | whole | micro / split "
         "| split / whole |\n|"
      << "---|---|---|---|---|---|---|\n";
  return RunRounds(flags, steps.get());
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  fgnn::CommandLine line("Seconds of processors for a step of parts",
                         "fgnn_bench_split_steps");
  const fgnn::Command app = line.root();
  fgnn::Flags flags;
  app.AddOption("--dataset", flags.dataset, "Folder of a dataset with a book")
      .Required();
  app.AddOption("--parts", flags.parts, "Parts of a batch");
  app.AddOption("--batch-size", flags.sampling.batch_size, "Seeds of a batch");
  app.AddOption("--fanouts", flags.sampling.fanouts, "Fanouts").SplitAt(',');
  app.AddOption("--hidden", flags.hidden, "Width of the hidden layers");
  app.AddOption("--steps", flags.steps, "Steps of a round");
  app.AddOption("--rounds", flags.rounds, "Rounds, each of other batches");
  if (const auto code = line.ParseMain(argc, argv)) return *code;
  const absl::Status status = fgnn::Measure(flags);
  if (status.ok()) return 0;
  std::cerr << "fgnn_bench_split_steps: " << fgnn::MessageOf(status) << "\n";
  return 1;
}
