#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/unit/tools/dataset/import_fixture.h"
#include "tools/dataset/importing/import.h"
#include "tools/dataset/importing/word_hashing.h"
#include "tools/dataset/reading/debian_index.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kPackages[] = R"(Package: editor
Section: editors
Version: 1
Depends: libfoo (>= 1.0), mail-agent | postfix:any
Suggests: nowhere
Description: Small editor for text
 A long description that Depends: nobody

Package: libfoo
Section: libs
Pre-Depends: libfoo
Description: small EDITOR, for-text

Package: exim
Section: contrib/mail
Provides: mail-agent (= 2),
 smtp
Recommends: smtp

Package: postfix
section: mail
Provides: mail-agent

Package: editor
Section: games
Depends: postfix
)";

TEST(ForEachRelation, GivesAllNamesAndNothingElse) {
  std::vector<std::string> names;
  ForEachRelation(
      "a (>= 1:2~), b | c:any [amd64] <!nocheck>,d,, e|f ",
      [&names](std::string_view name) { names.emplace_back(name); });
  EXPECT_THAT(names, ElementsAre("a", "b", "c", "d", "e", "f"));
}

TEST(HashWords, IgnoresCaseAndPunctuationAndHasLengthOne) {
  std::vector<float> one(16);
  std::vector<float> two(16);
  HashWords("Small editor, for (text)", absl::MakeSpan(one));
  HashWords("TEXT for-small:editor", absl::MakeSpan(two));
  EXPECT_EQ(one, two);
  double squares = 0;
  for (const float value : one) squares += value * value;
  EXPECT_NEAR(squares, 1, 1e-6);

  HashWords("Smaller editor for text", absl::MakeSpan(two));
  EXPECT_NE(one, two);
  HashWords("--", absl::MakeSpan(two));
  EXPECT_EQ(two, std::vector<float>(16));
}

// Datasets made on different machines must agree, so the hash is fixed.
TEST(HashWords, GivesTheSameColumnsForEver) {
  std::vector<float> row(256);
  HashWords("a library", absl::MakeSpan(row));
  std::vector<std::pair<size_t, float>> set;
  for (size_t i = 0; i < row.size(); ++i) {
    if (row[i] != 0) set.emplace_back(i, std::round(row[i] * row[i] * 100));
  }
  ASSERT_EQ(set.size(), 2U);
  EXPECT_THAT(set, ElementsAre(testing::Pair(7, 50), testing::Pair(147, 50)));
}

class ImportDebianTest : public ImportTest {
 protected:
  absl::StatusOr<ImportSummary> Import() { return From(ImportDebian, source_); }
  DebianSource source_;
};

TEST_F(ImportDebianTest, LinksAlternativesAndProvidersBothWays) {
  source_.path = Write("Packages", kPackages);

  const ImportSummary summary = Taken(Import());

  EXPECT_EQ(ReadOut("names.txt"), "editor\nlibfoo\nexim\npostfix\n");
  EXPECT_THAT(InNeighbors(0), ElementsAre(1, 2, 3));
  EXPECT_THAT(InNeighbors(1), ElementsAre(0));  // Not itself.
  EXPECT_THAT(InNeighbors(2), ElementsAre(0));  // It provides smtp itself.
  EXPECT_THAT(InNeighbors(3), ElementsAre(0));
  EXPECT_EQ(summary.num_edges, 6U);
}

TEST_F(ImportDebianTest, SectionsAreLabelsAndDescriptionsFeatures) {
  source_.path = WriteGz("Packages.gz", kPackages);

  const ImportSummary summary = Taken(Import());

  EXPECT_EQ(ReadOut("class_names.txt"), "editors\nlibs\nmail\n");
  EXPECT_EQ(summary.num_classes, 3U);
  EXPECT_THAT(ToVector(Out().labels()), ElementsAre(0, 1, 2, 2));
  EXPECT_EQ(Out().features().columns, 256U);
  EXPECT_EQ(Features(0), Features(1));
  EXPECT_EQ(Features(2), std::vector<float>(256));
}

TEST_F(ImportDebianTest, BadIndexesAreNamed) {
  source_.path = Write("Packages", "Package: a\nnonsense\n");
  EXPECT_THAT(Import(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("Packages:2: 'nonsense'")));
  source_.path = Write("Packages", "Section: a\n\n");
  EXPECT_THAT(Import(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("Packages:2"),
                                       HasSubstr("no Package field"))));
  source_.path = Write("Packages", "");
  EXPECT_THAT(Import(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("holds no edges")));
  source_.feature_columns = 0;
  EXPECT_THAT(Import(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("--columns")));
  EXPECT_TRUE(NothingLeft());
}

}  // namespace
}  // namespace fgnn
