#include "tools/fgnn/examples.h"

#include <algorithm>
#include <array>

namespace fgnn {
namespace {

struct Example {
  const char* path;   // Path of the command, without "fgnn ".
  const char* words;  // Words behind it. A word has no quotes and no blanks.
};

constexpr std::array kExamples = std::to_array<Example>({
    {"", "run job.yaml"},
    {"bench", "sample --dataset packages"},
    {"bench cache", "--dataset packages --capacities 0.1,0.2"},
    {"bench epoch", "--dataset packages --model gcn"},
    {"bench extract", "--dataset packages --batch-rows 10000"},
    {"bench idmap", "--dataset packages"},
    {"bench match", "--dataset packages --cache 0,0.1 --dependency 1,8"},
    {"bench sample", "--dataset packages --fanouts 15,10,5 --threads 2"},
    {"bench split", "--dataset packages --parts 2,4 --hidden 256"},
    {"bench train", "--dataset packages --hidden 256"},
    {"cancel", "last"},
    {"completion", "bash"},
    {"completion bash", ""},
    {"dataset", "info packages"},
    {"dataset generate", "sbm --nodes 10000 --out communities"},
    {"dataset generate rmat", "--scale 20 --features 64 --out skewed"},
    {"dataset generate sbm", "--nodes 10000 --classes 8 --out communities"},
    {"dataset import", "debian --out packages"},
    {"dataset import csv",
     "edges.csv --nodes vertices.csv --train-fraction 0.5 --out mine"},
    {"dataset import debian", "--out packages"},
    {"dataset import edgelist", "edges.txt.gz --symmetric --out mine"},
    {"dataset import graphbolt", "ogbn-arxiv-seeds --out arxiv"},
    {"dataset import npz", "cora.npz --symmetric --out cora"},
    {"dataset import numpy", "arrays --split 60 --out mine"},
    {"dataset import ogb", "ogbn_products --symmetric --out products"},
    {"dataset info", "packages"},
    {"dataset partition", "packages --method stream"},
    {"dataset split-edges", "packages --test 0.1 --out packages-links"},
    {"dataset validate", "packages"},
    {"devices", ""},
    {"doctor", ""},
    {"down", ""},
    {"help", "dataset import csv"},
    {"jobs", "--state queued,running --limit 20"},
    {"logs", "last --daemon sampler.0"},
    {"metrics", "last"},
    {"pause", "last"},
    {"plan", "job.yaml --set cache.capacity=0.2"},
    {"plot", "sage gcn --out plot.svg"},
    {"predict", "last --dataset packages --out sections.csv"},
    {"prune", "--older 30d --dry-run"},
    {"resume", "last"},
    {"rm", "last"},
    {"run", "job.yaml --set training.epochs=3 --name first"},
    {"show", "last --spec"},
    {"simulate", "--ts 10ms --tt 50ms --devices 4"},
    {"status", ""},
    {"submit", "job.yaml --after last --priority 5"},
    {"switch", "cpu:0 trainer"},
    {"up", "--devices cpu:0 cpu:1"},
    {"watch", "last"},
});

}  // namespace

std::string ExampleOf(const std::string& path) {
  const auto found =
      std::find_if(kExamples.begin(), kExamples.end(), [&](const Example& e) {
        const std::string below = e.path;
        return path == (below.empty() ? "fgnn" : "fgnn " + below);
      });
  if (found == kExamples.end()) return "";
  const std::string words = found->words;
  return words.empty() ? path : path + " " + words;
}

void AddExamples(Command command) {
  const std::string example = ExampleOf(command.Path());
  if (!example.empty()) command.SetFooter("Example:\n  " + example);
  for (const Command& sub : command.Subcommands()) AddExamples(sub);
}

}  // namespace fgnn
