#include "shared/graph/book/partition_book.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/crc32c.h"
#include "shared/base/hash.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr uint64_t kMagic = 0x314b'4f42'4e4e'4746;  // "FGNNBOK1"

// parts [num_nodes] u8 follow.
struct alignas(64) FileHeader {
  uint64_t magic;
  uint64_t num_nodes;
  uint64_t key;
  uint32_t parts_crc;
  uint32_t header_crc;  // CRC32C of the fields above.
};

uint32_t CrcOf(const FileHeader& header) {
  return ExtendCrc32c(0, &header, offsetof(FileHeader, header_crc));
}

std::string_view TextOf(absl::Span<const uint8_t> parts) {
  return {reinterpret_cast<const char*>(parts.data()), parts.size()};
}

absl::StatusOr<FileHeader> HeaderOf(absl::Span<const uint8_t> parts) {
  for (size_t v = 0; v < parts.size(); ++v) {
    if (parts[v] >= kFineParts) {
      return absl::InvalidArgumentError(
          absl::StrCat("vertex ", v, " is in fine part ", parts[v],
                       ", but a book has ", kFineParts));
    }
  }
  FileHeader header = {.magic = kMagic,
                       .num_nodes = parts.size(),
                       .key = std::max<uint64_t>(HashString(TextOf(parts)), 1),
                       .parts_crc = ExtendCrc32c(0, parts.data(), parts.size()),
                       .header_crc = 0};
  header.header_crc = CrcOf(header);
  return header;
}

std::string_view BytesOf(const FileHeader& header) {
  return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

std::string NameOf(const Dataset& dataset) {
  return absl::StrCat(
      "book-", absl::Hex(dataset.Fingerprint(), absl::kZeroPad16), ".bin");
}

}  // namespace

absl::StatusOr<PartitionBook> PartitionBook::OpenOfHost(const Dataset& dataset,
                                                        const HostRows& host) {
  const std::filesystem::path file = dataset.folder() / kBookFile;
  absl::StatusOr<PartitionBook> book = OpenFile(file, dataset.num_nodes());
  if (absl::IsDataLoss(book.status())) {
    return absl::DataLossError(
        absl::StrCat(MessageOf(book.status()), "; ", HowToCut(host.owners)));
  }
  if (!book.ok() || book->key() == host.book) return book;
  return absl::InvalidArgumentError(absl::StrCat(
      file.string(), ": its key is ", absl::Hex(book->key(), absl::kZeroPad16),
      ", but metadata.yaml's host_rows.book is ",
      absl::Hex(host.book, absl::kZeroPad16), "; ", HowToCut(host.owners)));
}

absl::StatusOr<PartitionBook> PartitionBook::Open(const Dataset& dataset) {
  if (const std::optional<HostRows> host = dataset.host_rows();
      host.has_value()) {
    return OpenOfHost(dataset, *host);
  }
  const std::string name = NameOf(dataset);
  absl::Status status;
  for (const DerivedPlace place : kDerivedPlaces) {
    absl::StatusOr<MappedFile> file = dataset.derived().Map(place, name);
    absl::StatusOr<PartitionBook> book =
        file.ok() ? Read(*std::move(file), dataset.num_nodes(),
                         (dataset.folder() / "derived" / name).string())
                  : file.status();
    if (book.ok()) return book;
    // Damage says more than a file that is not there.
    if (status.ok() || absl::IsNotFound(status)) status = book.status();
  }
  // What another user may have written is as if it were not there.
  if (absl::IsDataLoss(status)) return status;
  return absl::NotFoundError(MessageOf(status));
}

absl::StatusOr<PartitionBook> PartitionBook::OpenFile(
    const std::filesystem::path& path, uint64_t num_nodes) {
  FGNN_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  return Read(std::move(file), num_nodes, path.string());
}

absl::Status PartitionBook::Save(const Dataset& dataset,
                                 absl::Span<const uint8_t> parts) {
  if (parts.size() != dataset.num_nodes()) {
    return absl::InvalidArgumentError(absl::StrCat("a book of ", parts.size(),
                                                   " vertices is not one of ",
                                                   dataset.num_nodes()));
  }
  FGNN_RETURN_IF_ERROR(CheckHasAllRows(dataset));
  FGNN_ASSIGN_OR_RETURN(const FileHeader header, HeaderOf(parts));
  const std::string name = NameOf(dataset);
  FGNN_RETURN_IF_ERROR(
      dataset.derived().Keep(name, {BytesOf(header), TextOf(parts)}));
  // No job reads a book of another state again.
  dataset.derived().RemoveOthers("book-", name);
  return absl::OkStatus();
}

absl::StatusOr<std::string> PartitionBook::ToBytes(
    absl::Span<const uint8_t> parts) {
  FGNN_ASSIGN_OR_RETURN(const FileHeader header, HeaderOf(parts));
  return std::string(BytesOf(header)).append(TextOf(parts));
}

absl::StatusOr<PartitionBook> PartitionBook::Read(MappedFile file,
                                                  uint64_t num_nodes,
                                                  const std::string& name) {
  FileHeader header = {};
  PartitionBook book;
  book.file_ = std::move(file);
  const auto bytes = book.file_.bytes();
  if (bytes.size() == sizeof(header) + num_nodes) {
    std::memcpy(&header, bytes.data(), sizeof(header));
    book.parts_ = {
        reinterpret_cast<const uint8_t*>(bytes.data()) + sizeof(header),
        num_nodes};
    book.key_ = header.key;
    if (header.magic == kMagic && header.num_nodes == num_nodes &&
        header.header_crc == CrcOf(header) &&
        header.parts_crc ==
            ExtendCrc32c(0, book.parts_.data(), book.parts_.size()) &&
        std::all_of(book.parts_.begin(), book.parts_.end(),
                    [](uint8_t part) { return part < kFineParts; })) {
      return book;
    }
  }
  return absl::DataLossError(absl::StrCat(name, " is damaged, or no book of ",
                                          num_nodes, " vertices"));
}

}  // namespace fgnn
