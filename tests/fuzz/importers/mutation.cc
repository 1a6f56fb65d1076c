#include "tests/fuzz/importers/mutation.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "shared/graph/npy.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

// At and around the sizes of numbers, vertices and classes.
const std::vector<uint64_t> kNumbers = {0,
                                        1,
                                        2,
                                        5,
                                        255,
                                        uint64_t{1} << 15,
                                        uint64_t{1} << 20,
                                        (uint64_t{1} << 24) + 1,
                                        (uint64_t{1} << 31) - 1,
                                        uint64_t{1} << 31,
                                        0xFFFFFFFE,
                                        0xFFFFFFFF,
                                        uint64_t{1} << 32,
                                        uint64_t{1} << 40,
                                        uint64_t{1} << 60,
                                        uint64_t{1} << 62,
                                        uint64_t{1} << 63,
                                        UINT64_MAX};

const std::vector<std::string> kWords = {"-1",
                                         "-9223372036854775808",
                                         "18446744073709551616",
                                         "1e308",
                                         "nan",
                                         "inf",
                                         "0x10",
                                         "1.5",
                                         "",
                                         "\xFF\xFE",
                                         "\"",
                                         "'",
                                         "\n",
                                         "\r\n",
                                         std::string(1, '\0'),
                                         "../../../etc/passwd",
                                         "/etc/passwd",
                                         "/dev/zero",
                                         ".",
                                         "*a",
                                         "&a",
                                         "[",
                                         "{",
                                         ": ",
                                         "- ",
                                         "# ",
                                         std::string(300, '['),
                                         std::string(5000, 'a'),
                                         "\xEF\xBB\xBF",
                                         "%%MatrixMarket",
                                         "null",
                                         "~",
                                         "\x1b[2J"};

std::string NumberText(Choices& choices) {
  return choices.OneIn(3) ? choices.From(kWords)
                          : absl::StrCat(choices.From(kNumbers));
}

void ReplaceDigits(std::string& bytes, Choices& choices) {
  std::vector<size_t> starts;
  const auto is_digit = [&](size_t i) {
    return std::isdigit(static_cast<unsigned char>(bytes[i])) != 0;
  };
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (is_digit(i) && (i == 0 || !is_digit(i - 1))) starts.push_back(i);
  }
  if (starts.empty()) return;
  const size_t start = choices.From(starts);
  size_t end = start;
  while (end < bytes.size() && is_digit(end)) ++end;
  bytes.replace(start, end - start, NumberText(choices));
}

// Of the bytes, or of what follows an .npy header.
void ReplaceWord(std::string& bytes, Choices& choices) {
  const size_t width = choices.OneIn(2) ? 4 : 8;
  if (bytes.size() < width) return;
  const size_t words = bytes.size() / width;
  const size_t first =
      bytes.size() > 128 && !choices.OneIn(4) ? 128 / width : 0;
  const size_t place = first + choices.Below(words - first + (words == first));
  uint64_t number = choices.From(kNumbers);
  if (choices.OneIn(4)) number = ~number + 1;
  if ((place + 1) * width > bytes.size()) return;
  std::memcpy(bytes.data() + place * width, &number, width);
}

// Another type or shape, and perhaps as many bytes as it asks for.
void ReplaceHeader(std::string& bytes, Choices& choices) {
  const auto header = ParseNpyHeader(
      {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
  if (!header.ok()) return;
  NpyType type = header->type;
  std::vector<uint64_t> shape = header->shape;
  if (choices.OneIn(3)) type = static_cast<NpyType>(choices.Below(11));
  if (choices.OneIn(3)) shape.push_back(choices.From(kNumbers));
  if (choices.OneIn(3) && !shape.empty()) shape.pop_back();
  for (uint64_t& extent : shape) {
    if (choices.OneIn(2)) extent = choices.From(kNumbers);
  }
  std::string data = bytes.substr(header->data_offset);
  uint64_t elements = BytesOf(type);
  for (const uint64_t extent : shape) {
    elements =
        extent > 1000 ? 1001 : std::min<uint64_t>(elements * extent, 1001);
  }
  if (choices.OneIn(2) && elements <= 1000) data.resize(elements, '\1');
  bytes = MakeNpyHeader(type, shape) + data;
}

void ChangeLength(std::string& bytes, Choices& choices) {
  const size_t place = choices.Below(bytes.size() + 1);
  const size_t length =
      choices.Below(std::min<size_t>(bytes.size() - place, 32) + 1);
  switch (choices.Below(5)) {
    case 0:
      bytes.resize(place);
      break;
    case 1:
      bytes.erase(place, length);
      break;
    case 2:
      bytes.insert(place, bytes.substr(place, length));
      break;
    case 3:
      bytes.clear();
      break;
    default:
      bytes.insert(place, choices.From(kWords));
  }
}

void FlipBytes(std::string& bytes, Choices& choices) {
  if (bytes.empty()) return;
  for (uint64_t left = 1 + choices.Below(4); left > 0; --left) {
    bytes[choices.Below(bytes.size())] =
        choices.OneIn(2) ? static_cast<char>(choices.Below(256))
                         : static_cast<char>(~choices.Below(2));
  }
}

void MutateBytes(std::string& bytes, Choices& choices) {
  switch (choices.Below(5)) {
    case 0:
      return ReplaceDigits(bytes, choices);
    case 1:
      return ReplaceWord(bytes, choices);
    case 2:
      return ReplaceHeader(bytes, choices);
    case 3:
      return ChangeLength(bytes, choices);
    default:
      return FlipBytes(bytes, choices);
  }
}

// Sizes in a zip archive's directory, which no byte of a member vouches for.
void MutateZip(std::string& bytes, Choices& choices) {
  const size_t entry = bytes.rfind("PK\x01\x02");
  if (entry == std::string::npos || entry + 46 > bytes.size()) return;
  const uint64_t number = choices.From(kNumbers);
  const std::vector<size_t> fields = {8, 10, 16, 20, 24, 28, 30, 42};
  std::memcpy(bytes.data() + entry + choices.From(fields), &number,
              choices.OneIn(2) ? 2 : 4);
}

void ReplaceKind(const fs::path& path, Choices& choices) {
  fs::remove(path);
  switch (choices.Below(4)) {
    case 0:
      break;
    case 1:
      fs::create_directory(path);
      break;
    case 2:
      fs::create_symlink(choices.OneIn(2) ? path.filename() : "nothing", path);
      break;
    default:
      // Text may come from a pipe: only arrays are plain files.
      if (path.extension() == ".npy" || path.extension() == ".npz") {
        ::mkfifo(path.c_str(), 0600);
      }
  }
}

}  // namespace

void MutateSource(const std::vector<ImportSource>& all, Choices& choices,
                  ImportSource* source) {
  for (uint64_t left = 1 + choices.Below(3); left > 0; --left) {
    auto& bytes = source->files[choices.From(source->files).first];
    if (choices.OneIn(10)) {
      bytes =
          choices
              .From(choices.OneIn(2) ? source->files : choices.From(all).files)
              .second;
    } else {
      MutateBytes(bytes, choices);
    }
  }
}

void MutateWritten(const fs::path& folder, Choices& choices) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  const fs::path path = choices.From(paths);
  if (choices.OneIn(4)) return ReplaceKind(path, choices);
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (path.extension() == ".npz" && choices.OneIn(2)) {
    MutateZip(bytes, choices);
  } else {
    MutateBytes(bytes, choices);
  }
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace fgnn
