// shared/config/job_fields.md says of every field of a job what job.proto says.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "fgnn/v1/job.pb.h"
#include "shared/config/field_doc.h"

namespace fgnn {
namespace {

namespace fs = std::filesystem;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr char kHead[] =
    R"(# All fields of a job

Made from the documentation of the fields in `proto/fgnn/v1/job.proto`, as
`fgnn show JOB --spec` prints it. A test holds this page to it. Any field but
`dataset` can be left out. `fgnn run job.yaml --set KEY=VALUE` sets one, by the
name that stands here:

```yaml
dataset: packages
model: {kind: graphsage, layers: 2, hidden: 256}
sampling: {fanouts: [10, 10], batch_size: 1024}
training: {epochs: 10, learning_rate: 0.003}
```
)";

std::string Code(const std::string& text) {
  return absl::StrCat("`", text, "`");
}

// What the field may be: its words, or its range and unit.
std::string RangeOf(const v1::FieldDoc& doc) {
  if (doc.choices_size() > 0) {
    return absl::StrJoin(doc.choices(), ", ",
                         [](std::string* out, const std::string& choice) {
                           out->append(Code(choice));
                         });
  }
  std::string range;
  if (doc.has_min() && doc.has_max()) {
    range =
        absl::StrCat(FormatDouble(doc.min()), " to ", FormatDouble(doc.max()));
  } else if (doc.has_min()) {
    range = absl::StrCat("at least ", FormatDouble(doc.min()));
  }
  if (doc.unit().empty()) return range;
  return absl::StrCat(range, range.empty() ? "" : " ", doc.unit());
}

std::string RowOf(const FieldDescriptor& field, const std::string& prefix) {
  const v1::FieldDoc& doc = DocOf(field);
  const std::string fallback = doc.required() ? "required"
                               : doc.default_value().empty()
                                   ? ""
                                   : Code(doc.default_value());
  return absl::StrCat(
      "| ", Code(FieldPath(prefix, field)), " | ", fallback, " | ",
      RangeOf(doc), " | ",
      absl::StrReplaceAll(doc.help(), {{"|", "\\|"}, {"<", "\\<"}}), " |\n");
}

// Appends the fields of `message` and, behind them, the messages in it.
void AppendFields(const Descriptor& message, const std::string& prefix,
                  std::string* page) {
  std::string rows;
  std::vector<const FieldDescriptor*> blocks;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (field.message_type() != nullptr) {
      blocks.push_back(&field);
    } else {
      rows += RowOf(field, prefix);
    }
  }
  absl::StrAppend(page, "\n## ", prefix.empty() ? "The job" : prefix,
                  "\n\n| field | default | range, unit | is |\n"
                  "|---|---|---|---|\n",
                  rows);
  for (const FieldDescriptor* block : blocks) {
    AppendFields(*block->message_type(), FieldPath(prefix, *block), page);
  }
}

TEST(JobFieldsTest, ThePageSaysWhatTheProtoSays) {
  const char* root = std::getenv("FGNN_SOURCE_DIR");
  ASSERT_NE(root, nullptr) << "set FGNN_SOURCE_DIR to the root of the tree";
  const fs::path page = fs::path(root) / "shared/config/job_fields.md";
  std::ifstream in(page);
  std::ostringstream found;
  found << in.rdbuf();

  std::string expected = kHead;
  AppendFields(*v1::JobSpec::descriptor(), "", &expected);
  if (found.str() == expected) return;
  const std::string made = testing::TempDir() + "job_fields.md";
  std::ofstream(made) << expected;
  FAIL() << page << " is another text; the proto's: cp " << made << " " << page;
}

}  // namespace
}  // namespace fgnn
