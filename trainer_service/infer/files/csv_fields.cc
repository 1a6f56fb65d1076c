#include "trainer_service/infer/files/csv_fields.h"

#include <charconv>

#include "absl/strings/str_cat.h"

namespace fgnn {

void AppendVertex(GlobalId v, const Dataset& dataset, std::string* line) {
  absl::StrAppend(line, v, ",");
  AppendCsvField(dataset.NodeName(v), line);
}

void AppendShortest(float value, std::string* line) {
  char digits[32];
  line->append(digits,
               std::to_chars(digits, digits + sizeof(digits), value).ptr);
}

void AppendProbability(float probability, std::string* line) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof(digits), probability,
                                 std::chars_format::fixed, 6)
                       .ptr;
  line->append(digits, end);
}

}  // namespace fgnn
