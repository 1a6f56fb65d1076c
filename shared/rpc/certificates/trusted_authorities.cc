#include "shared/rpc/certificates/trusted_authorities.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "shared/base/files/file.h"
#include "shared/base/files/private_file.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"

namespace fgnn {
namespace {

constexpr size_t kMostAuthorityBytes = 1 << 20;
constexpr size_t kMostShown = 80;

struct Free {
  void operator()(BIO* bio) const { ::BIO_free(bio); }
  void operator()(X509_STORE_CTX* context) const {
    ::X509_STORE_CTX_free(context);
  }
  void operator()(STACK_OF(X509) * borrowed) const { ::sk_X509_free(borrowed); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

std::string Explain(int error) {
  switch (error) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "the service does not trust the authority that signed it";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "it has expired; ask for a new one";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "it is not valid yet; look at the clocks of both machines";
    case X509_V_ERR_INVALID_PURPOSE:
      return "it is not for clients";
    default:
      return ::X509_verify_cert_error_string(error);
  }
}

}  // namespace

std::vector<Certificate> ReadPem(const std::string& text) {
  std::vector<Certificate> read;
  const Owned<BIO> bio(
      ::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (bio == nullptr) return read;
  while (true) {
    Certificate one(::PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
    if (one == nullptr) break;
    read.push_back(std::move(one));
  }
  ::ERR_clear_error();  // The end of the text is one.
  return read;
}

std::string WritePem(X509& certificate) {
  const Owned<BIO> bio(::BIO_new(::BIO_s_mem()));
  if (bio == nullptr || ::PEM_write_bio_X509(bio.get(), &certificate) != 1) {
    return "";
  }
  char* text = nullptr;
  const int64_t size = ::BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(size)};
}

std::string SubjectPart(X509& certificate, int part) {
  X509_NAME* const subject = ::X509_get_subject_name(&certificate);
  const int at = ::X509_NAME_get_index_by_NID(subject, part, -1);
  if (at < 0 || ::X509_NAME_get_index_by_NID(subject, part, at) >= 0) return "";
  unsigned char* text = nullptr;
  const int size = ::ASN1_STRING_to_UTF8(
      &text, ::X509_NAME_ENTRY_get_data(::X509_NAME_get_entry(subject, at)));
  if (size < 0) return "";
  std::string value(reinterpret_cast<const char*>(text),
                    static_cast<size_t>(size));
  ::OPENSSL_free(text);
  return value;
}

absl::Status RefuseCertificate(const std::string& name,
                               const std::string& why) {
  return absl::UnauthenticatedError(
      absl::StrCat("the certificate of '", PrintableText(name, kMostShown),
                   "' is refused: ", why));
}

absl::StatusOr<TrustedAuthorities::Store> TrustedAuthorities::Read(
    const std::filesystem::path& ca_file) {
  // Whoever can write it can make operators.
  FGNN_RETURN_IF_ERROR(CheckTrustedFile(ca_file));
  FGNN_ASSIGN_OR_RETURN(const std::string text,
                        ReadSmallFile(ca_file, kMostAuthorityBytes));
  const std::vector<Certificate> read = ReadPem(text);
  if (read.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(ca_file.string(), " has no certificate in PEM"));
  }
  Store store(::X509_STORE_new());
  for (const Certificate& one : read) {
    if (store == nullptr ||
        ::X509_STORE_add_cert(store.get(), one.get()) != 1) {
      return absl::InternalError(
          absl::StrCat("cannot take the certificates of ", ca_file.string()));
    }
  }
  return store;
}

absl::StatusOr<bool> TrustedAuthorities::Refresh() {
  const absl::StatusOr<bool> has_changed = file_.HasChanged();
  if (has_changed.ok() && !*has_changed) {
    if (!store_.ok()) return store_.status();
    return false;
  }
  if (has_changed.ok()) {
    store_ = Read(file_.path());
  } else {
    store_ = has_changed.status();
  }
  if (store_.ok()) return true;
  // A text without a certificate stays so until the file changes.
  if (!absl::IsInvalidArgument(store_.status())) file_.Forget();
  return store_.status();
}

absl::Status TrustedAuthorities::Check(
    const std::vector<Certificate>& chain) const {
  FGNN_RETURN_IF_ERROR(store_.status());
  if (chain.empty()) {
    return absl::UnauthenticatedError("the certificate cannot be read");
  }
  const Owned<STACK_OF(X509)> between(sk_X509_new_null());
  const Owned<X509_STORE_CTX> context(::X509_STORE_CTX_new());
  bool is_ready = between != nullptr && context != nullptr;
  for (size_t i = 1; is_ready && i < chain.size(); ++i) {
    is_ready = sk_X509_push(between.get(), chain[i].get()) > 0;
  }
  if (!is_ready ||
      ::X509_STORE_CTX_init(context.get(), store_->get(), chain.front().get(),
                            between.get()) != 1 ||
      ::X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_CLIENT) !=
          1) {
    return absl::ResourceExhaustedError("cannot check a certificate");
  }
  if (::X509_verify_cert(context.get()) == 1) return absl::OkStatus();
  const int error = ::X509_STORE_CTX_get_error(context.get());
  ::ERR_clear_error();
  return RefuseCertificate(SubjectPart(*chain.front(), NID_commonName),
                           Explain(error));
}

}  // namespace fgnn
