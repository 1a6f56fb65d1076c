#include "tools/dataset/building/progress.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/base/units.h"

namespace fgnn {
namespace {

constexpr double kBarPeriodSeconds = 0.1;
constexpr double kLinePeriodSeconds = 5;
constexpr int kBarWidth = 30;

std::string Amount(uint64_t done, uint64_t total) {
  if (total == 0) return done == 0 ? "…" : FormatCount(done);
  return absl::StrFormat(
      "%3.0f%%  %s of %s",
      100.0 * static_cast<double>(done) / static_cast<double>(total),
      FormatCount(done), FormatCount(total));
}

}  // namespace

ProgressPrinter::ProgressPrinter(std::FILE* out)
    : out_(out), terminal_(::isatty(::fileno(out)) == 1) {}

ProgressPrinter::~ProgressPrinter() { Clear(); }

void ProgressPrinter::Show(std::string_view stage, uint64_t done,
                           uint64_t total) {
  const bool fresh = stage != stage_;
  if (fresh) {
    stage_ = std::string(stage);
    since_stage_.Restart();
  }
  const double period = terminal_ ? kBarPeriodSeconds : kLinePeriodSeconds;
  const bool finished = total != 0 && done == total && !terminal_;
  if (!fresh && !finished && since_shown_.Seconds() < period) return;
  since_shown_.Restart();
  if (terminal_) {
    DrawBar(done, total);
  } else {
    PrintLine(done, total);
  }
}

void ProgressPrinter::DrawBar(uint64_t done, uint64_t total) {
  std::string bar;
  if (total != 0) {
    const double share = static_cast<double>(done) / static_cast<double>(total);
    const int filled = static_cast<int>(share * kBarWidth);
    bar = absl::StrCat(
        "[", std::string(static_cast<size_t>(filled), '#'),
        std::string(static_cast<size_t>(kBarWidth - filled), '.'), "] ");
  }
  absl::FPrintF(out_, "\r\x1b[K%-20s %s%s  %s", stage_, bar,
                Amount(done, total), FormatSeconds(since_stage_.Seconds()));
  std::fflush(out_);
  drawn_ = true;
}

void ProgressPrinter::PrintLine(uint64_t done, uint64_t total) {
  absl::FPrintF(out_, "%s: %s\n", stage_, Amount(done, total));
  std::fflush(out_);
}

void ProgressPrinter::Clear() {
  if (!drawn_) return;
  absl::FPrintF(out_, "\r\x1b[K");
  std::fflush(out_);
  drawn_ = false;
}

}  // namespace fgnn
