#include "shared/config/job_spec_proto.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fakes/devices.h"
#include "tests/fakes/status_matchers.h"
#include "tests/fakes/temp_folder.h"
#include "tests/unit/shared/config/job_errors.h"

namespace fgnn {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(MakeEffectiveTest, FillsInEveryDefault) {
  v1::JobSpec written;
  written.set_dataset("/d");
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec effective,
                            MakeEffective(written, {"cpu:0", "cpu:1"}));
  const JobSpec spec = FromProto(effective);
  EXPECT_EQ(spec.dataset, "/d");
  EXPECT_EQ(spec.model.kind, "graphsage");
  EXPECT_EQ(spec.model.hidden, 256U);
  EXPECT_THAT(spec.sampling.fanouts, ElementsAre(10, 10));
  EXPECT_EQ(spec.sampling.batch_dependency, 1U);
  EXPECT_EQ(spec.training.optimizer, "adam");
  EXPECT_EQ(spec.training.momentum, 0);
  EXPECT_EQ(spec.training.learning_rate, 0.003);
  EXPECT_EQ(spec.training.batches_per_step, 2U);  // One per device.
  EXPECT_EQ(spec.training.keep_checkpoints, 2U);
  EXPECT_EQ(spec.cache.capacity, std::nullopt);
  EXPECT_EQ(spec.cache.epochs, 1U);
  EXPECT_THAT(spec.devices, ElementsAre("cpu:0", "cpu:1"));
  EXPECT_EQ(spec.limits.memory_bytes, std::nullopt);
  EXPECT_EQ(spec.limits.restarts, 5U);
}

// Gives every field a value of its own, in the order of the proto. Booleans are
// false, but for the one of that number.
class FieldFiller {
 public:
  explicit FieldFiller(int true_field) : true_field_(true_field) {}

  void Fill(google::protobuf::Message* message) {
    using google::protobuf::FieldDescriptor;
    const auto& reflection = *message->GetReflection();
    for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor* const field = message->GetDescriptor()->field(i);
      const int value = ++number_;
      const std::string& name = field->name();
      const std::string text = name.find("capacity") != std::string::npos
                                   ? absl::StrCat(value / 4.0)
                               : name == "memory"  ? absl::StrCat(value)
                               : name == "devices" ? absl::StrCat("cpu:", value)
                                                   : absl::StrCat("a", value);
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_MESSAGE:
          Fill(reflection.MutableMessage(message, field));
          break;
        case FieldDescriptor::CPPTYPE_STRING:
          if (field->is_repeated()) {
            reflection.AddString(message, field, text);
          } else {
            reflection.SetString(message, field, text);
          }
          break;
        case FieldDescriptor::CPPTYPE_INT32:
          ASSERT_TRUE(field->is_repeated());
          reflection.AddInt32(message, field, -value);
          break;
        case FieldDescriptor::CPPTYPE_UINT32:
          if (field->is_repeated()) {
            reflection.AddUInt32(message, field, static_cast<uint32_t>(value));
            break;
          }
          reflection.SetUInt32(message, field, static_cast<uint32_t>(value));
          break;
        case FieldDescriptor::CPPTYPE_UINT64:
          reflection.SetUInt64(message, field, ~static_cast<uint64_t>(value));
          break;
        case FieldDescriptor::CPPTYPE_DOUBLE:
          reflection.SetDouble(message, field, value / 3.0);
          break;
        case FieldDescriptor::CPPTYPE_BOOL:
          reflection.SetBool(message, field, num_booleans_++ == true_field_);
          break;
        default:
          FAIL() << name << " is of a kind that this test does not know";
      }
    }
  }
  int num_booleans() const { return num_booleans_; }

 private:
  const int true_field_;
  int number_ = 0;
  int num_booleans_ = 0;
};

TEST(ToProtoTest, EveryFieldComesBack) {
  int num_booleans = 1;
  for (int i = 0; i < num_booleans; ++i) {
    FieldFiller filler(i);
    v1::JobSpec spec;
    filler.Fill(&spec);
    num_booleans = filler.num_booleans();
    v1::JobSpec answered = spec;
    answered.clear_device_request();
    EXPECT_TRUE(MessageDifferencer::Equals(ToProto(FromProto(spec)), answered))
        << ToProto(FromProto(spec)).DebugString() << answered.DebugString();
    spec.clear_devices();
    EXPECT_TRUE(MessageDifferencer::Equals(ToProto(FromProto(spec)), spec));
  }
  EXPECT_GT(num_booleans, 3);
}

// The job store keeps bytes, and a run's folder the text.
TEST(ToProtoTest, AnEffectiveSpecStaysAsItIs) {
  for (const char* const yaml :
       {"preset: fgnn/pinsage", "limits: {memory: 3GiB}",
        "limits: {memory: 1500MB}", "limits: {memory: 1025}",
        "cache: {capacity: 0.1}", "model: {kind: gat}",
        "training: {task: link_prediction}", "devices: {min: 1, max: 2}",
        "sampling: {kind: random_walk}\nmodel: {kind: pinsage}"}) {
    FGNN_ASSERT_OK_AND_ASSIGN(
        const v1::JobSpec written,
        ParseJobYaml(absl::StrCat("dataset: /d\n", yaml, "\n"), "test"));
    FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec effective,
                              MakeEffective(written, {"cpu:0"}));
    const JobSpec spec = FromProto(effective);
    EXPECT_EQ(ToYaml(spec), ToYaml(effective, /*with_help=*/false)) << yaml;
    EXPECT_EQ(SpecOfBytes(ToBytes(spec)).value(), spec) << yaml;
  }
  EXPECT_THAT(SpecOfBytes("\xff"), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(ToProtoTest, WhatIsPlannedStaysAuto) {
  v1::JobSpec written;
  written.set_dataset("/d");
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec effective,
                            MakeEffective(written, {"cpu:0", "cpu:1"}));
  FGNN_ASSERT_OK_AND_ASSIGN(
      const v1::JobSpec again,
      MakeEffective(ToProto(FromProto(effective)), {"cpu:7"}));
  EXPECT_TRUE(MessageDifferencer::Equals(ToProto(FromProto(effective)),
                                         ToProto(FromProto(again))));
  EXPECT_EQ(again.samplers(), 0U);
  EXPECT_EQ(again.cache().capacity(), "auto");
  EXPECT_EQ(again.limits().memory(), "auto");
}

TEST(SamplingSpecTest, AWindowOfOneBatchHasOneOrder) {
  SamplingSpec sampling;
  sampling.order = "drawn";
  sampling.window = 16;
  EXPECT_EQ(sampling.matched_window(), 0U);
  sampling.order = "matched";
  EXPECT_EQ(sampling.matched_window(), 16U);
  sampling.window = 1;
  EXPECT_EQ(sampling.matched_window(), 0U);
}

TEST(MakeEffectiveTest, LeavesNoFieldUnset) {
  v1::JobSpec written;
  written.set_dataset("/d");
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec effective,
                            MakeEffective(written, {"cpu:0"}));
  // A field without a default would be missing from the text.
  const std::string yaml = ToYaml(effective, /*with_help=*/false);
  const auto expect_all = [&](const google::protobuf::Descriptor& type,
                              const auto& self) -> void {
    for (int i = 0; i < type.field_count(); ++i) {
      // Written instead of names.
      if (type.field(i)->name() == "device_request") continue;
      EXPECT_THAT(yaml, HasSubstr(type.field(i)->name() + ":"));
      if (type.field(i)->message_type() != nullptr) {
        self(*type.field(i)->message_type(), self);
      }
    }
  };
  expect_all(*v1::JobSpec::descriptor(), expect_all);
}

absl::StatusOr<v1::JobSpec> EffectiveOnOneDevice(const std::string& lines) {
  absl::StatusOr<v1::JobSpec> spec =
      ParseJobYaml("dataset: /d\n" + lines, "job.yaml");
  return spec.ok() ? MakeEffective(*spec, {"cpu:0"}) : spec;
}

TEST(DeviceRequestTest, ANumberOrABlockStandsInThePlaceOfNames) {
  struct Case {
    std::string lines;
    uint32_t min, max;
    std::string kind;
  };
  for (const Case& wanted : std::initializer_list<Case>{
           {"devices: 2\n", 2, 2, "any"},
           {"devices: {}\n", 1, 1, "any"},
           {"devices: {max: 3}\n", 1, 3, "any"},
           {"devices: {min: 2, kind: cpu}\n", 2, 2, "cpu"},
           {"devices:\n  kind: any\n  min: 1\n  max: 4\n", 1, 4, "any"}}) {
    SCOPED_TRACE(wanted.lines);
    FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec effective,
                              EffectiveOnOneDevice(wanted.lines));
    const JobSpec spec = FromProto(effective);
    EXPECT_THAT(spec.devices, testing::IsEmpty());
    ASSERT_TRUE(spec.device_request.has_value());
    EXPECT_EQ(spec.device_request->min, wanted.min);
    EXPECT_EQ(spec.device_request->max, wanted.max);
    EXPECT_EQ(spec.device_request->kind, wanted.kind);
    // What may be had decides what the job computes, not what it is given.
    EXPECT_EQ(spec.training.batches_per_step, wanted.max);
    EXPECT_EQ(spec.executors, wanted.max > 1 ? "factored" : "together");
    const std::string yaml = ToYaml(effective, /*with_help=*/false);
    EXPECT_THAT(yaml, AllOf(HasSubstr("\ndevices:\n  min: "),
                            Not(HasSubstr("device_request"))));
    FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec back,
                              ParseJobYaml(yaml, "job"));
    EXPECT_TRUE(MessageDifferencer::Equals(effective, back));
    FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec again,
                              MakeEffective(effective, {"cpu:1"}));
    EXPECT_TRUE(MessageDifferencer::Equals(effective, again));
  }
}

TEST(DeviceRequestTest, OverridesReplaceNamesAndNumbers) {
  const TempFolder folder;
  std::ofstream(folder / "job.yaml") << "dataset: /d\ndevices: [cpu:1]\n";
  const auto read = [&](const std::vector<std::string>& overrides) {
    return ReadJobFile(folder / "job.yaml", overrides).value();
  };
  EXPECT_EQ(read({"devices=2"}).device_request().min(), 2U);
  EXPECT_EQ(read({"devices=2"}).devices_size(), 0);
  const v1::JobSpec both = read({"devices={min: 2}", "devices.max=3"});
  EXPECT_EQ(both.device_request().min(), 2U);
  EXPECT_EQ(both.device_request().max(), 3U);
  EXPECT_EQ(read({"devices.kind=cpu"}).devices_size(), 0);
  EXPECT_FALSE(read({"devices=2", "devices=[cpu:3]"}).has_device_request());
}

TEST(HostSharesTest, AWordStandsForSharesBySpeed) {
  FGNN_ASSERT_OK_AND_ASSIGN(
      const v1::JobSpec spec,
      EffectiveOnOneDevice("hosts: {shares: auto, max: 2}\n"
                           "training: {batches_per_step: 2}\n"));
  EXPECT_TRUE(FromProto(spec).hosts.are_shares_by_speed());
  EXPECT_THAT(ToYaml(FromProto(spec)), HasSubstr("shares: auto\n"));
  EXPECT_THAT(EffectiveOnOneDevice("hosts: {shares: [auto, 1]}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'auto' is not a whole number")));
  EXPECT_THAT(EffectiveOnOneDevice("hosts: {shares: fast}\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("takes a list; write [fast] or auto")));
}

TEST(HostSharesTest, AHostWithoutBatchesIsWrittenAsZero) {
  JobSpec spec;
  spec.dataset = "/d";
  spec.hosts.shares = {2, 0};
  EXPECT_THAT(ToYaml(spec), HasSubstr("shares: [2, 0]\n"));
}

TEST(DeviceRequestTest, NamesWhatIsWrong) {
  for (const auto& [lines, words] :
       std::initializer_list<std::pair<std::string, std::string>>{
           {"devices: 0\n", "devices.min: 0 is out of range; give 1 to 1024"},
           {"devices: 1.5\n", "devices.min: 1.5 is not a whole number"},
           {"devices: {kind: tpu}\n", "devices.kind: 'tpu' is not known"},
           {"devices: {min: 3, max: 2}\n",
            "devices.min is 3, but devices.max is 2"},
           {"devices: {least: 3}\n", "unknown key 'least' in devices"},
           {"device_request: {min: 3}\n", "unknown key 'device_request'"},
           {"devices: two\n", "devices takes a list; write [two]"},
           {"devices: 2\nexecutors: factored\nsamplers: 3\n",
            "samplers is 3, but the job has 2 devices"},
           {"devices: 65\nexecutors: factored\n", "65 devices"}}) {
    EXPECT_THAT(EffectiveOnOneDevice(lines),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(words)))
        << lines;
  }
  v1::JobSpec both = EffectiveOnOneDevice("devices: 2\n").value();
  both.add_devices("cpu:0");
  EXPECT_THAT(MakeEffective(both, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("names and a number")));
}

TEST(MakeEffectiveTest, KeepsWhatIsWrittenAndIsIdempotent) {
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec spec, ParseJobYaml(kJob, "job"));
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec once,
                            MakeEffective(spec, {"cpu:7"}));
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec twice,
                            MakeEffective(once, {"cpu:8"}));
  EXPECT_TRUE(MessageDifferencer::Equals(once, twice));
  EXPECT_EQ(once.training().batches_per_step(), 2U);
  EXPECT_EQ(once.training().seed(), ~uint64_t{0});
  EXPECT_EQ(FromProto(once).limits.memory_bytes, uint64_t{2} << 30);
}

// A spec may come from another process, past the reader of YAML.
TEST(MakeEffectiveTest, ChecksRangesOfSpecsThatWereNotRead) {
  v1::JobSpec spec;
  spec.set_dataset("/d");
  spec.mutable_sampling()->set_batch_size(0);
  EXPECT_THAT(MakeEffective(spec, {"cpu:0"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("sampling.batch_size: 0")));
  spec.mutable_sampling()->set_batch_size(1);
  spec.mutable_sampling()->add_fanouts(70'000);
  spec.mutable_sampling()->add_fanouts(5);
  EXPECT_THAT(MakeEffective(spec, {"cpu:0"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("sampling.fanouts: 70000")));
  spec.mutable_sampling()->clear_fanouts();
  spec.mutable_model()->set_kind("cnn");
  EXPECT_THAT(MakeEffective(spec, {"cpu:0"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("model.kind: 'cnn'")));
  spec.mutable_model()->clear_kind();
  spec.mutable_model()->set_dropout(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(MakeEffective(spec, {"cpu:0"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("model.dropout: nan")));
  spec.mutable_model()->clear_dropout();
  EXPECT_THAT(MakeEffective(spec, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("devices is empty")));
  EXPECT_THAT(MakeEffective(spec, {"cuda:x"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'cuda:x' does not name a GPU")));
}

TEST(ToYamlTest, RoundTrips) {
  FGNN_ASSERT_OK_AND_ASSIGN(v1::JobSpec spec, ParseJobYaml(kJob, "job"));
  for (const std::string dataset :
       {"/data/packages", "/with blank", "/quote\"back\\slash", "true", "12",
        "/ü/日本", "- x", "a: b", "#c", "/new\nline\t", "~", "null", "'", "@x",
        "/ends:", "{a}", "[b]", "/a, b"}) {
    spec.set_dataset(dataset);
    for (const bool with_help : {false, true}) {
      const std::string yaml = ToYaml(spec, with_help);
      SCOPED_TRACE(yaml);
      FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec back,
                                ParseJobYaml(yaml, "job"));
      EXPECT_TRUE(MessageDifferencer::Equals(spec, back));
    }
  }
}

TEST(ToYamlTest, SaysAutoForWhatIsPlanned) {
  v1::JobSpec written;
  written.set_dataset("/d");
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec spec,
                            MakeEffective(written, {"cpu:0", "cpu:1"}));
  const std::string yaml = ToYaml(spec, /*with_help=*/false);
  EXPECT_THAT(yaml, AllOf(HasSubstr("samplers: auto\n"),
                          HasSubstr("trainers: auto\n")));
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec back, ParseJobYaml(yaml, "job"));
  EXPECT_TRUE(MessageDifferencer::Equals(spec, back));
  written.set_samplers(2);
  FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec fixed,
                            MakeEffective(written, {"cpu:0", "cpu:1"}));
  EXPECT_THAT(ToYaml(fixed, /*with_help=*/false), HasSubstr("samplers: 2\n"));
}

TEST(ToYamlTest, RoundTripsNumbersExactly) {
  for (const double rate : {1e-12, 0.1, 1.0 / 3, 2.5e-7, 100.0, 0.003}) {
    v1::JobSpec spec;
    spec.mutable_training()->set_learning_rate(rate);
    FGNN_ASSERT_OK_AND_ASSIGN(const v1::JobSpec back,
                              ParseJobYaml(ToYaml(spec, false), "job"));
    EXPECT_EQ(back.training().learning_rate(), rate);
  }
}

TEST(ToYamlTest, PutsHelpUnitRangeAndDefaultBesideAField) {
  v1::JobSpec spec;
  spec.mutable_model()->set_hidden(64);
  EXPECT_EQ(
      ToYaml(spec, /*with_help=*/true),
      "model:\n  hidden: 64  # Width of the hidden layers [columns]; 1 to "
      "65536; default 256\n");
}

}  // namespace
}  // namespace fgnn
