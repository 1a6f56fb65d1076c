// The fixture of the importers' tests: a folder for sources, and the imported
// dataset.
#ifndef FGNN_TESTS_UNIT_TOOLS_DATASET_IMPORT_FIXTURE_H_
#define FGNN_TESTS_UNIT_TOOLS_DATASET_IMPORT_FIXTURE_H_

#include <gtest/gtest.h>
#include <zip.h>
#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "shared/graph/dataset.h"
#include "tests/fakes/npy_bytes.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tools/dataset/importing/import.h"

namespace fgnn {

class ImportTest : public testing::Test {
 protected:
  ImportTest() { options_.out = folder_ / "out"; }

  std::filesystem::path Write(const std::string& name,
                              const std::string& contents) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << contents;
    return path;
  }

  std::filesystem::path WriteGz(const std::string& name,
                                const std::string& contents) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    gzFile file = ::gzopen(path.c_str(), "wb");
    ::gzwrite(file, contents.data(), static_cast<unsigned>(contents.size()));
    ::gzclose(file);
    return path;
  }

  // `arrays`: from the name without ".npy" to the bytes of Npy().
  std::filesystem::path WriteNpz(
      const std::string& name, const std::map<std::string, std::string>& arrays,
      bool compressed = false) {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    zip_t* zip = ::zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
    for (const auto& [array, bytes] : arrays) {
      zip_source_t* source =
          ::zip_source_buffer(zip, bytes.data(), bytes.size(), 0);
      const zip_int64_t index =
          ::zip_file_add(zip, (array + ".npy").c_str(), source, 0);
      ::zip_set_file_compression(zip, static_cast<zip_uint64_t>(index),
                                 compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
    }
    EXPECT_EQ(::zip_close(zip), 0);
    return path;
  }

  // Imports into `out`, where no dataset stays that the test has made before.
  template <typename Source>
  absl::StatusOr<ImportSummary> From(absl::StatusOr<ImportSummary> (*import)(
                                         const Source&, const ImportOptions&),
                                     const Source& source) {
    if (taken_) std::filesystem::remove_all(options_.out);
    out_.reset();
    absl::StatusOr<ImportSummary> summary = import(source, options_);
    taken_ = summary.ok();
    return summary;
  }

  // Returns the imported dataset, after a full validation.
  const Dataset& Out() {
    if (!out_.has_value()) {
      absl::StatusOr<Dataset> dataset =
          Dataset::Open(options_.out, Validation::kEverything);
      if (!dataset.ok()) ADD_FAILURE() << dataset.status();
      out_.emplace(*std::move(dataset));
    }
    return *out_;
  }

  std::vector<int64_t> InNeighbors(uint64_t v) {
    const CscView& graph = Out().graph();
    const auto& indices = std::get<absl::Span<const uint32_t>>(graph.indices);
    return {indices.begin() + graph.indptr[v],
            indices.begin() + graph.indptr[v + 1]};
  }

  std::vector<float> Features(uint64_t v) {
    std::vector<float> row(Out().features().columns);
    std::memcpy(row.data(), Out().features().row(v),
                Out().features().row_bytes());
    return row;
  }

  std::string ReadOut(const std::string& name) const {
    std::ifstream in(options_.out / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  // Whether the folder holds no dataset, and no part of one.
  bool NothingLeft() const {
    for (const auto& entry :
         std::filesystem::directory_iterator(folder_.path())) {
      if (entry.path().filename().string().find("out") != std::string::npos) {
        return false;
      }
    }
    return true;
  }

  TempFolder folder_;
  ImportOptions options_;

 private:
  bool taken_ = false;  // Whether the last import made a dataset.
  std::optional<Dataset> out_;
};

// Expects that the source was taken, and returns what is said of it.
inline ImportSummary Taken(absl::StatusOr<ImportSummary> summary) {
  EXPECT_THAT(summary, IsOk());
  return std::move(summary).value_or(ImportSummary());
}

inline std::vector<int64_t> ToVector(absl::Span<const int64_t> ids) {
  return {ids.begin(), ids.end()};
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TOOLS_DATASET_IMPORT_FIXTURE_H_
