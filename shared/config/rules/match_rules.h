// Which rows the trainers of a job keep from one batch for others: those of the
// batch before (FastGL, section 4.1), or those that the next batches need.
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
  // Whether rows of the batch before are copied.
  bool matches = false;
  // Whether a part of the cache also keeps rows that the next batches need.
  bool looks_ahead = false;
  std::string reason = {};  // A clause, "features are in memory".
};

// Decides by features.match. `are_loaded`: whether features are read from the
// disk, past the page cache, or come from other hosts.
MatchChoice ChooseMatch(const JobSpec& spec, bool are_loaded);

// Returns the choice in words, without a stop.
std::string Describe(const MatchChoice& match);

}  // namespace fgnn

#endif  // FGNN_SHARED_CONFIG_RULES_MATCH_RULES_H_
