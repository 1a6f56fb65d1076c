#include "shared/config/job_field_path.h"

#include "fgnn/v1/job.pb.h"
#include "shared/config/field_doc.h"

namespace fgnn {

std::string JobFieldPath(const std::string& name) {
  const google::protobuf::Descriptor& root = *v1::JobSpec::descriptor();
  if (root.FindFieldByName(name) != nullptr) return name;
  return PlaceInSection(root, name);
}

}  // namespace fgnn
