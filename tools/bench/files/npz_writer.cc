#include "tools/bench/files/npz_writer.h"

#include <zip.h>

#include <array>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

// 1 January 1980, the first day that a zip archive can state.
constexpr zip_uint16_t kDosDate = 1 << 5 | 1;

absl::Status Failed(const std::filesystem::path& path, std::string_view why) {
  return absl::UnavailableError(
      absl::StrCat("write ", path.string(), ": ",
                   absl::string_view(why.data(), why.size())));
}

// A member of an archive. zip_close() reads its memory, so it must live until
// then.
struct Member {
  std::string header;
  std::array<zip_buffer_fragment_t, 2> fragments;
};

bool AddMember(zip_t* zip, const NpzArray& array, Member& member) {
  member.header =
      MakeNpyHeader(array.type, {array.bytes.size() / BytesOf(array.type)});
  // libzip does not write to this memory.
  member.fragments[0] = {reinterpret_cast<zip_uint8_t*>(member.header.data()),
                         member.header.size()};
  member.fragments[1] = {reinterpret_cast<zip_uint8_t*>(
                             const_cast<std::byte*>(array.bytes.data())),
                         array.bytes.size()};
  const zip_uint64_t num_fragments = array.bytes.empty() ? 1 : 2;
  zip_source_t* source = ::zip_source_buffer_fragment(
      zip, member.fragments.data(), num_fragments, /*freep=*/0);
  if (source == nullptr) return false;
  const zip_int64_t at = ::zip_file_add(zip, (array.name + ".npy").c_str(),
                                        source, ZIP_FL_ENC_UTF_8);
  if (at < 0) {
    ::zip_source_free(source);
    return false;
  }
  const auto index = static_cast<zip_uint64_t>(at);
  return ::zip_set_file_compression(zip, index, ZIP_CM_STORE, 0) == 0 &&
         ::zip_file_set_dostime(zip, index, 0, kDosDate, 0) == 0;
}

}  // namespace

absl::Status WriteNpz(const std::filesystem::path& path,
                      absl::Span<const NpzArray> arrays) {
  int code = 0;
  zip_t* zip = ::zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (zip == nullptr) {
    zip_error_t error;
    ::zip_error_init_with_code(&error, code);
    absl::Status status = Failed(path, ::zip_error_strerror(&error));
    ::zip_error_fini(&error);
    return status;
  }
  std::vector<Member> members(arrays.size());
  bool ok = true;
  for (size_t i = 0; ok && i < arrays.size(); ++i) {
    ok = AddMember(zip, arrays[i], members[i]);
  }
  // zip_close() writes a file beside the archive and renames it.
  if (ok && ::zip_close(zip) == 0) return absl::OkStatus();
  absl::Status status = Failed(path, ::zip_strerror(zip));
  ::zip_discard(zip);
  return status;
}

}  // namespace fgnn
