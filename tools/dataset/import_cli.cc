#include "tools/dataset/import_cli.h"

#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "shared/base/clock.h"
#include "shared/base/status.h"
#include "tools/dataset/import.h"
#include "tools/dataset/import_report.h"
#include "tools/dataset/interrupt_cleanup.h"
#include "tools/dataset/progress.h"

namespace fgnn {
namespace {

using Importer =
    std::function<absl::StatusOr<ImportSummary>(const ImportOptions&)>;

// Runs `import` and tells how it goes and how it went.
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
  if (!summary.ok()) return summary.status();
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

// What the kinds have in common: options that outlive the parsing's callbacks.
class ImportCommands {
 public:
  ImportCommands(CLI::App& app, const bool& json, absl::Status& status)
      : app_(app), json_(json), status_(status) {}

  void AddDebian() {
    auto source = std::make_shared<DebianSource>();
    CLI::App* command =
        Add<DebianSource>("debian", "Packages and their dependencies", source,
                          ImportDebian, [](ImportOptions& options) {
                            options.symmetric = true;
                            if (!options.train_fraction)
                              options.train_fraction = 0.5;
                          });
    command->add_option("source", source->path,
                        "A Packages file, plain or compressed; default: the "
                        "package indexes of this machine");
    command
        ->add_option("--columns", source->feature_columns,
                     "Columns that words are hashed into")
        ->capture_default_str();
  }

  void AddEdgeList() {
    auto source = std::make_shared<EdgeListSource>();
    CLI::App* command = AddWithGraphFlags<EdgeListSource>(
        "edgelist", "Lines 'source destination [weight]', gzip'ed or not",
        source, ImportEdgeList);
    command->add_option("source", source->path, "The file")->required();
    command->add_flag("--string-ids", source->string_ids,
                      "Ids are any text; names.txt keeps them");
    command->add_flag("--one-based", source->one_based,
                      "Vertices are numbered from 1");
    command->add_flag("--ignore-weights", source->ignore_weights,
                      "Take the first two words of a line alone");
    command->add_option("--features", source->features,
                        "An .npy file [vertices, columns]");
    command->add_option("--labels", source->labels, "An .npy file [vertices]");
  }

  void AddCsv() {
    auto source = std::make_shared<CsvSource>();
    auto separator = std::make_shared<std::string>(",");
    CLI::App* command = AddWithGraphFlags<CsvSource>(
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
    command->add_option("source", source->edges, "The edges")->required();
    command->add_option("--separator", *separator, "Between fields, or \\t")
        ->capture_default_str();
    command->add_option("--source-column", source->source_column)
        ->capture_default_str();
    command->add_option("--destination-column", source->destination_column)
        ->capture_default_str();
    command->add_option("--weight-column", source->weight_column,
                        "Default: no weights");
    command->add_flag("--string-ids", source->string_ids,
                      "Without --nodes: ids are any text");
    AddCsvNodes(*command, *source);
  }

  void AddNpz() {
    auto source = std::make_shared<NpzSource>();
    AddWithGraphFlags<NpzSource>(
        "npz", "An archive with adj_indptr, … or edge_index", source, ImportNpz)
        ->add_option("source", source->path, "The .npz file")
        ->required();
  }

  void AddNumpy() {
    auto source = std::make_shared<NumpySource>();
    CLI::App* command = AddWithGraphFlags<NumpySource>(
        "numpy", "A folder with indptr.npy, indices.npy, …", source,
        ImportNumpy);
    command->add_option("source", source->folder, "The folder")->required();
    command->add_option("--split", source->split,
                        "60 takes train60_idx.npy and its companions");
    command->add_option("--train-file", source->train_file,
                        "Ids or a mask; relative to the folder");
    command->add_option("--valid-file", source->valid_file);
    command->add_option("--test-file", source->test_file);
  }

  void AddOgb() {
    auto source = std::make_shared<OgbSource>();
    CLI::App* command = AddWithGraphFlags<OgbSource>(
        "ogb",
        "The folder of an OGB node dataset (ogbn-products wants --symmetric)",
        source, ImportOgb);
    command->add_option("source", source->folder, "The folder")->required();
    command->add_option("--split", source->split, "Of several in split/");
    command->add_option("--label-column", source->label_column,
                        "Of several, from 0");
  }

  void AddGraphBolt() {
    auto source = std::make_shared<GraphBoltSource>();
    CLI::App* command = AddWithGraphFlags<GraphBoltSource>(
        "graphbolt", "The folder of a GraphBolt OnDiskDataset", source,
        ImportGraphBolt);
    command->add_option("source", source->folder, "The folder")->required();
    command->add_option("--feature", source->feature,
                        "Of several; default: feat");
    command->add_option("--task", source->task, "Default: the first");
  }

 private:
  template <typename Source>
  using Function = std::function<absl::StatusOr<ImportSummary>(
      const Source&, const ImportOptions&)>;

  // Adds a subcommand with the options of all kinds. The callback holds what
  // the flags write to, so it lives as long as the subcommand.
  template <typename Source>
  CLI::App* Add(
      const std::string& name, const std::string& about,
      const std::shared_ptr<Source>& source, Function<Source> function,
      const std::function<void(ImportOptions&)>& set_defaults = nullptr) {
    CLI::App* command = app_.add_subcommand(name, about);
    auto options = std::make_shared<ImportOptions>();
    options_ = options;
    AddCommonFlags(*command, *options);
    command->callback([source, options, function, set_defaults, json = &json_,
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
  CLI::App* AddWithGraphFlags(const std::string& name, const std::string& about,
                              const std::shared_ptr<Source>& source,
                              Function<Source> function) {
    CLI::App* command = Add(name, about, source, std::move(function));
    ImportOptions& options = *options_;
    CLI::Option* symmetric = command->add_flag(
        "--symmetric", options.symmetric, "Add (v, u) for every edge (u, v)");
    // What is done anyway; for scripts that want to say so.
    command
        ->add_flag_function(
            "--directed", [](int64_t) {}, "Take edges as they are (default)")
        ->excludes(symmetric);
    command->add_flag("--keep-duplicates", options.keep_duplicates,
                      "Else the first of equal edges stays");
    command->add_flag("--drop-self-loops", options.drop_self_loops);
    return command;
  }

  static void AddCommonFlags(CLI::App& command, ImportOptions& options) {
    command.add_option("--out", options.out, "The dataset folder to make")
        ->required();
    command.add_option("--name", options.name,
                       "Of the dataset; default: the folder's");
    command
        .add_option_function<std::string>(
            "--feature-type",
            [&options](const std::string& name) {
              options.feature_type = FeatureTypeOf(name).value();
            },
            "f32 (default), f16 or bf16")
        ->check(CLI::IsMember({"f32", "f16", "bf16"}));
    command
        .add_option_function<std::string>(
            "--normalize-features",
            [&options](const std::string& name) {
              options.feature_norm = name == "l1"   ? RowNorm::kL1
                                     : name == "l2" ? RowNorm::kL2
                                                    : RowNorm::kNone;
            },
            "Divide each row by its sum (l1) or length (l2); default: none")
        ->check(CLI::IsMember({"l1", "l2", "none"}));
    command.add_option("--classes", options.num_classes,
                       "Default: one more than the highest label");
    command.add_option("--train-fraction", options.train_fraction,
                       "Draw the split: this share of the labelled vertices to "
                       "train, half of the rest each to valid and test");
    command.add_option("--seed", options.seed, "Of the drawn split")
        ->capture_default_str();
  }

  static void AddCsvNodes(CLI::App& command, CsvSource& source) {
    command.add_option("--nodes", source.nodes,
                       "A CSV file of vertices: ids, features, labels, splits");
    command.add_option("--id-column", source.id_column,
                       "Of the nodes; default: id");
    command.add_option("--label-column", source.label_column,
                       "Numbers or names; default: label, if there");
    command.add_option("--split-column", source.split_column,
                       "train, valid or test; default: split, if there");
    command
        .add_option("--feature-columns", source.feature_columns,
                    "a,b,c; default: all other columns of numbers")
        ->delimiter(',');
  }

  CLI::App& app_;
  const bool& json_;
  absl::Status& status_;
  std::shared_ptr<ImportOptions> options_;  // Of the command added last.
};

}  // namespace

void AddImportCommands(CLI::App& import_app, const bool& json,
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
