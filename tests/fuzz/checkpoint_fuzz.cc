// A checkpoint whose checksum is put right, so that the rest is looked at.
#include <cinttypes>
#include <cstring>
#include <string>

#include "shared/base/crc32c.h"
#include "tests/fuzz/fuzz_target.h"
#include "trainer_service/checkpoint/checkpoint.h"

namespace fgnn {
namespace {

constexpr std::string_view kStart = "\"crc32c\":\"";
constexpr size_t kDigits = 8;

void Sign(std::string* file) {
  uint64_t header_bytes = 0;
  if (file->size() < sizeof(header_bytes)) return;
  std::memcpy(&header_bytes, file->data(), sizeof(header_bytes));
  if (header_bytes > file->size() - sizeof(header_bytes)) return;
  const size_t place = file->find(kStart, sizeof(header_bytes));
  if (place == std::string::npos ||
      place + kStart.size() + kDigits > sizeof(header_bytes) + header_bytes) {
    return;
  }
  char* const digits = file->data() + place + kStart.size();
  std::memset(digits, '0', kDigits);
  const uint32_t checksum = ExtendCrc32c(0, file->data() + sizeof(header_bytes),
                                         file->size() - sizeof(header_bytes));
  char text[kDigits + 1];
  std::snprintf(text, sizeof(text), "%08" PRIx32, checksum);
  std::memcpy(digits, text, kDigits);
}

}  // namespace
}  // namespace fgnn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fgnn;
  static FuzzedFile* const file = new FuzzedFile();
  std::string bytes(reinterpret_cast<const char*>(data), size);
  Sign(&bytes);
  const auto checkpoint = ReadCheckpoint(file->Hold(bytes));
  if (!checkpoint.ok()) return 0;
  // What was accepted can be written, and reads back as itself.
  const ModelOptions& model = checkpoint->info.model;
  const uint64_t parameters = checkpoint->weights.size();
  Require(parameters > 0, "no weights");
  Require(model.is_users() || parameters == NumParameters(model),
          "weights of another model");
  Require(checkpoint->optimizer_state.size() <= 2 * parameters &&
              checkpoint->optimizer_state.size() % parameters == 0,
          "state of another model");
  return 0;
}
