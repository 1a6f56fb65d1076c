#include "shared/config/rules/user_code_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "shared/config/job_spec.h"
#include "tests/unit/shared/config/job_errors.h"

namespace fgnn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(UserCodeRulesTest, RefusesAModelOfTheUsersThatIsHalfNamed) {
  EXPECT_THAT(ErrorIn("model: {kind: plugin}"),
              HasSubstr("model.plugin is missing"));
  EXPECT_THAT(ErrorIn("model: {kind: torchscript}"),
              HasSubstr("model.file is missing"));
  EXPECT_THAT(ErrorIn("model: {plugin: sage}"),
              AllOf(HasSubstr("model.plugin is 'sage'"),
                    HasSubstr("model.kind is graphsage; make it plugin")));
  EXPECT_THAT(ErrorIn("model: {kind: plugin, plugin: sage, file: a.pt}"),
              HasSubstr("make it torchscript"));
  EXPECT_THAT(ErrorIn("model: {kind: plugin, plugin: sage, residual: true}"),
              HasSubstr("model.residual is for the models that FGNN has"));
  EXPECT_THAT(
      ErrorIn("model: {kind: torchscript, file: a.pt, input_dropout: 0.1}"),
      HasSubstr("model.input_dropout is for"));
  EXPECT_THAT(ErrorIn("model: {kind: plugin, plugin: sage}\n"
                      "training: {precision: bf16}"),
              AllOf(HasSubstr("training.precision is bf16"),
                    HasSubstr("model.kind plugin trains in f32; use f32")));
}

TEST(UserCodeRulesTest, AClassOfPythonHasAFileAndAName) {
  const auto with = [](const std::string& more) {
    return absl::StrCat("model: {kind: python, file: /m.py, class_name: Sage",
                        more, "}\n");
  };
  const JobSpec spec = EffectiveOf(with(", python: /venv/bin/python"));
  EXPECT_EQ(spec.model.class_name, "Sage");
  EXPECT_EQ(spec.model.python, "/venv/bin/python");
  EXPECT_THAT(ErrorIn("model: {kind: python, class_name: Sage}"),
              HasSubstr("model.file is missing; name the file with the "
                        "model's class"));
  EXPECT_THAT(ErrorIn("model: {kind: python, file: /m.py}"),
              HasSubstr("model.class_name is missing; name the model's class"));
  for (const std::string kind : {"graphsage", "torchscript"}) {
    EXPECT_THAT(ErrorIn("model: {file: /m.py, kind: " + kind + "}"),
                HasSubstr("make it python"));
  }
  EXPECT_THAT(ErrorIn("model: {class_name: Sage}"),
              HasSubstr("model.kind is graphsage; make it python"));
  EXPECT_THAT(ErrorIn("model: {python: /venv/bin/python}"),
              AllOf(HasSubstr("model.python is '/venv/bin/python'"),
                    HasSubstr("leave it out")));
  for (const std::string ours :
       {"input_dropout: 0.1", "normalization: layer", "residual: true"}) {
    EXPECT_THAT(ErrorIn(with(absl::StrCat(", layers: 3, ", ours)) +
                        "sampling: {fanouts: [2, 2, 2]}"),
                HasSubstr("is for the models that FGNN has"));
  }
  EXPECT_THAT(ErrorIn(with("") + "training: {precision: bf16}"),
              HasSubstr("model.kind python trains in f32; use f32"));
  EXPECT_THAT(ErrorIn(with("") + "training: {task: link_prediction}"),
              HasSubstr("model.kind python does not learn; use graphsage"));
  EXPECT_THAT(ErrorIn(with("") + "training: {parts: 2}\ntrainers: 2\n"
                                 "executors: together"),
              AllOf(HasSubstr("training.parts is 2"),
                    HasSubstr("model.kind is python")));
}

}  // namespace
}  // namespace fgnn
