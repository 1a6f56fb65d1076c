#include "trainer_service/infer/files/csv_fields.h"

#include <charconv>

#include "absl/strings/str_cat.h"
#include "shared/graph/vertex_names.h"

namespace fgnn {

void AppendVertexHeading(std::string_view role, const Dataset& dataset,
                         std::string* line) {
  const bool has_kinds = !dataset.kinds().empty();
  if (role.empty()) {
    // "id" is the id of the name, where there are kinds.
    line->append(has_kinds ? "vertex,kind,id" : "id,name");
    return;
  }
  const std::string word(role);
  if (has_kinds) {
    absl::StrAppend(line, word, ",", word, "_kind,", word, "_id");
  } else {
    absl::StrAppend(line, word, ",", word, "_name");
  }
}

void AppendVertex(GlobalId v, const Dataset& dataset, std::string* line) {
  absl::StrAppend(line, v, ",");
  if (dataset.kinds().empty()) {
    AppendCsvField(dataset.NodeName(v), line);
    return;
  }
  const VertexName name = PartsOfName(dataset.NodeName(v), dataset.kinds());
  AppendCsvField(name.kind, line);
  line->push_back(',');
  AppendCsvField(name.id, line);
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
