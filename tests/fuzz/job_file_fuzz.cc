// A job file; what is accepted reads back as itself.
#include <string>

#include "shared/config/job_spec_proto.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

void RequireOneLine(const absl::Status& error) {
  fgnn::Require(error.message().find('\n') == std::string::npos,
                "more than one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fgnn;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto spec = ParseJobYaml(text, "fuzz.yaml");
  if (!spec.ok()) {
    RequireOneLine(spec.status());
    return 0;
  }
  const auto effective = MakeEffective(*spec, {"cpu:0"});
  if (!effective.ok()) {
    RequireOneLine(effective.status());
    return 0;
  }
  FromProto(*effective);
  const auto again = ParseJobYaml(ToYaml(*effective, /*with_help=*/false), "");
  Require(again.ok(), "what is written cannot be read");
  const auto same = MakeEffective(*again, {"cpu:0"});
  Require(same.ok(), "what is effective is refused");
  Require(same->SerializeAsString() == effective->SerializeAsString(),
          "it reads back as another job");
  return 0;
}
