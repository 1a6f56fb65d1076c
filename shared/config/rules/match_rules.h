// Whether the trainers of a job match rows: take from the batch before what it
// has loaded (FastGL, section 4.1).
#ifndef FGNN_SHARED_CONFIG_RULES_MATCH_RULES_H_
#define FGNN_SHARED_CONFIG_RULES_MATCH_RULES_H_

#include <string>

#include "shared/config/job_spec.h"

namespace fgnn {

// Returns why training may change the features of a batch in place, as a
// clause; empty: it does not change them.
std::string WhyFeaturesChange(const std::string& model_kind,
                              double input_dropout);

struct MatchChoice {
  bool matches = false;
  std::string reason;  // A clause, "features are read from the disk".
};

// Decides by features.match. `from_disk`: whether features are read from the
// disk, past the page cache.
MatchChoice ChooseMatch(const JobSpec& spec, bool from_disk);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_RULES_MATCH_RULES_H_
