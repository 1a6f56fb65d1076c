#include "tools/fgnn/reports/part_report.h"

#include "absl/strings/str_cat.h"
#include "shared/base/units.h"

namespace fgnn {

nlohmann::ordered_json ToJson(const PartFigures& figures) {
  return {{"count", figures.parts},
          {"shares_inputs", figures.shares_inputs},
          {"hidden_rows", figures.hidden_rows},
          {"most_message_bytes", figures.most_message_bytes}};
}

std::string ToText(const PartFigures& figures) {
  if (figures.parts <= 1) return "";
  return absl::StrCat(
      "a batch is trained as ", figures.parts,
      " parts (training.parts). They compute each of up to ",
      FormatCount(figures.hidden_rows),
      " hidden rows once, and send each other at most ",
      FormatBytes(figures.most_message_bytes),
      figures.shares_inputs ? ", features included" : "", ". That pays beside ",
      figures.parts,
      " batches on as many devices, not beside one device with all the cores; "
      "on GPUs over NVLink, not over PCIe. 'fgnn bench split' counts it for "
      "this dataset\n");
}

}  // namespace fgnn
