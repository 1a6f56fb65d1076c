#include "shared/rpc/certificates/host_certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/files/private_file.h"
#include "shared/base/status.h"
#include "shared/rpc/certificates/trusted_authorities.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostHostFileBytes = 1 << 20;

struct FreeKey {
  void operator()(BIO* bio) const { ::BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { ::EVP_PKEY_free(key); }
};

// `check`: CheckPrivateFile() or CheckTrustedFile().
absl::StatusOr<std::string> ReadPemFile(
    const fs::path& path, absl::Status (*check)(const fs::path& path)) {
  const absl::Status may_read = check(path);
  if (absl::IsNotFound(may_read)) {
    return absl::NotFoundError(absl::StrCat(
        path.string(),
        " is not there; 'fgnn-certificates host' makes it, with the other "
        "files of the host"));
  }
  FGNN_RETURN_IF_ERROR(may_read);
  return ReadSmallFile(path, kMostHostFileBytes);
}

bool IsKeyOf(const std::string& text, X509& certificate) {
  const std::unique_ptr<BIO, FreeKey> bio(
      ::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (bio == nullptr) return false;
  const std::unique_ptr<EVP_PKEY, FreeKey> key(
      ::PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  const bool is_key =
      key != nullptr && ::X509_check_private_key(&certificate, key.get()) == 1;
  ::ERR_clear_error();
  return is_key;
}

absl::Status NoCertificate(const fs::path& path) {
  return absl::InvalidArgumentError(
      absl::StrCat(path.string(), " has no certificate in PEM"));
}

}  // namespace

absl::StatusOr<HostCertificate> ReadHostCertificate(const fs::path& folder) {
  const fs::path pem = folder / "host.pem";
  const fs::path key = folder / "host.key";
  const fs::path ca = folder / "ca.pem";
  HostCertificate read;
  FGNN_ASSIGN_OR_RETURN(read.chain, ReadPemFile(pem, CheckTrustedFile));
  FGNN_ASSIGN_OR_RETURN(read.key, ReadPemFile(key, CheckPrivateFile));
  FGNN_ASSIGN_OR_RETURN(read.authorities, ReadPemFile(ca, CheckTrustedFile));
  const std::vector<Certificate> chain = ReadPem(read.chain);
  if (chain.empty()) return NoCertificate(pem);
  if (ReadPem(read.authorities).empty()) return NoCertificate(ca);
  if (!IsKeyOf(read.key, *chain.front())) {
    return absl::InvalidArgumentError(
        absl::StrCat(key.string(), " is not the key of ", pem.string()));
  }
  return read;
}

}  // namespace fgnn
