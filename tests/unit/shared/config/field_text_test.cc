#include "shared/config/field_text.h"

#include <gtest/gtest.h>

#include "fgnn/v1/job.pb.h"
#include "shared/config/field_reader.h"
#include "tests/fakes/status_matchers.h"

namespace fgnn {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void ExpectDefaults(const Message& message) {
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    if (field.message_type() != nullptr) {
      ExpectDefaults(message.GetReflection()->GetMessage(message, &field));
    } else if (!DocOf(field).default_value().empty()) {
      EXPECT_TRUE(HasDefault(message, field.name())) << field.full_name();
    }
  }
}

// The rules ask HasDefault() whether a job wrote a field.
TEST(HasDefaultTest, EveryFieldThatIsFilledInHasItsDefault) {
  v1::JobSpec spec;
  spec.set_dataset("/d");
  spec.mutable_device_request();
  FGNN_ASSERT_OK(FillDefaults("", &spec));
  ExpectDefaults(spec);
}

TEST(HasDefaultTest, AnotherValueIsNoDefault) {
  v1::ModelSpec model;
  model.set_aggregator("pool");
  model.set_attention_dropout(1e-9);
  EXPECT_FALSE(HasDefault(model, "aggregator"));
  EXPECT_FALSE(HasDefault(model, "attention_dropout"));
  model.set_attention_dropout(0);
  EXPECT_TRUE(HasDefault(model, "attention_dropout"));
  v1::SamplingSpec sampling;
  sampling.add_fanouts(10);
  EXPECT_FALSE(HasDefault(sampling, "fanouts"));
  sampling.add_fanouts(10);
  EXPECT_TRUE(HasDefault(sampling, "fanouts"));
}

}  // namespace
}  // namespace fgnn
