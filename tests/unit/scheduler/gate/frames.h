// Frames of HTTP/2, made by hand.
#ifndef FGNN_TESTS_UNIT_SCHEDULER_GATE_FRAMES_H_
#define FGNN_TESTS_UNIT_SCHEDULER_GATE_FRAMES_H_

#include <cstdint>
#include <string>

namespace fgnn {

inline const std::string kGreeting = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

inline std::string Frame(uint8_t type, uint8_t flags, uint32_t stream,
                         const std::string& payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) {
    frame.push_back(static_cast<char>(payload.size() >> shift & 0xff));
  }
  frame.push_back(static_cast<char>(type));
  frame.push_back(static_cast<char>(flags));
  for (const int shift : {24, 16, 8, 0}) {
    frame.push_back(static_cast<char>(stream >> shift & 0xff));
  }
  return frame + payload;
}

}  // namespace fgnn

#endif  // FGNN_TESTS_UNIT_SCHEDULER_GATE_FRAMES_H_
