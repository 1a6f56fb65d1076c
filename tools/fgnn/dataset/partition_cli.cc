#include "tools/fgnn/dataset/partition_cli.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
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
#include "shared/graph/host_rows.h"
#include "shared/minibatch/batches_per_epoch.h"
#include "tools/dataset/building/dataset_writer.h"
#include "tools/dataset/building/host_folders.h"
#include "tools/dataset/building/interrupt_cleanup.h"
#include "tools/dataset/building/progress.h"
#include "tools/dataset/inspecting/book_info.h"

namespace fgnn {
namespace {

struct PartitionFlags {
  std::filesystem::path folder;
  BookMethod method = BookMethod::kMetis;
  std::vector<std::string> balance;  // Empty: all.
  bool counts_visits = false;
  bool chooses = false;  // Whether --method or --work is given.
  uint32_t hosts = 0;    // 0: makes no folders.
  std::filesystem::path out;
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
  return MakeBook(dataset, flags.method,
                  {.vertices = balances("vertices"),
                   .work = balances("work"),
                   .train = balances("train"),
                   .visits = visits},
                  [&printer](std::string_view stage) {
                    printer.Show(stage, 0, 0);
                    return absl::OkStatus();
                  });
}

// Returns the book that is there, unless a flag says how to make it.
absl::StatusOr<PartitionBook> FindOrMakeBook(const Dataset& dataset,
                                             const PartitionFlags& flags) {
  if (!flags.chooses && flags.balance.empty()) {
    absl::StatusOr<PartitionBook> book = PartitionBook::Open(dataset);
    if (book.ok()) return book;
  }
  return MakeBook(dataset, flags);
}

// Returns how many folders have no row, and how many no train vertex although
// the dataset has some. Empty: none.
std::string CutWarning(const std::vector<HostFolderSummary>& hosts) {
  OwnerFigures figures;
  for (const HostFolderSummary& host : hosts) {
    figures.without_vertex += host.num_rows == 0 ? 1 : 0;
    figures.without_train += host.num_train == 0 ? 1 : 0;
    figures.train.most = std::max(figures.train.most, host.num_train);
  }
  return OwnersWarning(static_cast<uint32_t>(hosts.size()), figures);
}

void PrintHosts(const std::vector<HostFolderSummary>& hosts, bool json,
                const PartitionFlags& flags, uint64_t book) {
  const std::string warning = CutWarning(hosts);
  nlohmann::ordered_json folders = nlohmann::ordered_json::array();
  for (const HostFolderSummary& host : hosts) {
    folders.push_back({{"folder", host.folder.string()},
                       {"rows", host.num_rows},
                       {"train", host.num_train}});
    if (json) continue;
    absl::PrintF("made %s: %s rows of features, %s train vertices\n",
                 host.folder.string(), FormatCount(host.num_rows),
                 FormatCount(host.num_train));
  }
  if (!json) {
    if (!warning.empty()) absl::PrintF("warning: %s\n", warning);
    return;
  }
  nlohmann::ordered_json document = {
      {"dataset", flags.folder.string()},
      {"book", absl::StrCat(absl::Hex(book, absl::kZeroPad16))},
      {"hosts", std::move(folders)}};
  if (!warning.empty()) document["warning"] = warning;
  absl::PrintF("%s\n", JsonText(document, 2));
}

absl::Status RunCut(const PartitionFlags& flags, bool json) {
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(flags.folder, Validation::kStructure));
  FGNN_RETURN_IF_ERROR(CheckHasAllRows(dataset));
  FGNN_ASSIGN_OR_RETURN(const PartitionBook book,
                        FindOrMakeBook(dataset, flags));
  ProgressPrinter printer(stderr);
  CutOptions options;
  options.owners = flags.hosts;
  options.out = flags.out;
  options.progress = [&printer](std::string_view stage, uint64_t done,
                                uint64_t total) {
    printer.Show(stage, done, total);
  };
  const absl::StatusOr<std::vector<HostFolderSummary>> hosts = [&] {
    InterruptCleanup interrupt;
    options.interrupt = &interrupt;
    return CutHostFolders(dataset, book, options);
  }();
  printer.Clear();
  if (!hosts.ok()) return NameWholeFolder(hosts.status(), flags.out);
  PrintHosts(*hosts, json, flags, book.key());
  return absl::OkStatus();
}

absl::Status RunPartition(const PartitionFlags& flags, bool json) {
  if (flags.method == BookMethod::kRandom &&
      (flags.counts_visits || !flags.balance.empty())) {
    return absl::InvalidArgumentError(
        "--method random balances vertices alone; drop --balance and --work");
  }
  if (flags.hosts > 0) return RunCut(flags, json);
  const Stopwatch watch;
  FGNN_ASSIGN_OR_RETURN(const Dataset dataset,
                        Dataset::Open(flags.folder, Validation::kStructure));
  FGNN_RETURN_IF_ERROR(CheckHasAllRows(dataset));
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
           flags->chooses = true;
         },
         "metis (default): fewest edges between parts, about 90 bytes of "
         "memory for each neighbour. stream: four passes, little memory. "
         "random: no pass")
      .OneOf({"metis", "stream", "random"});
  app.AddOption("--balance", flags->balance, "What parts have equally much of")
      .OneOf({"vertices", "work", "train"})
      .SplitAt(',')
      .ShowDefault("vertices,work,train");
  app.AddOption(
         "--work",
         [flags](const std::string& name) {
           flags->counts_visits = name == "visits";
           flags->chooses = true;
         },
         "What work is: degree (default), a vertex's in-edges; visits, the "
         "batches of an epoch that read its row")
      .OneOf({"degree", "visits"});
  const Option hosts =
      app.AddOption("--hosts", flags->hosts,
                    "Also cut the dataset into a folder for each of so many "
                    "hosts: host0 and so on, by the book that is there unless "
                    "another flag says how to make it")
          .Between(uint32_t{1}, kMostOwners);
  const Option out = app.AddOption("--out", flags->out,
                                   "The folder to make for those of the hosts")
                         .Takes("DIR2")
                         .Needs(hosts);
  hosts.Needs(out);
  app.OnRun([flags, &json, &status] { status = RunPartition(*flags, json); });
}

}  // namespace fgnn
