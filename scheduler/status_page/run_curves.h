// A run's epochs as the page draws them.
#ifndef FGNN_SCHEDULER_STATUS_PAGE_RUN_CURVES_H_
#define FGNN_SCHEDULER_STATUS_PAGE_RUN_CURVES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace fgnn {

// Returns the epochs of the lines of metrics.jsonl:
//   `count`   number of epochs
//   `every`   n: every n-th line is in `rows`, counted from the last one back
//   `columns` names of the numbers in a row, "epoch" first
//   `rows`    numbers of an epoch, as the file has them; null: not measured
//   `stages`  seconds of each stage, summed over all epochs; the last one is
//             "evaluate"
//   `devices` names of the devices that took turns
//   `roles`   for each row, [plan, sampled, trained] of each of these devices;
//             null: the epoch does not have the device
// At most `most_rows` rows. A line that is no JSON object is left out.
nlohmann::ordered_json CurvesOf(const std::vector<std::string>& lines,
                                size_t most_rows);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_STATUS_PAGE_RUN_CURVES_H_
