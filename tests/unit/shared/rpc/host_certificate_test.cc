#include "shared/rpc/certificates/host_certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/fakes/certificates.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(HostCertificateTest, IsReadWithItsKeyAndItsAuthorities) {
  const Certificates made;
  const fs::path folder = made.Host("gpu1");
  FGNN_ASSERT_OK_AND_ASSIGN(const HostCertificate read,
                            ReadHostCertificate(folder));
  EXPECT_THAT(read.chain, HasSubstr("BEGIN CERTIFICATE"));
  EXPECT_THAT(read.key, HasSubstr("PRIVATE KEY"));
  EXPECT_THAT(read.authorities, HasSubstr("BEGIN CERTIFICATE"));
  EXPECT_NE(read.chain, read.authorities);
}

TEST(HostCertificateTest, WhatIsWrongWithItIsTold) {
  const Certificates made;
  const fs::path folder = made.Host("gpu1");
  const fs::path key = folder / "host.key";
  fs::permissions(key, fs::perms::others_read, fs::perm_options::add);
  EXPECT_THAT(
      ReadHostCertificate(folder).status(),
      StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("chmod 600")));
  fs::copy_file(made.Host("gpu2") / "host.key", key,
                fs::copy_options::overwrite_existing);
  fs::permissions(key, fs::perms::owner_read);
  EXPECT_THAT(ReadHostCertificate(folder).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("host.key is not the key of")));
  std::ofstream(folder / "ca.pem") << "nothing";
  EXPECT_THAT(ReadHostCertificate(folder).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("ca.pem has no certificate")));
  fs::remove(folder / "host.pem");
  EXPECT_THAT(ReadHostCertificate(folder).status(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("'fgnn-certificates host' makes it")));
}

}  // namespace
}  // namespace fgnn
