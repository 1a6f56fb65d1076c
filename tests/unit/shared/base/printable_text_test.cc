#include "shared/base/printable_text.h"

#include <gtest/gtest.h>

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
