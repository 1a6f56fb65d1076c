#include "tools/fgnn/dataset/import_cli.h"

#include <cstdio>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "tools/dataset/building/dataset_writer.h"
#include "tools/dataset/building/interrupt_cleanup.h"
#include "tools/dataset/building/progress.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_report.h"
#include "tools/dataset/reading/missing_words.h"
#include "tools/dataset/reading/number_text.h"

namespace fgnn {
namespace {

using Importer =
    std::function<absl::StatusOr<ImportSummary>(const ImportOptions&)>;

// Runs `import` and prints its progress and its result.
absl::Status RunImport(const Importer& import, ImportOptions options,
                       bool json) {
  ProgressPrinter progress(stderr);
  options.progress = [&progress](std::string_view stage, uint64_t done,
                                 uint64_t total) {
    progress.Show(stage, done, total);
  };
  const Stopwatch stopwatch;
  const absl::StatusOr<ImportSummary> summary = [&] {
    InterruptCleanup interrupt;
    options.interrupt = &interrupt;
    return import(options);
  }();
  progress.Clear();
  if (!summary.ok()) return NameWholeFolder(summary.status(), options.out);
  if (json) {
    std::cout << ImportReportJson(*summary, options, stopwatch.Seconds())
              << std::endl;
  } else {
    std::cout << ImportReport(*summary, options, stopwatch.Seconds())
              << std::flush;
  }
  if (std::cout) return absl::OkStatus();
  return absl::InternalError(
      "the dataset is made, but standard output cannot be written");
}

// The common part of the kinds: options that outlive the parsing's callbacks.
class ImportCommands {
 public:
  ImportCommands(Command app, const bool& json, absl::Status& status)
      : app_(app), json_(json), status_(status) {}

  void AddDebian() {
    auto source = std::make_shared<DebianSource>();
    const Command command =
        Add<DebianSource>("debian", "Packages and their dependencies", source,
                          ImportDebian, [](ImportOptions& options) {
                            options.symmetric = true;
                            if (!options.train_fraction)
                              options.train_fraction = 0.5;
                          });
    command.AddOption("source", source->path,
                      "A Packages file, plain or compressed; default: the "
                      "package indexes of this machine");
    command
        .AddOption("--columns", source->feature_columns,
                   "Columns that words are hashed into")
        .ShowDefault();
  }

  void AddEdgeList() {
    auto source = std::make_shared<EdgeListSource>();
    const Command command = AddWithGraphFlags<EdgeListSource>(
        "edgelist", "Lines 'source destination [weight]', gzip'ed or not",
        source, ImportEdgeList);
    command.AddOption("source", source->path, "The file").Required();
    command.AddFlag("--string-ids", source->string_ids,
                    "Ids are any text; names.txt keeps them");
    command.AddFlag("--bipartite", source->bipartite,
                    "The two columns count apart: vertices are source:5 and "
                    "destination:5");
    command.AddOption("--comment", source->comments,
                      "Leave out lines that begin with one of these; default: "
                      "#%, with --string-ids only before a blank");
    command.AddFlag("--one-based", source->one_based,
                    "Vertices are numbered from 1");
    command.AddFlag("--ignore-weights", source->ignore_weights,
                    "Take the first two words of a line alone");
    command.AddOption("--features", source->features,
                      "An .npy file [vertices, columns]");
    command.AddOption("--labels", source->labels,
                      "An .npy file [vertices] or [vertices, columns]");
  }

  void AddCsv() {
    auto source = std::make_shared<CsvSource>();
    auto separator = std::make_shared<std::string>(",");
    const Command command = AddWithGraphFlags<CsvSource>(
        "csv", "Edges as CSV with a header row, perhaps vertices as another",
        source,
        [separator](const CsvSource& chosen, const ImportOptions& options)
            -> absl::StatusOr<ImportSummary> {
          CsvSource csv = chosen;
          if (*separator == "\\t") *separator = "\t";
          if (separator->size() != 1 || *separator == "\"") {
            return absl::InvalidArgumentError(
                "--separator is one character, not a double quote; \\t is a "
                "tabulator");
          }
          csv.separator = separator->front();
          return ImportCsv(csv, options);
        });
    command.AddOption("source", source->edges, "The edges").Required();
    command
        .AddOption("--separator", *separator,
                   "Character between fields, or \\t")
        .ShowDefault();
    command.AddOption("--source-column", source->source_column).ShowDefault();
    command.AddOption("--destination-column", source->destination_column)
        .ShowDefault();
    command.AddOption("--weight-column", source->weight_column,
                      "Column of the weights; default: no weights");
    command.AddFlag("--string-ids", source->string_ids,
                    "Without --nodes: ids are any text");
    command.AddFlag("--bipartite", source->bipartite,
                    "The two columns count apart: vertices are userId:5 and "
                    "movieId:5");
    command.AddOption("--comment", source->comments,
                      "Leave out lines that begin with one of these, such as "
                      "'#'; default: none");
    AddCsvNodes(command, *source);
  }

  void AddNpz() {
    auto source = std::make_shared<NpzSource>();
    AddWithGraphFlags<NpzSource>(
        "npz", "An archive with adj_indptr, … or edge_index", source, ImportNpz)
        .AddOption("source", source->path, "The .npz file")
        .Required();
  }

  void AddNumpy() {
    auto source = std::make_shared<NumpySource>();
    const Command command = AddWithGraphFlags<NumpySource>(
        "numpy", "A folder with indptr.npy, indices.npy, …", source,
        ImportNumpy);
    command.AddOption("source", source->folder, "The folder").Required();
    command.AddOption(
        "--split", source->split,
        "Split to take; 60 takes train60_idx.npy and its companions");
    command.AddOption("--train-file", source->train_file,
                      "File of ids or a mask; relative to the folder");
    command.AddOption("--valid-file", source->valid_file);
    command.AddOption("--test-file", source->test_file);
  }

  void AddOgb() {
    auto source = std::make_shared<OgbSource>();
    const Command command = AddWithGraphFlags<OgbSource>(
        "ogb",
        "The folder of an OGB node dataset (ogbn-products wants --symmetric)",
        source, ImportOgb);
    command.AddOption("source", source->folder, "The folder").Required();
    command.AddOption("--split", source->split,
                      "Split to take, of several in split/");
    command.AddOption("--label-column", source->label_column,
                      "Column to take, from 0; default: all");
  }

  void AddGraphBolt() {
    auto source = std::make_shared<GraphBoltSource>();
    const Command command = AddWithGraphFlags<GraphBoltSource>(
        "graphbolt", "The folder of a GraphBolt OnDiskDataset", source,
        ImportGraphBolt);
    command.AddOption("source", source->folder, "The folder").Required();
    command.AddOption("--feature", source->feature,
                      "Feature to take; default: feat");
    command.AddOption("--task", source->task,
                      "Task to take; default: the first");
  }

 private:
  template <typename Source>
  using Function = std::function<absl::StatusOr<ImportSummary>(
      const Source&, const ImportOptions&)>;

  // Adds a subcommand with the options of all kinds. The callback owns the
  // variables of the flags, so that they live as long as the subcommand.
  template <typename Source>
  Command Add(
      const std::string& name, const std::string& about,
      const std::shared_ptr<Source>& source, Function<Source> function,
      const std::function<void(ImportOptions&)>& set_defaults = nullptr) {
    const Command command = app_.AddSubcommand(name, about);
    auto options = std::make_shared<ImportOptions>();
    options_ = options;
    AddCommonFlags(command, *options);
    command.OnRun([source, options, function, set_defaults, json = &json_,
                   status = &status_] {
      if (set_defaults) set_defaults(*options);
      *status = RunImport(
          [&](const ImportOptions& chosen) {
            return function(*source, chosen);
          },
          *options, *json);
    });
    return command;
  }

  template <typename Source>
  Command AddWithGraphFlags(const std::string& name, const std::string& about,
                            const std::shared_ptr<Source>& source,
                            Function<Source> function) {
    const auto words = std::make_shared<std::vector<std::string>>();
    const Command command =
        Add<Source>(name, about, source, std::move(function),
                    [words](ImportOptions& chosen) {
                      if (!words->empty())
                        chosen.missing = MissingWords(*words);
                    });
    ImportOptions& options = *options_;
    const Option symmetric = command.AddFlag(
        "--symmetric", options.symmetric,
        "Add (v, u), of the same weight, for every edge (u, v) that has no "
        "reverse");
    // The default; for scripts that name it, and for the report's words.
    command
        .AddFlag("--directed", options.directed,
                 "Take edges as they are (default)")
        .Excludes(symmetric);
    AddLabelsAre(command, options);
    const Option keep =
        command.AddFlag("--keep-duplicates", options.keep_duplicates,
                        "Keep equal edges; else one of them stays");
    command
        .AddOption(
            "--equal-edges",
            [&options](const std::string& rule) {
              options.equal_edges = rule == "sum"       ? EqualEdges::kSum
                                    : rule == "largest" ? EqualEdges::kLargest
                                                        : EqualEdges::kFirst;
            },
            "Weight of the one that stays: first (default), sum or largest")
        .OneOf({"first", "sum", "largest"})
        .Excludes(keep);
    AddMissing(command, options, *words);
    command.AddFlag("--drop-self-loops", options.drop_self_loops);
    return command;
  }

  static void AddCommonFlags(Command command, ImportOptions& options) {
    command.AddOption("--out", options.out, "The dataset folder to make")
        .Required();
    command.AddOption("--name", options.name,
                      "Name of the dataset; default: the folder's");
    command
        .AddOption(
            "--feature-type",
            [&options](const std::string& name) {
              options.feature_type = FeatureTypeOf(name).value();
            },
            "Type of features: f32 (default), f16 or bf16")
        .OneOf({"f32", "f16", "bf16"});
    command
        .AddOption(
            "--normalize-features",
            [&options](const std::string& name) {
              options.feature_norm = name == "l1"   ? RowNorm::kL1
                                     : name == "l2" ? RowNorm::kL2
                                                    : RowNorm::kNone;
            },
            "Divide each row by its sum (l1) or length (l2); default: none")
        .OneOf({"l1", "l2", "none"});
    command.AddOption(
        "--classes", options.num_classes,
        "Number of classes; default: one more than the highest label");
    command.AddOption("--train-fraction", options.train_fraction,
                      "Draw the split: this share of the labelled vertices to "
                      "train, half of the rest each to valid and test");
    command.AddOption("--seed", options.seed, "Seed of the drawn split")
        .ShowDefault();
  }

  static void AddMissing(Command command, ImportOptions& options,
                         std::vector<std::string>& words) {
    command
        .AddOption(
            "--missing", words,
            absl::StrCat("Words a,b,c that stand for a missing value, instead "
                         "of ",
                         absl::StrJoin(kMissingWords, ","),
                         "; capital letters do not matter; what is empty is "
                         "missing, what is quoted is not"))
        .SplitAt(',');
    command.AddOption(
        "--fill",
        [&options](const std::string& text) {
          options.fill.kind =
              text == "mean" ? GapFill::Kind::kMean : GapFill::Kind::kValue;
          if (text != "mean" && !ParseNumber(text, &options.fill.value)) {
            options.fill.value = std::numeric_limits<float>::quiet_NaN();
          }
        },
        "What stands in for missing features and weights: a number, or mean "
        "(of the column); default: they are refused");
  }

  static void AddLabelsAre(Command command, ImportOptions& options) {
    command
        .AddOption(
            "--labels-are",
            [&options](const std::string& kind) {
              options.labels_are = kind == "classes"   ? LabelKind::kClasses
                                   : kind == "numbers" ? LabelKind::kNumbers
                                   : kind == "sets"    ? LabelKind::kSets
                                                       : LabelKind::kAuto;
            },
            "classes: one of each vertex; numbers: to be predicted; sets: a "
            "column of 0 and 1 for each class, or in csv one of names, a;b; "
            "auto (default): one column of whole numbers or names is classes, "
            "several of 0 and 1 are sets, others are numbers")
        .OneOf({"auto", "classes", "numbers", "sets"});
  }

  static void AddCsvNodes(Command command, CsvSource& source) {
    command
        .AddOption("--nodes", source.nodes,
                   "A CSV file of vertices: ids, features, labels, splits; "
                   "with --bipartite one for each kind, KIND=FILE or one that "
                   "has the kind's column")
        .OneWordEach();
    command.AddOption("--id-column", source.id_column,
                      "Column of the nodes' ids; default: id");
    command
        .AddOption("--label-column", source.label_columns,
                   "Column of numbers or names; a,b,c: several of numbers; "
                   "default: label, if there")
        .SplitAt(',');
    command.AddOption(
        "--split-column", source.split_column,
        "Column of train, valid or test; default: split, if there");
    command
        .AddOption("--feature-columns", source.feature_columns,
                   "Columns a,b,c; default: all others of which at least half "
                   "of the values are numbers")
        .SplitAt(',');
  }

  Command app_;
  const bool& json_;
  absl::Status& status_;
  // Options of the command added last.
  std::shared_ptr<ImportOptions> options_;
};

}  // namespace

void AddImportCommands(Command import_app, const bool& json,
                       absl::Status& status) {
  ImportCommands commands(import_app, json, status);
  commands.AddDebian();
  commands.AddEdgeList();
  commands.AddCsv();
  commands.AddNpz();
  commands.AddNumpy();
  commands.AddOgb();
  commands.AddGraphBolt();
}

}  // namespace fgnn
