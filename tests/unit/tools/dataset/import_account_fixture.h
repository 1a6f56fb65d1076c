// The fixture of the tests of accounts: draws sources, and compares.
#ifndef FGNN_TESTS_UNIT_TOOLS_DATASET_IMPORT_ACCOUNT_FIXTURE_H_
#define FGNN_TESTS_UNIT_TOOLS_DATASET_IMPORT_ACCOUNT_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "shared/graph/metadata.h"
#include "tests/fakes/status_matchers.h"
#include "tests/unit/tools/dataset/generated_source.h"
#include "tests/unit/tools/dataset/import_fixture.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/import_report.h"
#include "tools/dataset/inspecting/import_account.h"

namespace fgnn {

using Result = absl::StatusOr<ImportSummary>;

inline constexpr uint64_t kSourcesInCi = 40;

inline uint64_t NumSources() {
  for (const std::string& word : testing::internal::GetArgvs()) {
    const std::string flag = "--sources=";
    if (word.starts_with(flag)) return std::stoull(word.substr(flag.size()));
  }
  return kSourcesInCi;
}

inline uint64_t Sum(const std::vector<AccountReason>& reasons) {
  uint64_t sum = 0;
  for (const AccountReason& reason : reasons) sum += reason.count;
  return sum;
}

inline std::map<std::string, uint64_t> ByReason(
    const std::vector<AccountReason>& reasons) {
  std::map<std::string, uint64_t> counts;
  for (const AccountReason& reason : reasons) {
    counts[reason.reason] += reason.count;
  }
  return counts;
}

class ImportAccountTest : public ImportTest {
 protected:
  // Draws sources, imports them with `import`, which fills what is expected of
  // the edges and, if it has rows of vertices, of them; and compares.
  void ForEachSource(
      const std::function<Result(Draw&, Expected*, Expected*)>& import) {
    const uint64_t num_sources = NumSources();
    for (uint64_t seed = 0; seed < num_sources && !HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      std::filesystem::remove_all(folder_.path());
      std::filesystem::create_directories(folder_.path());
      Draw draw(seed);
      options_ = {};
      options_.out = folder_ / "out";
      draw.MakeOptions(&options_);
      missing_.clear();
      labelled_ = 0;
      Expected edges;
      Expected vertices;
      const ImportSummary summary = Taken(import(draw, &edges, &vertices));
      Check(summary, edges, vertices);
    }
  }

  void Check(const ImportSummary& summary, const Expected& edges,
             const Expected& vertices) {
    SCOPED_TRACE(ImportReport(summary, options_, 1));
    for (const AccountTable& table : summary.account.tables) {
      EXPECT_EQ(table.read + Sum(table.added),
                table.made + table.merged + Sum(table.left_out));
      if (table.product == "edges") Compare(table, edges);
      if (table.product == "vertices") Compare(table, vertices);
    }
    EXPECT_EQ(summary.num_edges, edges.made);
    EXPECT_EQ(ReadMetadata(options_.out).value().num_edges, edges.made);
    EXPECT_EQ(summary.num_labelled, labelled_);
    std::map<std::string, uint64_t> missing;
    for (const AccountColumn& column : summary.account.columns) {
      if (column.missing > 0) missing[column.names] = column.missing;
    }
    EXPECT_EQ(missing, missing_);
    FGNN_ASSERT_OK_AND_ASSIGN(const auto kept, ReadAccount(options_.out));
    ASSERT_TRUE(kept.has_value());
    EXPECT_EQ(FormatAccount(*kept), FormatAccount(summary.account));
  }

  void Compare(const AccountTable& table, const Expected& expected) {
    EXPECT_EQ(table.read, expected.read) << table.source;
    EXPECT_EQ(table.made, expected.made) << table.source;
    EXPECT_EQ(table.merged, expected.merged) << table.source;
    EXPECT_EQ(ByReason(table.added), expected.added) << table.source;
    EXPECT_EQ(ByReason(table.left_out), expected.left_out) << table.source;
  }

  // Returns a value, or one that is missing, which is counted for `column`.
  std::string OrMissing(Draw& draw, const std::string& column,
                        const std::string& value) {
    if (!draw.OneOf(5)) return value;
    ++missing_[column];
    return draw.Missing();
  }

  Result Csv(Draw& draw, Expected* edges, Expected* vertices);
  std::string CsvNodesText(Draw& draw, const std::vector<std::string>& ids,
                           const std::vector<std::string>& comments,
                           Expected* vertices);

  Result EdgeList(Draw& draw, Expected* edges);
  Result Arrays(Draw& draw, Expected* edges, Expected* vertices, bool npz);
  Result Ogb(Draw& draw, Expected* edges);
  Result GraphBolt(Draw& draw, Expected* edges);
  Result Debian(Draw& draw, Expected* edges, Expected* vertices);
  std::string Features(Draw& draw, uint64_t num_nodes);
  std::string Labels(Draw& draw, uint64_t num_nodes);
  static std::string PairsText(Draw& draw, const Edges& drawn, Expected* edges);

  const std::vector<std::string> separators_ = {" ", "\t", "  ", " \t "};
  std::map<std::string, uint64_t> missing_;  // By column.
  uint64_t labelled_ = 0;
};

// Quotes a field at times, and always if it may be taken for something else.
inline std::string Quoted(Draw& draw, const std::string& field,
                          bool always = false) {
  return always || draw.OneOf(5) ? "\"" + field + "\"" : field;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_TOOLS_DATASET_IMPORT_ACCOUNT_FIXTURE_H_
