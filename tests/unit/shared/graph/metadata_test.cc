#include "shared/graph/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

absl::StatusOr<DatasetMetadata> Read(const std::string& text) {
  const TempFolder folder;
  std::ofstream(folder.path() / "metadata.yaml") << text;
  return ReadMetadata(folder.path());
}

TEST(MetadataTest, ReadsWhatItFormats) {
  DatasetMetadata written;
  written.name = "a: name with # signs\"";
  written.source = "no, yes, 'quotes' and \xc3\xa9";
  written.num_nodes = 4294967295;
  written.num_edges = uint64_t{1} << 40;
  written.feature_columns = 100;
  written.feature_type = FeatureType::kBfloat16;
  written.num_classes = 47;
  written.target_columns = 65535;
  written.target_type = TargetType::kBits;
  written.symmetric = true;
  written.left_out = {"edge_attr", "a, b: #", "0"};
  written.host_rows = {.host = {.book = 7, .owners = 4, .owner = 3},
                       .num_rows = 17,
                       .content = 0x1234567812345678,
                       .own_content = 0xf000000000000001};
  FGNN_ASSERT_OK_AND_ASSIGN(const DatasetMetadata read,
                            Read(FormatMetadata(written)));
  EXPECT_EQ(read.name, written.name);
  EXPECT_EQ(read.source, written.source);
  EXPECT_EQ(read.num_nodes, written.num_nodes);
  EXPECT_EQ(read.num_edges, written.num_edges);
  EXPECT_EQ(read.feature_columns, written.feature_columns);
  EXPECT_EQ(read.feature_type, written.feature_type);
  EXPECT_EQ(read.num_classes, written.num_classes);
  EXPECT_EQ(read.target_columns, written.target_columns);
  EXPECT_EQ(read.target_type, written.target_type);
  EXPECT_EQ(read.symmetric, written.symmetric);
  EXPECT_EQ(read.left_out, written.left_out);
  ASSERT_TRUE(read.host_rows.has_value());
  EXPECT_EQ(read.host_rows->host, written.host_rows->host);
  EXPECT_EQ(read.host_rows->num_rows, 17U);
  EXPECT_EQ(read.host_rows->content, 0x1234567812345678U);
  EXPECT_EQ(read.host_rows->own_content, 0xf000000000000001U);
}

TEST(MetadataTest, RefusesHostRowsThatAreNone) {
  const std::string sizes = "num_nodes: 3\nnum_edges: 0\n";
  const std::string features = sizes + "feature_columns: 2\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {features + "host_rows: 3\n", "host_rows is not a mapping"},
      {features + "host_rows: {owners: 2, owner: 0, rows: 1, content: 1, "
                  "own_content: 1}\n",
       "key host_rows.book is missing"},
      {features + "host_rows: {book: 1, owners: 65, owner: 0, rows: 1, "
                  "content: 1, own_content: 1}\n",
       "host_rows.owners is 65, which is not in [1, 64]"},
      {features + "host_rows: {book: 1, owners: 2, owner: 2, rows: 1, "
                  "content: 1, own_content: 1}\n",
       "host_rows.owner is 2, but there are 2 owners"},
      {features + "host_rows: {book: 1, owners: 2, owner: 0, rows: 4, "
                  "content: 1, own_content: 1}\n",
       "host_rows.rows is 4, which is more than num_nodes 3"},
      {features + "host_rows: {book: xyz, owners: 2, owner: 0, rows: 1, "
                  "content: 1, own_content: 1}\n",
       "host_rows.book 'xyz' is no hex number"},
      {features + "host_rows: {book: 1, owners: -2, owner: 0, rows: 1, "
                  "content: 1, own_content: 1}\n",
       "host_rows.owners is not a whole number"},
      {sizes + "host_rows: {book: 1, owners: 2, owner: 0, rows: 1, "
               "content: 1, own_content: 1}\n",
       "host_rows is there, but feature_columns is 0"}};
  for (const auto& [text, reason] : cases) {
    EXPECT_THAT(Read(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(reason), HasSubstr("metadata.yaml: "),
                               HasSubstr("; mend it"))));
  }
}

TEST(MetadataTest, DefaultsTheRestAndIgnoresUnknownKeys) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const DatasetMetadata read,
      Read("num_nodes: 3\nnum_edges: 0\nlicence: [a, b]\n"));
  EXPECT_EQ(read.num_nodes, 3U);
  EXPECT_EQ(read.feature_columns, 0U);
  EXPECT_EQ(read.target_columns, 0U);
  // What datasets without targets have in the file stays as it was.
  EXPECT_THAT(FormatMetadata(read), Not(HasSubstr("target")));
  EXPECT_FALSE(read.name.empty());
}

TEST(MetadataTest, SaysInOneLineWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "not a mapping"},
      {"- 1\n- 2\n", "not a mapping"},
      {"num_nodes: 3\n", "num_edges is missing"},
      {"num_nodes: [3]\nnum_edges: 1\n", "line 1: num_nodes is not"},
      {"num_edges: 1\nnum_nodes: -3\n", "line 2: num_nodes is not"},
      {"num_nodes: many\nnum_edges: 1\n", "num_nodes is not"},
      {"num_nodes: 0\nnum_edges: 1\n", "not in [1, 4294967295]"},
      {"num_nodes: 4294967296\nnum_edges: 1\n", "not in [1, 4294967295]"},
      {"num_nodes: 3\nnum_edges: 9223372036854775808\n", "2^63"},
      {"num_nodes: 3\nnum_edges: 1\nnum_classes: 16777217\n",
       "num_classes is 16777217, which is more than 16777216"},
      {"num_nodes: 3\nnum_edges: 1\nfeature_columns: 16777217\n",
       "feature_columns is 16777217, which is more than 16777216"},
      {"num_nodes: 3\nnum_edges: 1\nfeature_type: f64\n",
       "'f64' is none of f32, f16, bf16"},
      {"num_nodes: 3\nnum_edges: 1\ntarget_columns: 65536\n",
       "target_columns is 65536, which is more than 65535"},
      {"num_nodes: 3\nnum_edges: 1\ntarget_type: f16\n",
       "'f16' is none of f32, u8"},
      {"num_nodes: 3\nnum_edges: 1\nsymmetric: perhaps\n", "true or false"},
      {"num_nodes: 3\nnum_edges: 1\nleft_out: {a: b}\n",
       "line 3: left_out is not a list of words"},
      {"num_nodes: {3\nnum_edges: 1\n", "line"}};
  for (const auto& [text, reason] : cases) {
    EXPECT_THAT(Read(text),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("metadata.yaml: "), HasSubstr(reason),
                               HasSubstr("; "), Not(HasSubstr("\n")))))
        << text;
  }
}

TEST(MetadataTest, IsNotFoundWithTheWayOut) {
  const TempFolder folder;
  EXPECT_THAT(ReadMetadata(folder.path()), NotFound("'fgnn dataset import'"));
}

}  // namespace
}  // namespace fgnn
