#include "scheduler/rpc/port/refusal_log.h"

#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "shared/base/clock.h"
#include "shared/base/printable_text.h"
#include "shared/base/status.h"
#include "shared/telemetry/log.h"

namespace fgnn {
namespace {

constexpr size_t kMostShownOfRefusal = 120;

}  // namespace

std::string TextOf(const Refusal& refusal) {
  const auto shown = [](const std::string& text) {
    return PrintableText(text, kMostShownOfRefusal);
  };
  return absl::StrCat(
      "refused ", refusal.who.empty() ? "somebody" : shown(refusal.who),
      " from ", shown(refusal.address), ", ",
      refusal.method.empty() ? "a connection" : shown(refusal.method), ": ",
      MessageOf(refusal.why));
}

void RefusalLog::Write(const Refusal& refusal) {
  counts_->Add(refusal.reason);
  const std::optional<uint64_t> left_out = limit_.Ask(MonotonicClock::now());
  if (!left_out.has_value()) return;
  LogWarning("{}{}", TextOf(refusal),
             *left_out == 0
                 ? ""
                 : absl::StrCat(" (", *left_out, " more were left out)"));
}

}  // namespace fgnn
