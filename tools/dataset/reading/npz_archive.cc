// NpzArchive: reads .npz files with libzip.
#include <zip.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "shared/base/status.h"
#include "tools/dataset/reading/array_stream.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSkipBytes = size_t{1} << 16;
// Most bytes of an array per byte of deflate (RFC 1951: a pair of one bit each
// stands for 258 bytes).
constexpr uint64_t kMostPerDeflatedByte = 1032;

}  // namespace

struct NpzArchive::Archive {
  Archive(std::string what_in, zip_t* zip_in)
      : what(std::move(what_in)), zip(zip_in) {}
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  // The archive was only read: there is nothing to write.
  ~Archive() { ::zip_discard(zip); }

  std::string what;
  zip_t* zip;
  uint64_t bytes = 0;            // Bytes of the file.
  std::set<std::string> opened;  // Names that OpenArray() was asked for.
};

// A member of an archive; it keeps the archive open.
class NpzMember : public ByteSource {
 public:
  NpzMember(std::shared_ptr<NpzArchive::Archive> archive, zip_file_t* file,
            uint64_t size, std::string what)
      : archive_(std::move(archive)),
        file_(file),
        size_(size),
        what_(std::move(what)) {}
  NpzMember(const NpzMember&) = delete;
  NpzMember& operator=(const NpzMember&) = delete;
  ~NpzMember() override { ::zip_fclose(file_); }

  absl::StatusOr<size_t> Read(absl::Span<std::byte> out) override {
    size_t done = 0;
    while (done < out.size()) {
      const zip_int64_t got =
          ::zip_fread(file_, out.data() + done, out.size() - done);
      if (got < 0) return Damaged();
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    position_ += done;
    // The read behind the last byte checks the CRC.
    std::byte nothing;
    if (position_ == size_ && ::zip_fread(file_, &nothing, 1) < 0) {
      return Damaged();
    }
    return done;
  }

  absl::Status Skip(uint64_t bytes) override {
    // Reads instead of seeking: libzip checks the CRC only of what was read
    // whole.
    std::vector<std::byte> dropped(std::min<uint64_t>(bytes, kSkipBytes));
    while (bytes > 0) {
      const size_t want = std::min<uint64_t>(bytes, dropped.size());
      FGNN_ASSIGN_OR_RETURN(const size_t got,
                            Read(absl::MakeSpan(dropped).subspan(0, want)));
      if (got == 0) {
        return absl::DataLossError(
            absl::StrCat(what_, ": ends too early; fetch the archive again"));
      }
      bytes -= got;
    }
    return absl::OkStatus();
  }

  uint64_t size() const override { return size_; }

 private:
  absl::Status Damaged() const {
    return absl::DataLossError(absl::StrCat(what_, ": damaged archive (",
                                            ::zip_file_strerror(file_),
                                            "); fetch it again"));
  }

  std::shared_ptr<NpzArchive::Archive> archive_;
  zip_file_t* file_;
  uint64_t size_;
  uint64_t position_ = 0;
  std::string what_;
};

namespace {

// Checks the size of a member, which stands in the archive's directory. Until
// the member has been read, only its compressed bytes prove that size. `bytes`
// is the archive's size.
absl::Status CheckMember(const zip_stat_t& member, uint64_t bytes,
                         const std::string& what) {
  if (member.comp_method != ZIP_CM_STORE &&
      member.comp_method != ZIP_CM_DEFLATE) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": compressed by method ", member.comp_method,
                     "; write it with numpy.savez or numpy.savez_compressed"));
  }
  const uint64_t most =
      member.comp_method == ZIP_CM_STORE ? 1 : kMostPerDeflatedByte;
  if (member.comp_size <= bytes && member.size / most <= member.comp_size) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      what, ": damaged archive (it claims ", member.size, " bytes, from ",
      member.comp_size, " of ", bytes, "); fetch it again"));
}

}  // namespace

NpzArchive::NpzArchive(std::shared_ptr<Archive> archive)
    : archive_(std::move(archive)) {}

absl::StatusOr<NpzArchive> NpzArchive::Open(const std::filesystem::path& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  // libzip would wait for a FIFO's writer.
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return absl::InvalidArgumentError(
        absl::StrCat("open ", path.string(), ": not a plain file"));
  }
  int error = 0;
  zip_t* zip = ::zip_open(path.c_str(), ZIP_RDONLY, &error);
  if (zip == nullptr) {
    zip_error_t reason;
    ::zip_error_init_with_code(&reason, error);
    const std::string message = absl::StrCat("open ", path.string(), ": ",
                                             ::zip_error_strerror(&reason));
    ::zip_error_fini(&reason);
    if (error == ZIP_ER_NOENT) return absl::NotFoundError(message);
    return absl::InvalidArgumentError(
        absl::StrCat(message, "; an .npz file is a zip archive of arrays"));
  }
  auto archive = std::make_shared<Archive>(path.string(), zip);
  archive->bytes = fs::file_size(path, failed);
  if (failed) {
    return ErrnoToStatus(failed.value(), absl::StrCat("open ", path.string()));
  }
  return NpzArchive(std::move(archive));
}

const std::string& NpzArchive::what() const { return archive_->what; }

bool NpzArchive::Has(const std::string& name) const {
  return ::zip_name_locate(archive_->zip, (name + ".npy").c_str(), 0) >= 0;
}

std::vector<std::string> NpzArchive::Names() const {
  std::vector<std::string> names;
  const zip_int64_t count = ::zip_get_num_entries(archive_->zip, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char* name =
        ::zip_get_name(archive_->zip, static_cast<zip_uint64_t>(i), 0);
    std::string text = name == nullptr ? "" : name;
    if (text.ends_with(".npy")) text.resize(text.size() - 4);
    names.push_back(std::move(text));
  }
  return names;
}

std::vector<std::string> NpzArchive::Unopened() const {
  std::vector<std::string> names;
  for (std::string& name : Names()) {
    if (Has(name) && archive_->opened.count(name) == 0) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

absl::StatusOr<ArrayStream> NpzArchive::OpenArray(
    const std::string& name) const {
  archive_->opened.insert(name);
  const std::string what = absl::StrCat(archive_->what, " (", name, ")");
  const std::string member = name + ".npy";
  zip_stat_t stat;
  ::zip_stat_init(&stat);
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if (::zip_stat(archive_->zip, member.c_str(), 0, &stat) != 0 ||
      (stat.valid & kNeeded) != kNeeded) {
    return absl::NotFoundError(absl::StrCat(archive_->what, ": no array '",
                                            name, "'; it has ",
                                            absl::StrJoin(Names(), ", ")));
  }
  FGNN_RETURN_IF_ERROR(CheckMember(stat, archive_->bytes, what));
  zip_file_t* file = ::zip_fopen(archive_->zip, member.c_str(), 0);
  if (file == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("open ", what, ": ", ::zip_strerror(archive_->zip)));
  }
  return ArrayStream::Open(
      std::make_unique<NpzMember>(archive_, file, stat.size, what), what);
}

}  // namespace fgnn
