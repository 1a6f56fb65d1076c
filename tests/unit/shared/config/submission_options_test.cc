#include "shared/config/submission_options.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "shared/config/submission_options_proto.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::util::MessageDifferencer;
using testing::HasSubstr;

// Fields of a submission that are none of its options.
const std::set<std::string> kOthers = {"spec",   "run_dir", "client_key",
                                       "resume", "after",   "overrides"};

// Returns a request whose options each have a value of their own.
v1::SubmitJobRequest RequestWithAllOptions() {
  v1::SubmitJobRequest request;
  const auto& reflection = *request.GetReflection();
  for (int i = 0; i < request.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* const field = request.GetDescriptor()->field(i);
    if (kOthers.contains(field->name())) continue;
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_BOOL:
        reflection.SetBool(&request, field, true);
        break;
      case FieldDescriptor::CPPTYPE_INT32:
        reflection.SetInt32(&request, field, -i);
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        reflection.SetUInt32(&request, field, static_cast<uint32_t>(i));
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        reflection.SetString(&request, field, absl::StrCat("a", i));
        break;
      default:
        ADD_FAILURE() << field->name() << " is of a kind that is not known";
    }
  }
  return request;
}

TEST(SubmissionOptionsTest, EveryOptionComesBack) {
  const v1::SubmitJobRequest request = RequestWithAllOptions();
  v1::SubmitJobRequest again;
  SetOptions(OptionsOf(request), &again);
  EXPECT_TRUE(MessageDifferencer::Equals(again, request))
      << again.DebugString() << request.DebugString();
  FGNN_ASSERT_OK_AND_ASSIGN(const SubmissionOptions stored,
                            OptionsOfBytes(ToBytes(OptionsOf(request))));
  EXPECT_EQ(stored, OptionsOf(request));
}

TEST(SubmissionOptionsTest, AJobTellsOfEachOptionThatItHasAFieldFor) {
  v1::Job job;
  SetOptions(OptionsOf(RequestWithAllOptions()), &job);
  for (int i = 0; i < v1::SubmitJobRequest::descriptor()->field_count(); ++i) {
    const std::string name =
        v1::SubmitJobRequest::descriptor()->field(i)->name();
    const FieldDescriptor* const field =
        v1::Job::descriptor()->FindFieldByName(name);
    if (field == nullptr || kOthers.contains(name)) continue;
    EXPECT_TRUE(job.GetReflection()->HasField(job, field)) << name;
  }
}

TEST(SubmissionOptionsTest, DamagedBytesAreAnError) {
  EXPECT_THAT(OptionsOfBytes("\xff"), StatusIs(absl::StatusCode::kDataLoss));
}

TEST(SubmissionOptionsTest, OptionsOutOfRangeAreNamed) {
  FGNN_ASSERT_OK(CheckOptions(
      {.name = std::string(128, 'n'), .priority = -100, .retries = 100}));
  const auto refused = [](const std::string& words) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(words));
  };
  EXPECT_THAT(CheckOptions({.name = std::string(129, 'n')}),
              refused("name has 129 bytes, at most 128 are allowed"));
  EXPECT_THAT(CheckOptions({.name = "a\nb"}), refused("name has control"));
  EXPECT_THAT(CheckOptions({.priority = 101}),
              refused("priority is 101, it goes from -100 to 100"));
  EXPECT_THAT(CheckOptions({.retries = 101}),
              refused("retries is 101, at most 100"));
}

}  // namespace
}  // namespace fgnn
