#include "shared/base/units.h"

#include <cctype>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace fgnn {
namespace {

constexpr std::string_view kPrefixes = "KMGT";

// Returns 1 for "" and "B", 1024 for "KiB", 1000 for "KB" and "K", and so on; 0
// for an unknown unit.
uint64_t BytesOfUnit(std::string unit) {
  for (char& c : unit) c = static_cast<char>(std::toupper(c));
  if (unit.empty() || unit == "B") return 1;
  const size_t power = kPrefixes.find(unit.front());
  if (power == std::string_view::npos) return 0;
  const std::string rest = unit.substr(1);
  const uint64_t base = rest == "IB" || rest == "I" ? 1024 : 1000;
  if (base == 1000 && !rest.empty() && rest != "B") return 0;
  uint64_t bytes = 1;
  for (size_t i = 0; i <= power; ++i) bytes *= base;
  return bytes;
}

// Returns the seconds of the unit; 0 for an unknown unit.
double SecondsOfUnit(std::string_view unit) {
  if (unit == "us") return 1e-6;
  if (unit == "ms") return 1e-3;
  if (unit == "s") return 1;
  if (unit == "min") return 60;
  return unit == "h" ? 3600 : 0;
}

// The two parts of a text such as "1.5 GiB": the number as written, and the
// unit.
struct Quantity {
  std::string number;
  std::string unit;
};

Quantity Split(std::string_view text) {
  size_t end = 0;
  while (end < text.size() &&
         (std::isdigit(text[end]) != 0 || text[end] == '.')) {
    ++end;
  }
  size_t unit_at = end;
  while (unit_at < text.size() && text[unit_at] == ' ') ++unit_at;
  return {std::string(text.substr(0, end)), std::string(text.substr(unit_at))};
}

}  // namespace

absl::StatusOr<uint64_t> ParseBytes(std::string_view text) {
  const Quantity quantity = Split(text);
  double number = 0;
  const uint64_t unit = BytesOfUnit(quantity.unit);
  if (!absl::SimpleAtod(quantity.number, &number) || unit == 0 ||
      number * static_cast<double>(unit) > 0x1.0p63) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", std::string(text),
                     "' is not a size in bytes; write e.g. 512MiB or 2GiB"));
  }
  return static_cast<uint64_t>(
      std::llround(number * static_cast<double>(unit)));
}

absl::StatusOr<double> ParseSeconds(std::string_view text) {
  const Quantity quantity = Split(text);
  double number = 0;
  const double unit = SecondsOfUnit(quantity.unit);
  if (!absl::SimpleAtod(quantity.number, &number) || unit == 0 ||
      !std::isfinite(number)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", std::string(text), "' is not a time; write e.g. 10ms or 1.5s"));
  }
  return number * unit;
}

std::string FormatBytes(uint64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes);
  size_t power = 0;
  while (value >= 1024 && power < kPrefixes.size()) {
    value /= 1024;
    ++power;
  }
  return absl::StrFormat("%.*f %ciB", value < 10 ? 2 : 1, value,
                         kPrefixes[power - 1]);
}

std::string FormatCount(uint64_t count) {
  std::string digits = absl::StrCat(count);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return digits;
}

std::string FormatSeconds(double seconds) {
  if (seconds < 0.9995) return absl::StrFormat("%.0f ms", seconds * 1e3);
  if (seconds < 59.95) return absl::StrFormat("%.1f s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) {
    return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
  }
  return absl::StrFormat("%d h %02d min", whole / 3600, whole % 3600 / 60);
}

}  // namespace fgnn
