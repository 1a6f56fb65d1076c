#include "tools/fgnn/dataset/partition_cli.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sampler_service/presample/hotness.h"
#include "sampler_service/presample/input_node_counts.h"
#include "sampler_service/sampling/cpu/cpu_sampler.h"
#include "sampler_service/sampling/sampler.h"
#include "shared/base/clock.h"
#include "shared/base/json_text.h"
#include "shared/base/status.h"
#include "shared/base/units.h"
#include "shared/graph/book/making/book_parts.h"
#include "shared/graph/book/partition_book.h"
#include "shared/graph/dataset.h"
#include "shared/minibatch/batches_per_epoch.h"
#include "tools/dataset/building/progress.h"
#include "tools/dataset/inspecting/book_info.h"

namespace fgnn {
namespace {

struct PartitionFlags {
  std::filesystem::path folder;
  BookMethod method = BookMethod::kMetis;
  std::vector<std::string> balance;  // Empty: all.
  bool counts_visits = false;
};

// Returns how many batches of an epoch read the row of each vertex [N]. Its
// sampling is that of `fgnn bench`, its seed no job's.
absl::StatusOr<std::vector<uint32_t>> CountVisits(const Dataset& dataset) {
  if (dataset.train().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        dataset.folder().string(),
        " has no train vertices, from which batches that count visits are "
        "sampled; take --work degree"));
  }
  const SamplerOptions sampling = {.fanouts = {15, 10, 5},
                                   .seed = kPresampleSeed};
  const uint64_t batches =
      BatchesPerEpoch(dataset.train().size(), sampling.batch_size);
  return CountInputNodes(
      {.graph = dataset.graph(), .train = dataset.train()}, sampling,
      {.batches = BatchesOfEpochs(0, 1, batches),
       .num_threads = std::max(std::thread::hardware_concurrency(), 1U),
       .factory = NewCpuSampler,
       .check = nullptr});
}

absl::StatusOr<PartitionBook> MakeBook(const Dataset& dataset,
                                       const PartitionFlags& flags) {
  const auto balances = [&flags](const char* what) {
    return flags.balance.empty() ||
           std::find(flags.balance.begin(), flags.balance.end(), what) !=
               flags.balance.end();
  };
  ProgressPrinter printer(stderr);
  std::vector<uint32_t> visits;
  if (flags.counts_visits && balances("work")) {
    printer.Show("visits", 0, 0);
    FGNN_ASSIGN_OR_RETURN(visits, CountVisits(dataset));
  }
  FGNN_ASSIGN_OR_RETURN(const std::vector<uint8_t> parts,
                        MakeBookParts(dataset, flags.method,
                                      {.vertices = balances("vertices"),
                                       .work = balances("work"),
                                       .train = balances("train"),
                                       .visits = visits},
                                      [&printer](std::string_view stage) {
                                        printer.Show(stage, 0, 0);
                                      }));
  FGNN_RETURN_IF_ERROR(PartitionBook::Save(dataset, parts));
  return PartitionBook::Open(dataset);
}

absl::Status RunPartition(const PartitionFlags& flags, bool json) {
  if (flags.method == BookMethod::kRandom &&
      (flags.counts_visits || !flags.balance.empty())) {
    return absl::InvalidArgumentError(
        "--method random balances vertices alone; drop --balance and --work");
  }
  const Stopwatch watch;
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(flags.folder, Validation::kStructure));
  FGNN_ASSIGN_OR_RETURN(const PartitionBook book, MakeBook(dataset, flags));
  const double seconds = watch.Seconds();
  FGNN_ASSIGN_OR_RETURN(const BookInfo info, ReadBookInfo(dataset, book));
  if (!json) {
    absl::PrintF("%smade in %s\n", FormatBook(info), FormatSeconds(seconds));
    return absl::OkStatus();
  }
  const nlohmann::ordered_json document = {{"dataset", flags.folder.string()},
                                           {"book", BookToJson(info)},
                                           {"seconds", seconds}};
  absl::PrintF("%s\n", JsonText(document, 2));
  return absl::OkStatus();
}

}  // namespace

void AddPartitionCommand(Command dataset, const bool& json,
                         absl::Status& status) {
  // Shared with the callback, which lives as long as the app.
  auto flags = std::make_shared<PartitionFlags>();
  const Command app = dataset.AddSubcommand(
      "partition", "Share the vertices out, for hosts that share the features");
  app.AddOption("folder", flags->folder, "The dataset's folder")
      .Required()
      .Takes("DIR");
  app.AddOption(
         "--method",
         [flags](const std::string& name) {
           flags->method = name == "stream"   ? BookMethod::kStream
                           : name == "random" ? BookMethod::kRandom
                                              : BookMethod::kMetis;
         },
         "metis (default): fewest edges between parts, about 90 bytes of "
         "memory for each neighbour; stream: four passes, little memory; "
         "random")
      .OneOf({"metis", "stream", "random"});
  app.AddOption("--balance", flags->balance, "What parts have equally much of")
      .OneOf({"vertices", "work", "train"})
      .SplitAt(',')
      .ShowDefault("vertices,work,train");
  app.AddOption(
         "--work",
         [flags](const std::string& name) {
           flags->counts_visits = name == "visits";
         },
         "What work is: degree (default), a vertex's in-edges; visits, the "
         "batches of an epoch that read its row")
      .OneOf({"degree", "visits"});
  app.OnRun([flags, &json, &status] { status = RunPartition(*flags, json); });
}

}  // namespace fgnn
