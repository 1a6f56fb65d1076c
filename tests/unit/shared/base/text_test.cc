// Words and numbers for people: units, nearest words, hashes of strings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "shared/base/hash.h"
#include "shared/base/nearest.h"
#include "shared/base/units.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

uint64_t Bytes(const std::string& text) {
  const absl::StatusOr<uint64_t> bytes = ParseBytes(text);
  EXPECT_THAT(bytes, IsOk()) << text;
  return bytes.value_or(0);
}

TEST(ParseBytesTest, ReadsBinaryAndDecimalUnits) {
  EXPECT_EQ(Bytes("1048576"), uint64_t{1} << 20);
  EXPECT_EQ(Bytes("64MiB"), uint64_t{64} << 20);
  EXPECT_EQ(Bytes("2 GB"), 2'000'000'000U);
  EXPECT_EQ(Bytes("1.5GiB"), uint64_t{3} << 29);
  EXPECT_EQ(Bytes("8gib"), uint64_t{8} << 30);
  EXPECT_EQ(Bytes("3K"), 3'000U);
  EXPECT_EQ(Bytes("1TiB"), uint64_t{1} << 40);
  EXPECT_EQ(Bytes("17 B"), 17U);
  EXPECT_EQ(Bytes("0"), 0U);
}

TEST(ParseBytesTest, RefusesWhatIsNotASizeAndQuotesIt) {
  for (const std::string text :
       {"", "GiB", "12 apples", "1.2.3MiB", "-5", "1e3", "0x10", "99999999TiB",
        "1 GiBs", "nan"}) {
    EXPECT_THAT(ParseBytes(text), InvalidArgument("'" + text + "'")) << text;
  }
}

TEST(ParseSecondsTest, ReadsNumberAndUnit) {
  const auto seconds = [](const std::string& text) {
    const absl::StatusOr<double> parsed = ParseSeconds(text);
    EXPECT_THAT(parsed, IsOk()) << text;
    return parsed.value_or(-1);
  };
  EXPECT_DOUBLE_EQ(seconds("200us"), 2e-4);
  EXPECT_DOUBLE_EQ(seconds("10ms"), 0.01);
  EXPECT_DOUBLE_EQ(seconds("1.5 s"), 1.5);
  EXPECT_DOUBLE_EQ(seconds("2min"), 120);
  EXPECT_DOUBLE_EQ(seconds("1h"), 3600);
  EXPECT_EQ(seconds("0ms"), 0);
}

TEST(ParseSecondsTest, RefusesWhatIsNotATimeAndQuotesIt) {
  for (const std::string text : {"", "10", "ms", "-1s", "1e3s", "1.2.3s",
                                 "10 apples", "10MS", "nan s"}) {
    EXPECT_THAT(ParseSeconds(text), InvalidArgument("'" + text + "'")) << text;
  }
}

TEST(FormatBytesTest, WritesThreeDigitsOrSo) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1.00 KiB");
  EXPECT_EQ(FormatBytes(uint64_t{3} << 29), "1.50 GiB");
  EXPECT_EQ(FormatBytes(uint64_t{312} << 10), "312.0 KiB");
}

TEST(FormatCountTest, GroupsDigits) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1'000), "1,000");
  EXPECT_EQ(FormatCount(1'234'567), "1,234,567");
}

TEST(FormatSecondsTest, PicksTheUnit) {
  EXPECT_EQ(FormatSeconds(0.0121), "12 ms");
  EXPECT_EQ(FormatSeconds(7.34), "7.3 s");
  EXPECT_EQ(FormatSeconds(59.96), "1 min 00 s");
  EXPECT_EQ(FormatSeconds(125), "2 min 05 s");
  EXPECT_EQ(FormatSeconds(3600 * 3 + 125), "3 h 02 min");
}

TEST(NearestWordTest, FindsASlipAndRefusesAStranger) {
  const std::vector<std::string> keys = {"kind", "fanouts", "batch_size",
                                         "threads"};
  EXPECT_EQ(NearestWord("fanout", keys), "fanouts");
  EXPECT_EQ(NearestWord("batchsize", keys), "batch_size");
  EXPECT_EQ(NearestWord("thraeds", keys), "threads");
  EXPECT_EQ(NearestWord("learning_rate", keys), "");
  EXPECT_EQ(NearestWord("anything", {}), "");
}

TEST(CheckChoiceTest, NamesTheFieldTheNearestChoiceAndAll) {
  const std::vector<std::string> choices = {"mean", "pool"};
  EXPECT_THAT(CheckChoice("model.aggregator", "pool", choices), IsOk());
  EXPECT_THAT(CheckChoice("model.aggregator", "poll", choices),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "model.aggregator: 'poll' is not known; did you mean "
                       "'pool'? choose from: mean, pool"));
  EXPECT_THAT(CheckChoice("model.aggregator", "weighted", choices),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "model.aggregator: 'weighted' is not known; choose "
                       "from: mean, pool"));
}

TEST(IndexOfWordTest, SaysWhatThereIs) {
  const std::vector<std::string> policies = {"presc", "degree"};
  FGNN_ASSERT_OK_AND_ASSIGN(const size_t index,
                            IndexOfWord("degree", policies, "cache policy"));
  EXPECT_EQ(index, 1U);
  EXPECT_THAT(IndexOfWord("lru", policies, "cache policy"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "'lru' is no cache policy; this build has presc, "
                       "degree"));
}

TEST(HashStringTest, TellsSimilarStringsApart) {
  std::set<uint64_t> hashes;
  size_t made = 0;
  std::string text;
  for (int i = 0; i < 40; ++i, text += '\0', made += 2) {
    hashes.insert(HashString(text));
    hashes.insert(HashString(text + "a"));
  }
  EXPECT_EQ(hashes.size(), made);
}

// Written into files and segments: it may never change.
TEST(HashStringTest, IsTheSameForEver) {
  EXPECT_EQ(HashString(""), Mix64(0));
  EXPECT_EQ(HashString("a"), Mix64(Mix64(1) ^ 0x61));
  EXPECT_EQ(HashString("abcdefghi"),
            Mix64(Mix64(Mix64(9) ^ 0x6867666564636261u) ^ 0x69));
}

}  // namespace
}  // namespace fgnn
