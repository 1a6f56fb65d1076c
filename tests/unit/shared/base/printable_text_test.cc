#include "shared/base/printable_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "shared/base/json_text.h"

namespace fgnn {
namespace {

TEST(PrintableTextTest, KeepsWhatPeopleWrite) {
  EXPECT_EQ(PrintableText(""), "");
  EXPECT_EQ(PrintableText("a run of Müller, 漢字 and 🙂"),
            "a run of Müller, 漢字 and 🙂");
}

TEST(PrintableTextTest, WritesControlCharactersAsInC) {
  EXPECT_EQ(PrintableText("one\ntwo\r\x1b[31m\x7f"),
            "one\\ntwo\\x0d\\x1b[31m\\x7f");
  EXPECT_EQ(PrintableText(std::string_view("a\0b", 3)), "a\\x00b");
  // U+009B starts a sequence of commands as ESC [ does.
  EXPECT_EQ(PrintableText("\xc2\x9b"), "\\xc2\\x9b");
  EXPECT_EQ(PrintableText("\xc2\xa0"), "\xc2\xa0");
}

TEST(PrintableTextTest, WritesBytesThatAreNoUtf8AsInC) {
  EXPECT_EQ(PrintableText("a\xff"), "a\\xff");
  EXPECT_EQ(PrintableText("\x80x"), "\\x80x");
  // Cut in mid-character, overlong, a surrogate, beyond U+10FFFF.
  EXPECT_EQ(PrintableText("\xe6\xbc"), "\\xe6\\xbc");
  EXPECT_EQ(PrintableText("\xc0\xaf"), "\\xc0\\xaf");
  EXPECT_EQ(PrintableText("\xe0\x80\x80"), "\\xe0\\x80\\x80");
  EXPECT_EQ(PrintableText("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(PrintableText("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  // The next character is kept.
  EXPECT_EQ(PrintableText("\xe6\xbc\x41"), "\\xe6\\xbc\x41");
}

TEST(PrintableTextTest, WritesWhatReordersOrIsNotSeenAsInC) {
  // A name that reads backwards, and one that looks like "root".
  EXPECT_EQ(PrintableText("a\u202egpj.exe"), "a\\xe2\\x80\\xaegpj.exe");
  EXPECT_EQ(PrintableText("ro\u200bot"), "ro\\xe2\\x80\\x8bot");
  for (const char* character :
       {"\u00ad",     "\u034f",     "\u0600",    "\u061c",     "\u115f",
        "\u180e",     "\u200b",     "\u200f",    "\u2028",     "\u2029",
        "\u202a",     "\u2066",     "\u2069",    "\u206f",     "\u3164",
        "\ufe0f",     "\ufeff",     "\ufff9",    "\U000110bd", "\U0001d173",
        "\U000e0001", "\U000e007f", "\U000e0fff"}) {
    EXPECT_THAT(PrintableText(character), testing::StartsWith("\\x"))
        << character;
  }
  // Their neighbours.
  for (const char* character :
       {"\u00ac", "\u00ae", "\u0606", "\u200a", "\u2010", "\u2027", "\u202f",
        "\u2070", "\ufffc", "\U0001d172", "\U000e1000"}) {
    EXPECT_EQ(PrintableText(character), character);
  }
}

std::string CsvField(std::string_view text) {
  std::string line;
  AppendCsvField(text, &line);
  return line;
}

TEST(CsvFieldTest, KeepsWhatIsNeitherCommandNorFormula) {
  for (const char* text :
       {"", "bash", "a=b", "漢字", "-1", "+3.5e-4", "-.5", "-", "a;b", "''"}) {
    EXPECT_EQ(CsvField(text), text);
  }
  EXPECT_EQ(CsvField("a,b"), "\"a,b\"");
  EXPECT_EQ(CsvField("say \"a\""), "\"say \"\"a\"\"\"");
  EXPECT_EQ(CsvField("a\nb\tc"), "\"a\nb\tc\"");
}

TEST(CsvFieldTest, NoSpreadsheetRunsAField) {
  EXPECT_EQ(CsvField("=1+1"), "'=1+1");
  EXPECT_EQ(CsvField("+1+cmd|'/C calc'!A0"), "'+1+cmd|'/C calc'!A0");
  EXPECT_EQ(CsvField("-1-1"), "'-1-1");
  EXPECT_EQ(CsvField("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(CsvField("\t=1"), "'\t=1");
  EXPECT_EQ(CsvField("\r=1"), "\\x0d=1");
  EXPECT_EQ(CsvField("\n=1"), "\"'\n=1\"");
  EXPECT_EQ(CsvField("＝1+1"), "'＝1+1");
  EXPECT_EQ(CsvField("=HYPERLINK(\"a\",\"b\")"),
            "\"'=HYPERLINK(\"\"a\"\",\"\"b\"\")\"");
  // Where a semicolon parts cells.
  EXPECT_EQ(CsvField("a;=1+1;-2"), "a;'=1+1;-2");
}

TEST(CsvFieldTest, NoTerminalObeysAField) {
  EXPECT_EQ(CsvField("a\x1b[31m\rb"), "a\\x1b[31m\\x0db");
  EXPECT_EQ(CsvField("a\u202eb\xff"), "a\\xe2\\x80\\xaeb\\xff");
}

TEST(PrintableTextTest, CutsBetweenCharacters) {
  EXPECT_EQ(PrintableText("abc", 3), "abc");
  EXPECT_EQ(PrintableText("abcd", 3), "abc");
  EXPECT_EQ(PrintableText("ab漢", 4), "ab");
  EXPECT_EQ(PrintableText("ab漢", 5), "ab漢");
  EXPECT_EQ(PrintableText("ab\xff", 5), "ab");
}

TEST(JsonTextTest, NoCharacterMovesACursor) {
  const nlohmann::json text = "a\x1b\x7f\xc2\x9b\xff\xc3\xa9";
  EXPECT_EQ(JsonText(text), R"("a\u001b\u007f\u009b\ufffd\u00e9")");
  EXPECT_EQ(JsonText(nlohmann::json{{"a", 1}}, 2), "{\n  \"a\": 1\n}");
}

}  // namespace
}  // namespace fgnn
