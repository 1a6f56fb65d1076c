// Chooses the fewest holders to preempt, so that enough of what they hold comes
// free. Pure.
#ifndef FGNN_SCHEDULER_ORDER_FEWEST_H_
#define FGNN_SCHEDULER_ORDER_FEWEST_H_

#include <cstddef>
#include <optional>
#include <vector>

namespace fgnn {

// Candidates are 0 to num_candidates - 1; lower ones are preempted first.
// targets[t] are the candidates that hold target t, each once; the target comes
// free if all of them are chosen. Returns the smallest set that frees `need`
// targets and has at least `at_least` candidates. Among sets of equal size,
// returns the first in lexicographic order. The candidates rise; nullopt: no
// set is enough.
std::optional<std::vector<size_t>> ChooseFewest(
    const std::vector<std::vector<size_t>>& targets, size_t num_candidates,
    size_t need, size_t at_least);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_ORDER_FEWEST_H_
