#include "trainer_service/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/crc32c.h"
#include "shared/base/files/file.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little endian and arrays are written as they lie");

using Json = nlohmann::json;

constexpr char kMetadataKey[] = "__metadata__";
// The checksum's key in the header. Quotes within strings are escaped, so this
// text can only be the key.
constexpr std::string_view kChecksumStart = "\"crc32c\":\"";
constexpr std::string_view kNoChecksum = "00000000";
constexpr uint64_t kLengthBytes = sizeof(uint64_t);
constexpr uint64_t kDataAlignment = 64;
// Bytes that are read at a time for the checksum. They stay in a core's cache.
constexpr uint64_t kPieceBytes = 256 << 10;

std::string Hex(uint32_t checksum) {
  char text[9];
  std::snprintf(text, sizeof(text), "%08x", checksum);
  return text;
}

std::string_view BytesOf(absl::Span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(float)};
}

absl::Span<std::byte> BytesOf(void* data, size_t size) {
  return {static_cast<std::byte*>(data), size};
}

// Returns the header with an empty checksum, padded so that the data starts
// aligned.
absl::StatusOr<std::string> MakeHeader(
    const std::map<std::string, std::string>& metadata,
    const std::vector<Tensor>& tensors) {
  Json header = Json::object();
  header[kMetadataKey] = metadata;
  header[kMetadataKey]["crc32c"] = std::string(kNoChecksum);
  uint64_t begin = 0;
  for (const Tensor& tensor : tensors) {
    if (header.contains(tensor.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("two tensors are named '", tensor.name, "'"));
    }
    const uint64_t end = begin + tensor.values.size() * sizeof(float);
    header[tensor.name] = {{"dtype", "F32"},
                           {"shape", tensor.shape},
                           {"data_offsets", {begin, end}}};
    begin = end;
  }
  // A user's strings may not be UTF-8.
  std::string text =
      header.dump(-1, ' ', false, Json::error_handler_t::replace);
  while ((kLengthBytes + text.size()) % kDataAlignment != 0) text += ' ';
  if (text.size() > kMaxSafetensorsHeaderBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a header of ", text.size(),
                                                   " bytes is longer than ",
                                                   kMaxSafetensorsHeaderBytes));
  }
  return text;
}

absl::Status Damaged(const std::filesystem::path& path,
                     const std::string& reason) {
  return absl::DataLossError(
      absl::StrCat(path.string(), ": ", reason,
                   "; the file is damaged or no checkpoint, use another one"));
}

// Returns the place of the 8 hexadecimal digits; npos if there is none.
size_t FindChecksum(std::string_view header) {
  const size_t start = header.find(kChecksumStart);
  if (start == std::string_view::npos) return start;
  const size_t digits = start + kChecksumStart.size();
  return digits + kNoChecksum.size() < header.size() ? digits
                                                     : std::string_view::npos;
}

// `data_begin` is the number of bytes of the file before its data.
absl::Status CheckChecksum(const std::filesystem::path& path,
                           const PlainFile& file, std::string_view header,
                           uint64_t data_begin) {
  const size_t place = FindChecksum(header);
  if (place == std::string_view::npos) {
    return Damaged(path, "no crc32c in its metadata");
  }
  std::string without(header);
  without.replace(place, kNoChecksum.size(), kNoChecksum);
  uint32_t checksum = ExtendCrc32c(0, without.data(), without.size());
  std::vector<std::byte> piece(std::min(kPieceBytes, file.size() - data_begin));
  for (uint64_t at = data_begin; at < file.size(); at += piece.size()) {
    piece.resize(std::min<uint64_t>(piece.size(), file.size() - at));
    FGNN_RETURN_IF_ERROR(file.Read(at, absl::MakeSpan(piece)));
    checksum = ExtendCrc32c(checksum, piece.data(), piece.size());
  }
  const std::string_view stored = header.substr(place, kNoChecksum.size());
  if (stored != Hex(checksum)) {
    return Damaged(path,
                   absl::StrCat("its crc32c is ", Hex(checksum),
                                ", its header says ", std::string(stored)));
  }
  return absl::OkStatus();
}

// Returns the number of bytes of an f32 tensor. nullopt: `shape` is no array of
// extents, or the number is beyond `limit`.
std::optional<uint64_t> TensorBytes(const Json& shape, uint64_t limit,
                                    std::vector<uint64_t>* extents) {
  if (!shape.is_array() || shape.size() > 8) return std::nullopt;
  uint64_t bytes = sizeof(float);
  for (const Json& extent : shape) {
    if (!extent.is_number_unsigned()) return std::nullopt;
    extents->push_back(extent.get<uint64_t>());
    if (__builtin_mul_overflow(bytes, extents->back(), &bytes)) {
      return std::nullopt;
    }
  }
  return bytes <= limit ? std::optional<uint64_t>(bytes) : std::nullopt;
}

struct Entry {
  StoredTensor tensor;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Returns nullopt if the JSON is not that of an f32 tensor within `data_bytes`.
std::optional<Entry> ReadEntry(const std::string& name, const Json& json,
                               uint64_t data_bytes) {
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") ||
      !json.contains("shape") || !json.contains("data_offsets") ||
      json["dtype"] != "F32") {
    return std::nullopt;
  }
  const Json& offsets = json["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 ||
      !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned()) {
    return std::nullopt;
  }
  Entry entry;
  entry.tensor.name = name;
  entry.begin = offsets[0].get<uint64_t>();
  entry.end = offsets[1].get<uint64_t>();
  const std::optional<uint64_t> bytes =
      TensorBytes(json["shape"], data_bytes, &entry.tensor.shape);
  if (!bytes.has_value() || entry.end > data_bytes || entry.begin > entry.end ||
      entry.end - entry.begin != *bytes) {
    return std::nullopt;
  }
  return entry;
}

absl::StatusOr<std::vector<Entry>> ReadEntries(
    const std::filesystem::path& path, const Json& header,
    uint64_t data_bytes) {
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name == kMetadataKey) continue;
    std::optional<Entry> entry = ReadEntry(name, json, data_bytes);
    if (!entry.has_value()) {
      return Damaged(path, absl::StrCat("tensor '", name,
                                        "' has a wrong type, shape or place"));
    }
    entries.push_back(*std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t expected = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != expected) {
      return Damaged(path,
                     absl::StrCat("tensor '", entry.tensor.name, "' starts at ",
                                  entry.begin, ", not at ", expected));
    }
    expected = entry.end;
  }
  if (expected != data_bytes) {
    return Damaged(path, absl::StrCat("its tensors end at ", expected, " of ",
                                      data_bytes, " bytes of data"));
  }
  return entries;
}

}  // namespace

absl::Status WriteSafetensors(
    const std::filesystem::path& path,
    const std::map<std::string, std::string>& metadata,
    const std::vector<Tensor>& tensors) {
  FGNN_ASSIGN_OR_RETURN(std::string header, MakeHeader(metadata, tensors));
  uint32_t checksum = ExtendCrc32c(0, header.data(), header.size());
  for (const Tensor& tensor : tensors) {
    const std::string_view bytes = BytesOf(tensor.values);
    checksum = ExtendCrc32c(checksum, bytes.data(), bytes.size());
  }
  header.replace(FindChecksum(header), kNoChecksum.size(), Hex(checksum));
  const uint64_t header_bytes = header.size();
  char length[kLengthBytes];
  std::memcpy(length, &header_bytes, sizeof(length));
  std::vector<std::string_view> pieces = {{length, sizeof(length)}, header};
  for (const Tensor& tensor : tensors) {
    pieces.push_back(BytesOf(tensor.values));
  }
  return WriteFileAtomically(path, pieces);
}

absl::StatusOr<SafetensorsFile> SafetensorsFile::Open(
    const std::filesystem::path& path) {
  SafetensorsFile opened;
  FGNN_ASSIGN_OR_RETURN(opened.file_, PlainFile::Open(path));
  const PlainFile& file = opened.file_;
  if (file.size() < kLengthBytes) {
    return Damaged(path, absl::StrCat("it has only ", file.size(), " bytes"));
  }
  uint64_t header_bytes = 0;
  FGNN_RETURN_IF_ERROR(file.Read(0, BytesOf(&header_bytes, kLengthBytes)));
  if (header_bytes > kMaxSafetensorsHeaderBytes ||
      header_bytes > file.size() - kLengthBytes ||
      (kLengthBytes + header_bytes) % kDataAlignment != 0) {
    return Damaged(path, absl::StrCat("a header of ", header_bytes,
                                      " bytes in a file of ", file.size()));
  }
  std::string header(header_bytes, '\0');
  FGNN_RETURN_IF_ERROR(
      file.Read(kLengthBytes, BytesOf(header.data(), header.size())));
  const uint64_t data_begin = kLengthBytes + header_bytes;
  FGNN_RETURN_IF_ERROR(CheckChecksum(path, file, header, data_begin));

  const Json json = Json::parse(header.begin(), header.end(), nullptr,
                                /*allow_exceptions=*/false);
  if (!json.is_object()) return Damaged(path, "its header is not JSON");
  const auto metadata = json.find(kMetadataKey);
  if (metadata == json.end() || !metadata->is_object()) {
    return Damaged(path, "its header has no metadata");
  }
  for (const auto& [key, value] : metadata->items()) {
    if (!value.is_string()) {
      return Damaged(path, absl::StrCat("metadata '", key, "' is no string"));
    }
    opened.metadata_[key] = value.get<std::string>();
  }
  FGNN_ASSIGN_OR_RETURN(std::vector<Entry> entries,
                        ReadEntries(path, json, file.size() - data_begin));
  for (Entry& entry : entries) {
    entry.tensor.offset = data_begin + entry.begin;
    entry.tensor.num_values = (entry.end - entry.begin) / sizeof(float);
    opened.tensors_.push_back(std::move(entry.tensor));
  }
  return opened;
}

const StoredTensor* SafetensorsFile::Find(const std::string& name) const {
  for (const StoredTensor& tensor : tensors_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

absl::Status SafetensorsFile::Read(const StoredTensor& tensor,
                                   float* out) const {
  return file_.Read(tensor.offset,
                    BytesOf(out, tensor.num_values * sizeof(float)));
}

}  // namespace fgnn
