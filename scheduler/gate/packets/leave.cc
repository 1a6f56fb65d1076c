#include "scheduler/gate/packets/leave.h"

#include <cstddef>

namespace fgnn {
namespace {

// Numbers of HTTP/2.
constexpr char kGoAway = 7;
constexpr char kEnhanceYourCalm = 11;

}  // namespace

std::string MakeLeave(absl::string_view why) {
  constexpr size_t kFixedBytes = 8;
  const size_t size = kFixedBytes + why.size();
  std::string bytes;
  for (const size_t shift : {16U, 8U, 0U}) {
    bytes.push_back(static_cast<char>(size >> shift & 0xff));
  }
  bytes.push_back(kGoAway);
  bytes.append(5 + 4 + 3, '\0');
  bytes.push_back(kEnhanceYourCalm);
  bytes.append(why.data(), why.size());
  return bytes;
}

}  // namespace fgnn
