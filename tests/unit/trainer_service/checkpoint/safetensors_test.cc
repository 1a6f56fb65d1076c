#include "trainer_service/checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/crc32c.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"

namespace fgnn {
namespace {

// Raw headers with the right checksum.
TEST(SafetensorsTest, RefusesHeadersWithGapsOverlapsAndOverflows) {
  const TempFolder folder;
  const auto read = [&](const std::string& json, size_t data_bytes) {
    std::string header =
        R"({"__metadata__":{"crc32c":"00000000"},)" + json + "}";
    while ((8 + header.size()) % 64 != 0) header += ' ';
    const std::string data(data_bytes, '\0');
    uint32_t crc = ExtendCrc32c(0, header.data(), header.size());
    crc = ExtendCrc32c(crc, data.data(), data.size());
    char digits[9];
    std::snprintf(digits, sizeof(digits), "%08x", crc);
    header.replace(header.find("00000000"), 8, digits);
    const uint64_t length = header.size();
    std::ofstream(folder / "file", std::ios::binary)
        << std::string(reinterpret_cast<const char*>(&length), 8) << header
        << data;
    return SafetensorsFile::Open(folder / "file").status();
  };
  const auto tensor = [](const std::string& name, const std::string& shape,
                         const std::string& offsets) {
    return "\"" + name + R"(":{"dtype":"F32","shape":)" + shape +
           R"(,"data_offsets":)" + offsets + "}";
  };
  FGNN_ASSERT_OK(read(tensor("a", "[2]", "[0,8]"), 8));
  FGNN_ASSERT_OK(read(tensor("a", "[]", "[0,4]"), 4));
  FGNN_ASSERT_OK(read(
      tensor("a", "[2]", "[4,12]") + "," + tensor("b", "[1]", "[0,4]"), 12));
  const std::vector<std::pair<std::string, size_t>> bad = {
      {tensor("a", "[2]", "[0,8]"), 12},
      {tensor("a", "[2]", "[0,8]"), 4},
      {tensor("a", "[3]", "[0,8]"), 8},
      {tensor("a", "[2]", "[8,0]"), 8},
      {tensor("a", "[2]", "[-8,0]"), 8},
      {tensor("a", "[-2]", "[0,8]"), 8},
      {tensor("a", "[2.0]", "[0,8]"), 8},
      {tensor("a", "2", "[0,8]"), 8},
      {tensor("a", "[2]", "[0]"), 8},
      {tensor("a", "[4294967296,4294967296]", "[0,0]"), 0},
      {tensor("a", "[4611686018427387904]", "[0,0]"), 0},
      {tensor("a", "[1]", "[0,4]") + "," + tensor("b", "[1]", "[0,4]"), 4},
      {tensor("a", "[1]", "[0,4]") + "," + tensor("b", "[1]", "[8,12]"), 12},
      {tensor("a", "[1]", "[0,4]") + "," + tensor("b", "[2]", "[2,10]"), 10},
      {R"("a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]})", 8},
      {R"("a":{"dtype":"F32","shape":[1]})", 4},
      {R"("a":[])", 0},
      {R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)", 4},
      {R"("a":)" + std::string(100'000, '['), 0}};
  for (const auto& [json, data_bytes] : bad) {
    EXPECT_THAT(read(json, data_bytes), DataLoss())
        << json.substr(0, 200) << " with " << data_bytes << " bytes";
  }
}

}  // namespace
}  // namespace fgnn
