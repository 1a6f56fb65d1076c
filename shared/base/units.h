// Numbers as people write them: sizes in bytes, durations, counts.
#ifndef FGNN_SHARED_BASE_UNITS_H_
#define FGNN_SHARED_BASE_UNITS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace fgnn {

// "64MiB", "2 GB", "1048576": binary and decimal prefixes K, M, G, T.
// InvalidArgument otherwise, naming the text.
absl::StatusOr<uint64_t> ParseBytes(std::string_view text);

// "10ms", "1.5 s", "200us", "2min", "1h", in seconds; 0 or more.
// InvalidArgument otherwise, naming the text.
absl::StatusOr<double> ParseSeconds(std::string_view text);

// "1.5 GiB", "312 KiB", "17 B".
std::string FormatBytes(uint64_t bytes);

// "1,234,567".
std::string FormatCount(uint64_t count);

// "412 ms", "7.3 s", "2 min 05 s", "3 h 02 min".
std::string FormatSeconds(double seconds);

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_UNITS_H_
