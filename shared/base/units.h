// Numbers as people write them: sizes in bytes, durations, counts.
#ifndef FGNN_SHARED_BASE_UNITS_H_
#define FGNN_SHARED_BASE_UNITS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fgnn {

// Returns the bytes of a text such as "64MiB", "2 GB" or "1048576": binary and
// decimal prefixes K, M, G, T. Returns InvalidArgument, naming the text, for
// other texts.
absl::StatusOr<uint64_t> ParseBytes(std::string_view text);

// Returns the seconds, 0 or more, of a text such as "10ms", "1.5 s", "200us",
// "2min" or "1h". Returns InvalidArgument, naming the text, for other texts.
absl::StatusOr<double> ParseSeconds(std::string_view text);

// Returns texts such as "1.5 GiB", "312 KiB", "17 B".
std::string FormatBytes(uint64_t bytes);

// Returns texts such as "1,234,567".
std::string FormatCount(uint64_t count);

// Returns texts such as "412 ms", "7.3 s", "2 min 05 s", "3 h 02 min".
std::string FormatSeconds(double seconds);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_UNITS_H_
