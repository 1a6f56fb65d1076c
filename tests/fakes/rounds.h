// How often a test draws a random case.
#ifndef FGNN_TESTS_FAKES_ROUNDS_H_
#define FGNN_TESTS_FAKES_ROUNDS_H_

#include <cstdint>

namespace fgnn {

// Returns `rounds`, and a tenth of them in a build for a sanitizer. A case
// takes ten times as long there, and errors of memory do not need rare cases.
// The release build draws all of them.
constexpr uint64_t Rounds(uint64_t rounds) {
#ifdef FGNN_SANITIZED
  return rounds / 10 + 1;
#else
  return rounds;
#endif
}

}  // namespace fgnn

#endif  // FGNN_TESTS_FAKES_ROUNDS_H_
