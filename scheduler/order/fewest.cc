#include "scheduler/order/fewest.h"

#include <algorithm>
#include <functional>

namespace fgnn {
namespace {

// Rounding error of sums of shares like 1/3.
constexpr double kRounding = 1e-9;

class Search {
 public:
  Search(const std::vector<std::vector<size_t>>& targets, size_t num_candidates,
         size_t need)
      : targets_(targets),
        need_(need),
        shares_(num_candidates),
        is_chosen_(num_candidates) {
    for (const std::vector<size_t>& holders : targets) {
      for (const size_t holder : holders) {
        shares_[holder] += 1.0 / static_cast<double>(holders.size());
      }
    }
  }

  // Chooses `left` more candidates from `first` on, in lexicographic order.
  // Returns whether a choice is enough.
  bool Choose(size_t first, size_t left) {
    if (left == 0) return NumFreed() >= need_;
    for (size_t next = first; next + left <= shares_.size(); ++next) {
      if (!MayBeEnough(next, left)) return false;
      is_chosen_[next] = true;
      chosen_shares_ += shares_[next];
      if (Choose(next + 1, left - 1)) return true;
      chosen_shares_ -= shares_[next];
      is_chosen_[next] = false;
    }
    return false;
  }

  std::vector<size_t> chosen() const {
    std::vector<size_t> chosen;
    for (size_t i = 0; i < is_chosen_.size(); ++i) {
      if (is_chosen_[i]) chosen.push_back(i);
    }
    return chosen;
  }

 private:
  size_t NumFreed() const {
    return static_cast<size_t>(std::count_if(
        targets_.begin(), targets_.end(), [this](const auto& holders) {
          return std::all_of(holders.begin(), holders.end(),
                             [this](size_t h) { return is_chosen_[h]; });
        }));
  }

  // Each holder of a target has an equal share of it. The targets that come
  // free are never more than the sum of the chosen holders' shares. If each
  // target has one holder, the bound is exact and no choice is tried in vain.
  bool MayBeEnough(size_t first, size_t left) const {
    std::vector<double> rest(shares_.begin() + static_cast<ptrdiff_t>(first),
                             shares_.end());
    std::partial_sort(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(left),
                      rest.end(), std::greater<>());
    double most = chosen_shares_ + kRounding;
    for (size_t i = 0; i < left; ++i) most += rest[i];
    return most >= static_cast<double>(need_);
  }

  const std::vector<std::vector<size_t>>& targets_;
  const size_t need_;
  // Sum of the shares of targets that each candidate holds.
  std::vector<double> shares_;
  std::vector<bool> is_chosen_;
  double chosen_shares_ = 0;
};

}  // namespace

std::optional<std::vector<size_t>> ChooseFewest(
    const std::vector<std::vector<size_t>>& targets, size_t num_candidates,
    size_t need, size_t at_least) {
  if (need > targets.size()) return std::nullopt;
  // An empty set frees nothing, so a need for targets takes at least one
  // candidate.
  const size_t fewest = need == 0 ? at_least : std::max<size_t>(at_least, 1);
  for (size_t count = fewest; count <= num_candidates; ++count) {
    Search search(targets, num_candidates, need);
    if (search.Choose(0, count)) return search.chosen();
  }
  return std::nullopt;
}

}  // namespace fgnn
