// Rows of features that other hosts own, of all that an epoch's batches need,
// by training.seeds. Owner w of H trains the batches of place w:
//
//   fgnn_bench_own_seeds --dataset DIR --owners 4 --fanouts 15,10,5
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "sampler_service/job/job_sampling.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "shared/base/status.h"
#include "shared/command_line/command_line.h"
#include "shared/graph/book/partition_book.h"

namespace fgnn {
namespace {

struct Rows {
  uint64_t batches = 0;
  uint64_t all = 0;
  uint64_t remote = 0;
};

absl::StatusOr<Rows> CountRows(const SamplerInput& input,
                               const SamplerOptions& options,
                               const PartitionBook& book, uint32_t owners) {
  FGNN_ASSIGN_OR_RETURN(const std::unique_ptr<Sampler> sampler,
                        NewCpuSampler(input, options));
  std::vector<std::byte> memory(MaxTaskBytesOf(input.graph, options) + 64);
  void* at = memory.data();
  size_t room = memory.size();
  std::align(64, room - 64, at, room);
  const absl::Span<std::byte> block(static_cast<std::byte*>(at), room);
  Rows rows = {.batches = BatchesPerEpoch(input, options)};
  for (uint64_t batch = 0; batch < rows.batches; ++batch) {
    FGNN_RETURN_IF_ERROR(sampler->Sample(BatchSeq(batch), block).status());
    for (const GlobalId v : InputNodesOf(block)) {
      ++rows.all;
      if (OwnerOfPart(book.PartOf(v), owners) != batch % owners) ++rows.remote;
    }
  }
  return rows;
}

absl::Status Compare(const std::string& folder, uint32_t owners,
                     const SamplerOptions& options) {
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(folder, Validation::kShapes));
  FGNN_ASSIGN_OR_RETURN(const PartitionBook book, PartitionBook::Open(dataset));
  FGNN_ASSIGN_OR_RETURN(const TrainParts train, ReadTrainParts(dataset));
  const OwnSeeds own(
      train.part_of,
      MakeSeedShares(book.key(),
                     std::vector<HostOfShare>(owners, {.num_places = 1})));
  for (const OwnSeeds* const seeds :
       {static_cast<const OwnSeeds*>(nullptr), &own}) {
    const SamplerInput input = {
        .graph = dataset.graph(), .train = dataset.train(), .own_seeds = seeds};
    FGNN_ASSIGN_OR_RETURN(const Rows rows,
                          CountRows(input, options, book, owners));
    std::cout << absl::StrFormat(
        "seeds %-6s  %d batches  %d rows  %d remote  share %.4f\n",
        seeds == nullptr ? "global" : "own", rows.batches, rows.all,
        rows.remote,
        static_cast<double>(rows.remote) / static_cast<double>(rows.all));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace fgnn

int main(int argc, char** argv) {
  fgnn::CommandLine line("Remote rows by training.seeds",
                         "fgnn_bench_own_seeds");
  const fgnn::Command app = line.root();
  std::string folder;
  uint32_t owners = 4;
  fgnn::SamplerOptions options = {.fanouts = {15, 10, 5}, .batch_size = 1024};
  app.AddOption("--dataset", folder, "Folder of a dataset with a book")
      .Required();
  app.AddOption("--owners", owners, "Number of owners");
  app.AddOption("--fanouts", options.fanouts, "Fanouts").SplitAt(',');
  app.AddOption("--batch-size", options.batch_size, "Seeds of a batch");
  if (const auto code = line.ParseMain(argc, argv)) return *code;
  const absl::Status status = fgnn::Compare(folder, owners, options);
  if (status.ok()) return 0;
  std::cerr << "fgnn_bench_own_seeds: " << fgnn::MessageOf(status) << "\n";
  return 1;
}
