#include "scheduler/rpc/callers/user_calls.h"

#include "absl/strings/str_cat.h"

namespace fgnn {

std::string MethodOf(const google::protobuf::Descriptor& request) {
  const google::protobuf::FileDescriptor& file = *request.file();
  for (int i = 0; i < file.service_count(); ++i) {
    const google::protobuf::ServiceDescriptor& service = *file.service(i);
    for (int j = 0; j < service.method_count(); ++j) {
      if (service.method(j)->input_type() == &request) {
        return absl::StrCat("/", service.full_name(), "/",
                            service.method(j)->name());
      }
    }
  }
  return "";
}

absl::Status NoRequest() {
  return absl::InvalidArgumentError("a call needs a message");
}

}  // namespace fgnn
