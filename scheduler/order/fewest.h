// The fewest of some holders that have to let go, so that enough of what they
// hold comes free. Pure.
#ifndef FGNN_SCHEDULER_ORDER_FEWEST_H_
#define FGNN_SCHEDULER_ORDER_FEWEST_H_

#include <cstddef>
#include <optional>
#include <vector>

namespace fgnn {

// Candidates are 0 to num_candidates - 1, those that are to go first before the
// others. targets[t] are the candidates that hold target t, each of them once;
// it comes free if all of them are chosen. Returns the smallest set that frees
// `need` targets and has `at_least` candidates; of as small ones, that of the
// first candidates, as words are sorted. Rising; nullopt: there is none.
std::optional<std::vector<size_t>> ChooseFewest(
    const std::vector<std::vector<size_t>>& targets, size_t num_candidates,
    size_t need, size_t at_least);

}  // namespace fgnn

#endif  // FGNN_SCHEDULER_ORDER_FEWEST_H_
