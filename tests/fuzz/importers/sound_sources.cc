#include "tests/fuzz/importers/sound_sources.h"

#include <zip.h>
#include <zlib.h>

#include <cmath>
#include <cstdint>
#include <fstream>

#include "tests/fakes/npy_bytes.h"
#include "tests/fuzz/fuzz_target.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

const std::vector<std::vector<std::string>> kGraphFlags = {
    {"--symmetric"},
    {"--keep-duplicates"},
    {"--drop-self-loops"},
    {"--train-fraction", "0.5"},
    {"--feature-type", "f16"},
    {"--feature-type", "bf16"},
    {"--normalize-features", "l1"},
    {"--normalize-features", "l2"},
    {"--classes", "7"},
    {"--labels-are", "classes"},
    {"--labels-are", "numbers"},
    {"--labels-are", "sets"}};

ImportSource WithFlags(ImportSource source,
                       const std::vector<std::vector<std::string>>& flags) {
  source.flags = kGraphFlags;
  source.flags.insert(source.flags.end(), flags.begin(), flags.end());
  return source;
}

ImportSource Debian() {
  return {"debian",
          {{"Packages",
            "Package: a\nSection: x\nDepends: b (>= 1), c | v\n"
            "Description: one more word\n long text\n\n"
            "Package: b\nSection: contrib/y\nPre-Depends: a\nProvides: v\n\n"
            "Package: c\nSection: x\nRecommends: b,\n a\n\n"
            "Package: d\nSuggests: nothing\n"}},
          {{"", "Packages"}},
          {{"--columns", "8"}, {"--train-fraction", "0.5"}}};
}

ImportSource EdgeList(const std::string& file) {
  return WithFlags(
      {"edgelist",
       {{file, "# a comment\n0 1 0.5\n1 2 1\n2\t0 2e-3\n3 3 0\n"},
        {"x.npy", Npy<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
        {"y.npy", Npy<int64_t>({0, 1, -1, 1})}},
       {{"", file}, {"--features", "x.npy"}, {"--labels", "y.npy"}},
       {}},
      {{"--ignore-weights"}});
}

ImportSource EdgeListOfNames() {
  ImportSource source = {"edgelist",
                         {{"edges.txt", "a b\nb c\nc a\n\"d\" 17\n"}},
                         {{"", "edges.txt"}},
                         {},
                         {"--string-ids"}};
  return WithFlags(source, {{"--one-based"}});
}

ImportSource Csv() {
  return WithFlags(
      {"csv",
       {{"edges.csv", "source,destination,w\n1,2,0.5\n2,\"3\",1\n3,1,2\n"},
        {"nodes.csv",
         "id,label,split,f,g,text\n1,red,train,1,2,a\n2,blue,val,3,4,b\n"
         "3,blue,test,5,6,\"c,\"\"d\"\n4,,,7,8,e\n"}},
       {{"", "edges.csv"}, {"--nodes", "nodes.csv"}},
       {}},
      {{"--source-column", "destination"},
       {"--destination-column", "source"},
       {"--weight-column", "w"},
       {"--feature-columns", "f,g"}});
}

ImportSource NpzOfMatrices() {
  return WithFlags({"npz",
                    {{"in.npz/adj_indptr.npy", Npy<int32_t>({0, 2, 3, 3})},
                     {"in.npz/adj_indices.npy", Npy<int32_t>({1, 2, 2})},
                     {"in.npz/adj_data.npy", Npy<float>({1, 1, 3})},
                     {"in.npz/adj_shape.npy", Npy<int64_t>({3, 3})},
                     {"in.npz/attr_indptr.npy", Npy<int32_t>({0, 1, 1, 2})},
                     {"in.npz/attr_indices.npy", Npy<int32_t>({1, 0})},
                     {"in.npz/attr_data.npy", Npy<float>({5, 6})},
                     {"in.npz/attr_shape.npy", Npy<int64_t>({3, 2})},
                     {"in.npz/labels.npy", Npy<int32_t>({2, 0, 1})}},
                    {{"", "in.npz"}},
                    {}},
                   {});
}

ImportSource NpzOfEdges() {
  return WithFlags(
      {"npz",
       {{"in.npz/edge_index.npy", Npy<int64_t>({2, 3}, {0, 1, 2, 1, 2, 0})},
        {"in.npz/x.npy", Npy<float>({4, 1}, {1, 2, 3, 4})},
        {"in.npz/y.npy", Npy<int64_t>({4, 1}, {0, 1, 0, 1})},
        {"in.npz/train_mask.npy", Npy<uint8_t>({1, 1, 0, 0})},
        {"in.npz/val_mask.npy", Npy<int64_t>({0, 0, 1, 0})},
        {"in.npz/test_idx.npy", Npy<int32_t>({3})}},
       {{"", "in.npz"}},
       {}},
      {});
}

ImportSource Numpy(bool sparse) {
  ImportSource source = {"numpy",
                         {{"indptr.npy", Npy<int64_t>({0, 2, 2, 3})},
                          {"indices.npy", Npy<int32_t>({1, 2, 0})},
                          {"edge_weights.npy", Npy<double>({1, 0.5, 0})},
                          {"labels.npy", Npy<float>({1, 0, 0})},
                          {"train_idx.npy", Npy<int64_t>({2})},
                          {"valid_idx.npy", Npy<int32_t>({0})},
                          {"test.npy", Npy<uint8_t>({1, 0, 1})},
                          {"train60_idx.npy", Npy<int64_t>({1})},
                          {"valid20_idx.npy", Npy<int64_t>({2})},
                          {"test20_idx.npy", Npy<int64_t>({0})}},
                         {{"", ""}},
                         {}};
  if (sparse) {
    source.files["features_indptr.npy"] = Npy<int64_t>({0, 2, 2, 4});
    source.files["features_indices.npy"] = Npy<int32_t>({3, 0, 1, 1});
    source.files["features_values.npy"] = Npy<float>({3, -1, 2, 4});
    source.files["features_shape.npy"] = Npy<int64_t>({3, 4});
  } else {
    source.files["features.npy"] = Npy<double>({3, 1}, {1, 2, 3});
  }
  return WithFlags(source, {{"--split", "60"}});
}

ImportSource NumpyOfNumbers() {
  ImportSource source = Numpy(false);
  source.files["labels.npy"] =
      Npy<float>({3, 2}, {0.5F, 1, -2, NAN, 3.25F, 1e6F});
  source.files["target_names.npy"] = Npy<int32_t>({1, 2});
  source.files["train_idx.npy"] = Npy<int64_t>({2});
  source.files["valid_idx.npy"] = Npy<int32_t>({0});
  source.files["test.npy"] = Npy<uint8_t>({1, 0, 1});
  return source;
}

ImportSource CsvOfSets() {
  ImportSource source = Csv();
  source.files["nodes.csv"] =
      "id,a,b,split,f\n1,0,1,train,1\n2,1,1,val,3\n3,1,0,test,5\n4,,1,,7\n";
  source.needed = {"--label-column", "a,b"};
  return source;
}

ImportSource OgbOfText(const std::string& ending) {
  ImportSource source = {"ogb", {}, {{"", ""}}, {}};
  const std::map<std::string, std::string> tables = {
      {"raw/edge", "0,1\n2,1\n"},
      {"raw/num-node-list", "3\n"},
      {"raw/node-feat", "0.5,-1e-3\n1,2\n3,4\n"},
      {"raw/node-label", "1.0\nnan\n0\n"},
      {"split/time/train", "0\n"},
      {"split/time/valid", "2\n"},
      {"split/time/test", ""}};
  for (const auto& [name, text] : tables) source.files[name + ending] = text;
  return WithFlags(source, {{"--label-column", "0"}, {"--split", "time"}});
}

ImportSource OgbOfArrays() {
  return WithFlags(
      {"ogb",
       {{"raw/data.npz/edge_index.npy", Npy<int64_t>({2, 2}, {0, 2, 1, 1})},
        {"raw/data.npz/node_feat.npy", Npy<float>({3, 1}, {7, 8, 9})},
        {"raw/data.npz/num_nodes_list.npy", Npy<int64_t>({3})},
        {"raw/node-label.npz/node_label.npy", Npy<float>({3, 1}, {1, NAN, 0})},
        {"split/time/train.csv.gz", "0\n"},
        {"split/time/valid.csv.gz", "2\n"},
        {"split/time/test.csv.gz", ""}},
       {{"", ""}},
       {}},
      {});
}

ImportSource GraphBolt(bool csv) {
  const std::string edges = csv ? "{format: csv, path: edges.csv}"
                                : "{format: numpy, path: edges.npy}";
  return WithFlags(
      {"graphbolt",
       {{"edges.csv", "0,1\n2,1\n"},
        {"edges.npy", Npy<int64_t>({2, 3}, {0, 1, 2, 1, 2, 0})},
        {"data/feat.npy", Npy<float>({3}, {1, 2, 3})},
        {"set/train.npy", Npy<int64_t>({2, 0})},
        {"set/train_labels.npy", Npy<int64_t>({1, 0})},
        {"set/test.npy", Npy<int64_t>({1})},
        {"set/test_labels.npy", Npy<int64_t>({4})},
        {"metadata.yaml",
         "dataset_name: tiny\n"
         "graph:\n"
         "  nodes: [{num: 3}]\n"
         "  edges: [" +
             edges +
             "]\n"
             "feature_data:\n"
             "- {domain: node, type: null, name: feat, format: numpy,"
             " path: data/feat.npy}\n"
             "tasks:\n"
             "- name: node_classification\n"
             "  num_classes: 5\n"
             "  train_set:\n"
             "  - data:\n"
             "    - {name: seeds, format: numpy, path: set/train.npy}\n"
             "    - {name: labels, format: numpy, path: set/train_labels.npy}\n"
             "  test_set:\n"
             "  - data:\n"
             "    - {format: numpy, path: set/test.npy}\n"
             "    - {format: numpy, path: set/test_labels.npy}\n"}},
       {{"", ""}},
       {}},
      {{"--feature", "feat"}, {"--task", "node_classification"}});
}

ImportSource OgbOfSets() {
  ImportSource source = OgbOfText(".csv");
  source.files["raw/node-label.csv"] = "0,1,1\n0,0,nan\n1,0,0\n";
  return source;
}

ImportSource GraphBoltOfNumbers() {
  ImportSource source = GraphBolt(true);
  source.files["set/train_labels.npy"] = Npy<float>({2, 2}, {0.5F, 1, -2, 3});
  source.files["set/test_labels.npy"] = Npy<int64_t>({1, 2}, {4, 5});
  return source;
}

void WritePlain(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void WriteGzip(const fs::path& path, const std::string& bytes) {
  gzFile file = ::gzopen(path.c_str(), "wb");
  Require(file != nullptr, "gzopen");
  Require(bytes.empty() || ::gzwrite(file, bytes.data(),
                                     static_cast<unsigned>(bytes.size())) > 0,
          "gzwrite");
  Require(::gzclose(file) == Z_OK, "gzclose");
}

void WriteZip(const fs::path& path,
              const std::map<std::string, std::string>& members) {
  zip_t* zip = ::zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  Require(zip != nullptr, "zip_open");
  for (const auto& [name, bytes] : members) {
    const zip_int64_t index = ::zip_file_add(
        zip, name.c_str(),
        ::zip_source_buffer(zip, bytes.data(), bytes.size(), 0), 0);
    Require(index >= 0, "zip_file_add");
    // As numpy.savez and numpy.savez_compressed do, in turns.
    ::zip_set_file_compression(zip, static_cast<zip_uint64_t>(index),
                               index % 2 == 0 ? ZIP_CM_STORE : ZIP_CM_DEFLATE,
                               0);
  }
  Require(::zip_close(zip) == 0, "zip_close");
}

}  // namespace

std::vector<ImportSource> SoundSources() {
  return {Debian(),
          EdgeList("edges.txt"),
          EdgeList("edges.txt.gz"),
          EdgeListOfNames(),
          Csv(),
          NpzOfMatrices(),
          NpzOfEdges(),
          Numpy(false),
          Numpy(true),
          OgbOfText(".csv.gz"),
          OgbOfText(".csv"),
          OgbOfArrays(),
          GraphBolt(true),
          GraphBolt(false),
          NumpyOfNumbers(),
          CsvOfSets(),
          OgbOfSets(),
          GraphBoltOfNumbers()};
}

void WriteSource(const ImportSource& source, const fs::path& folder) {
  std::map<fs::path, std::map<std::string, std::string>> archives;
  for (const auto& [name, bytes] : source.files) {
    const fs::path path = folder / name;
    if (path.parent_path().extension() == ".npz") {
      fs::create_directories(path.parent_path().parent_path());
      archives[path.parent_path()][path.filename()] = bytes;
      continue;
    }
    fs::create_directories(path.parent_path());
    path.extension() == ".gz" ? WriteGzip(path, bytes)
                              : WritePlain(path, bytes);
  }
  for (const auto& [path, members] : archives) WriteZip(path, members);
}

}  // namespace fgnn
