#include "scheduler/rpc/port/token_file.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "shared/base/clock.h"
#include "shared/base/files/file.h"
#include "shared/base/files/private_file.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr size_t kMostBytes = 1 << 20;

absl::StatusOr<TokenHash> ParseHash(absl::string_view word) {
  TokenHash hash = {};
  const bool is_hex = word.size() == 2 * hash.size() &&
                      word.find_first_not_of("0123456789abcdefABCDEF") ==
                          absl::string_view::npos;
  if (!is_hex) {
    return absl::InvalidArgumentError(
        "the third word must be a SHA-256, which is 64 hexadecimal digits");
  }
  const std::string bytes = absl::HexStringToBytes(word);
  for (size_t i = 0; i < hash.size(); ++i) {
    hash[i] = static_cast<uint8_t>(bytes[i]);
  }
  return hash;
}

absl::StatusOr<TokenEntry> ParseEntry(absl::string_view line) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  if (words.size() != 3) {
    return absl::InvalidArgumentError("a line is USER ROLE SHA-256");
  }
  TokenEntry entry;
  entry.identity.name = std::string(words[0]);
  entry.identity.proof = CallerProof::kToken;
  FGNN_ASSIGN_OR_RETURN(entry.identity.role, ParseRemoteRole(words[1]));
  FGNN_ASSIGN_OR_RETURN(entry.hash, ParseHash(words[2]));
  return entry;
}

absl::StatusOr<std::vector<TokenEntry>> ReadTokens(
    const std::filesystem::path& path) {
  FGNN_RETURN_IF_ERROR(CheckPrivateFile(path));
  FGNN_ASSIGN_OR_RETURN(const std::string text,
                        ReadSmallFile(path, kMostBytes));
  absl::StatusOr<std::vector<TokenEntry>> entries = ParseTokens(text);
  if (!entries.ok()) return Annotate(entries.status(), path.string());
  return entries;
}

}  // namespace

absl::StatusOr<std::vector<TokenEntry>> ParseTokens(const std::string& text) {
  std::vector<TokenEntry> entries;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == absl::string_view::npos || line[first] == '#') continue;
    absl::StatusOr<TokenEntry> entry = ParseEntry(line);
    if (!entry.ok()) {
      return Annotate(entry.status(), "line " + std::to_string(number));
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

TokenHash HashToken(const std::string& token) {
  TokenHash hash = {};
  ::SHA256(reinterpret_cast<const uint8_t*>(token.data()), token.size(),
           hash.data());
  return hash;
}

TokenFile::TokenFile(std::filesystem::path path) : file_(std::move(path)) {}

absl::StatusOr<std::unique_ptr<TokenFile>> TokenFile::Open(
    const std::filesystem::path& path) {
  std::unique_ptr<TokenFile> file(new TokenFile(path));
  const MutexLock lock(&file->mutex_);
  const absl::Status read = file->Refresh();
  if (!read.ok() && !absl::IsNotFound(read)) return read;
  return file;
}

absl::Status TokenFile::Refresh() {
  const absl::StatusOr<bool> has_changed = file_.HasChanged();
  if (has_changed.ok() && !*has_changed) return entries_.status();
  const bool was_there = entries_.ok();
  if (has_changed.ok()) {
    entries_ = ReadTokens(file_.path());
  } else {
    entries_ = has_changed.status();
  }
  if (entries_.ok()) {
    LogInfo("{}: {} tokens", file_.path().string(), entries_->size());
    return absl::OkStatus();
  }
  // A wrong line stays wrong until the file changes.
  if (!absl::IsInvalidArgument(entries_.status())) file_.Forget();
  const bool is_news = was_there || !absl::IsNotFound(entries_.status());
  if (is_news && limit_.Ask(MonotonicClock::now()).has_value()) {
    LogError("no token is taken: {}", MessageOf(entries_.status()));
  }
  return entries_.status();
}

absl::StatusOr<Identity> TokenFile::Find(const std::string& token) {
  const TokenHash hash = HashToken(token);
  const MutexLock lock(&mutex_);
  // The caller learns nothing of the service's files.
  const absl::Status read = Refresh();
  if (!read.ok()) {
    return absl::UnauthenticatedError(
        absl::IsNotFound(read)
            ? "the service takes no tokens: it has no file of them"
            : "the service cannot read its tokens; its log says why");
  }
  // Looks at all of them, so that the time tells nothing.
  const TokenEntry* found = nullptr;
  for (const TokenEntry& entry : *entries_) {
    if (::CRYPTO_memcmp(entry.hash.data(), hash.data(), hash.size()) == 0) {
      found = &entry;
    }
  }
  if (found != nullptr) return found->identity;
  return absl::UnauthenticatedError("the service does not know this token");
}

}  // namespace fgnn
