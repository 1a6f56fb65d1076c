#include "shared/graph/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/philox.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// A file as NumPy itself writes it: version, header text, padding.
std::string NpyBytes(const std::string& text, char major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += major;
  bytes += '\0';
  const size_t length = text.size() + 1;
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    bytes += static_cast<char>(length >> (8 * i) & 0xff);
  }
  return bytes + text + "\n";
}

absl::StatusOr<NpyHeader> Parse(const std::string& bytes) {
  return ParseNpyHeader(
      {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
}

void WriteBytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(NpyHeaderTest, ReadsWhatNumPyWritesInEachVersion) {
  for (const char major : {1, 2, 3}) {
    const std::string bytes = NpyBytes(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   ",
        major);
    FGNN_ASSERT_OK_AND_ASSIGN(const NpyHeader header, Parse(bytes));
    EXPECT_EQ(header.type, NpyType::kF32);
    EXPECT_THAT(header.shape, ElementsAre(3, 4));
    EXPECT_EQ(header.data_offset, bytes.size());
    EXPECT_EQ(header.num_elements(), 12U);
  }
}

TEST(NpyHeaderTest, ReadsScalarsVectorsAndKeysInAnyOrder) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const NpyHeader scalar,
      Parse(NpyBytes("{'shape': (), 'fortran_order': False, 'descr': '|b1'}")));
  EXPECT_EQ(scalar.num_elements(), 1U);
  FGNN_ASSERT_OK_AND_ASSIGN(
      const NpyHeader vector,
      Parse(NpyBytes(
          "{\"descr\": \"<u8\", 'shape': (7,), 'fortran_order': False}")));
  EXPECT_EQ(vector.type, NpyType::kU64);
  EXPECT_THAT(vector.shape, ElementsAre(7));
}

TEST(NpyHeaderTest, RefusesWhatItDoesNotUnderstandAndSaysWhy) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"PK\x03\x04 this is a zip archive", "not those of NumPy"},
      {NpyBytes("{}", 9), "version 9"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12), "claims to be"},
      {NpyBytes("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4)}"),
       "Fortran order"},
      {NpyBytes("{'descr': '<U5', 'fortran_order': False, 'shape': (3,)}"),
       "'<U5' is not supported"},
      {NpyBytes("{'descr': '>f4', 'fortran_order': False, 'shape': (3,)}"),
       "a.astype('<f4')"},
      {NpyBytes("{'descr': '|O', 'fortran_order': False, 'shape': (3,)}"),
       "'|O' is not supported; write numbers with numpy.save(file, "
       "a.astype('<f8')), names with numpy.save(file, a.astype(str))"},
      {NpyBytes("{'descr': '>i8', 'fortran_order': False, 'shape': (3,)}"),
       "a.astype('<i8')"},
      {NpyBytes("{'descr': '<f16', 'fortran_order': False, 'shape': (3,)}"),
       "a.astype('<f8')"},
      {NpyBytes("{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (3,)}"),
       "a.astype('<i8')"},
      {NpyBytes("{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}"),
       "a.real and a.imag"},
      {NpyBytes("{'descr': [('x', '<f4')], 'fortran_order': False, "
                "'shape': (3,)}"),
       "descr is not a plain type; write each of its fields"},
      {NpyBytes("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"),
       "dimension is no number"},
      {NpyBytes("{'descr': '<f4', 'fortran_order': False, "
                "'shape': (99999999999999999999,)}"),
       "dimension is no number"},
      {NpyBytes("{'descr': '<f4', 'fortran_order': False}"), "is missing"},
      {NpyBytes("{'descr': '<f4', 'fortran_order': False, 'shape': (3,"),
       "dimension is no number"},
      {NpyBytes("garbage"), "no dictionary"}};
  for (const auto& [bytes, reason] : cases) {
    EXPECT_THAT(Parse(bytes), InvalidArgument(reason)) << bytes;
  }
  const std::string whole = MakeNpyHeader(NpyType::kF32, {3});
  for (const size_t left : {size_t{0}, size_t{5}, size_t{9}, size_t{40}}) {
    EXPECT_THAT(Parse(whole.substr(0, left)), DataLoss("truncated"));
  }
}

// 2^33 * 2^31 elements are 0 modulo 2^64: the file would "hold" them all.
TEST(NpyHeaderTest, RefusesShapesWhoseProductOverflows) {
  for (const std::string shape :
       {"(8589934592, 2147483648)", "(4611686018427387904, 4)",
        "(0, 9223372036854775808, 9223372036854775808)"}) {
    EXPECT_THAT(Parse(NpyBytes("{'descr': '<f4', 'fortran_order': False, "
                               "'shape': " +
                               shape + "}")),
                InvalidArgument("overflows"));
  }
}

// Every cut of a good header is an error, never a crash or a guess.
TEST(NpyHeaderTest, RefusesEveryPrefix) {
  const std::vector<uint64_t> shape = {5, 6};
  const std::string whole = MakeNpyHeader(NpyType::kF16, shape);
  ASSERT_THAT(Parse(whole), IsOk());
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(Parse(whole.substr(0, length)).ok()) << length;
  }
}

TEST(NpyHeaderTest, SurvivesFlippedBytes) {
  const std::vector<uint64_t> shape = {5, 6};
  const std::string whole = MakeNpyHeader(NpyType::kF16, shape);
  const PhiloxKey key = MakePhiloxKey(1, 0, 0, 0, Purpose::kGenerateDataset);
  for (uint32_t trial = 0; trial < 20000; ++trial) {
    std::string bytes = whole;
    const PhiloxBlock draw = Philox4x32({trial, 0, 0, 0}, key);
    for (int i = 0; i < 2; ++i) {
      bytes[draw.words[i] % bytes.size()] =
          static_cast<char>(draw.words[i + 2] & 0xff);
    }
    const absl::StatusOr<NpyHeader> header = Parse(bytes);
    if (header.ok()) {
      EXPECT_LE(header->data_offset, bytes.size());
    }
  }
}

TEST(NpyHeaderTest, IsAlignedAndAsLongForAnyFirstDimension) {
  const std::vector<uint64_t> small = {0, 100};
  const std::vector<uint64_t> large = {uint64_t{1} << 52, 100};
  const std::string a = MakeNpyHeader(NpyType::kF32, small);
  const std::string b = MakeNpyHeader(NpyType::kF32, large);
  EXPECT_EQ(a.size(), b.size());
  EXPECT_EQ(a.size() % 64, 0U);
  FGNN_ASSERT_OK_AND_ASSIGN(const NpyHeader header, Parse(b));
  EXPECT_EQ(header.shape, large);
}

TEST(NpyWriterTest, WritesWhatNpyArrayReads) {
  const TempFolder folder;
  const auto path = folder.path() / "a.npy";
  FGNN_ASSERT_OK_AND_ASSIGN(NpyWriter writer,
                            NpyWriter::Create(path, NpyType::kU32, {3}));
  // Odd pieces, and one that is larger than the writer's buffer.
  std::vector<uint32_t> values(3 * 200'000);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<uint32_t>(Mix64(i));
  }
  const char* from = reinterpret_cast<const char*>(values.data());
  const size_t bytes = values.size() * sizeof(uint32_t);
  size_t at = 0;
  for (const size_t piece : {size_t{1}, size_t{12}, size_t{1'500'003}}) {
    FGNN_ASSERT_OK(writer.Append(from + at, piece));
    at += piece;
  }
  FGNN_ASSERT_OK(writer.Append(from + at, bytes - at));
  FGNN_ASSERT_OK(writer.Close());

  FGNN_ASSERT_OK_AND_ASSIGN(const NpyArray array, NpyArray::Open(path));
  EXPECT_THAT(array.header().shape, ElementsAre(200'000, 3));
  EXPECT_THAT(array.As<uint32_t>(), ElementsAreArray(values));
}

TEST(NpyWriterTest, WritesAnEmptyArray) {
  const TempFolder folder;
  const auto path = folder.path() / "empty.npy";
  FGNN_ASSERT_OK_AND_ASSIGN(NpyWriter writer,
                            NpyWriter::Create(path, NpyType::kI64, {}));
  FGNN_ASSERT_OK(writer.Close());
  FGNN_ASSERT_OK_AND_ASSIGN(const NpyArray array, NpyArray::Open(path));
  EXPECT_THAT(array.header().shape, ElementsAre(0));
  EXPECT_TRUE(array.As<int64_t>().empty());
}

TEST(NpyWriterTest, RefusesAPartialRowAndRemovesTheFile) {
  const TempFolder folder;
  const auto path = folder.path() / "a.npy";
  {
    FGNN_ASSERT_OK_AND_ASSIGN(NpyWriter writer,
                              NpyWriter::Create(path, NpyType::kF32, {2}));
    const float one = 1;
    FGNN_ASSERT_OK(writer.Append(&one, sizeof(one)));
    EXPECT_THAT(writer.Close(), InvalidArgument("whole number of rows"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(NpyWriterTest, NamesTheFileWhenTheDiskIsFull) {
  // Through a link, since a file that could not be written is removed.
  const TempFolder folder;
  const auto path = folder.path() / "full.npy";
  std::filesystem::create_symlink("/dev/full", path);
  EXPECT_THAT(NpyWriter::Create(path, NpyType::kF32, {}).status(),
              ResourceExhausted(path.string()));
  EXPECT_FALSE(std::filesystem::is_symlink(path));
}

TEST(NpyArrayTest, RefusesTruncatedAndOverlongFiles) {
  const TempFolder folder;
  const auto path = folder.path() / "a.npy";
  const std::string header =
      NpyBytes("{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }  ");
  WriteBytes(path, header + std::string(31, 'x'));
  EXPECT_THAT(NpyArray::Open(path),
              DataLoss(path.string(), "truncated", "32 B", "31 B"));
  WriteBytes(path, header + std::string(33, 'x'));
  EXPECT_THAT(NpyArray::Open(path), InvalidArgument("foreign bytes"));
}

TEST(NpyArrayTest, RefusesDataThatIsNotAligned) {
  const TempFolder folder;
  const auto path = folder.path() / "a.npy";
  std::string text = "{'descr': '<i8', 'fortran_order': False, 'shape': (1,)}";
  while ((NpyBytes(text).size()) % 8 == 0) text += ' ';
  WriteBytes(path, NpyBytes(text) + std::string(8, 'x'));
  EXPECT_THAT(NpyArray::Open(path), InvalidArgument("not aligned"));
}

}  // namespace
}  // namespace fgnn
