#include "tools/fgnn/reports/evaluation_report.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "shared/base/units.h"

namespace fgnn {

EvaluationChoice PlanEvaluation(const PlanInput& input,
                                const std::vector<HostShare>& hosts,
                                const v1::ListDevicesResponse& links) {
  // By the host that sends and the one that measured.
  std::map<std::pair<std::string, std::string>, double> rates;
  for (const v1::HostLink& link : links.links()) {
    rates[{link.to(), link.from()}] = link.bytes_per_second();
  }
  const auto name_of = [&](const HostShare& host) {
    return host.name.empty() ? links.host() : host.name;
  };
  return ChooseEvaluation(
      input, hosts,
      [&](const HostShare& from, const HostShare& to) -> std::optional<double> {
        const double rate = rates[{name_of(from), name_of(to)}];
        return rate > 0 ? std::optional(rate) : std::nullopt;
      });
}

nlohmann::ordered_json ToJson(const EvaluationChoice& choice) {
  return {{"by", choice.by_all ? "all" : "head"},
          {"bytes", choice.bytes},
          {"alone_seconds", choice.alone_seconds},
          {"all_seconds", choice.all_seconds.has_value()
                              ? nlohmann::ordered_json(*choice.all_seconds)
                              : nlohmann::ordered_json(nullptr)}};
}

std::string ToText(const EvaluationChoice& choice) {
  return absl::StrCat(
      choice.by_all ? "all hosts evaluate" : "the service's own host evaluates",
      absl::StrFormat(": an evaluation takes about %.2f s there alone",
                      choice.alone_seconds),
      choice.by_all ? ", and " : "; on all hosts, ",
      choice.all_seconds.has_value()
          ? absl::StrFormat("about %.2f s%s", *choice.all_seconds,
                            choice.by_all ? " on all hosts" : "")
          : "a time that is known once a job has run over them",
      ", with ", FormatBytes(choice.bytes),
      " to each (hosts.evaluation: auto, head or all)\n");
}

}  // namespace fgnn
