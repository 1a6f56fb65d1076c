// Words for the values of an enumeration: one table, which is read both ways.
//
//   constexpr EnumWord<Role> kRoles[] = {{Role::kSubmit, "submit"},
//                                        {Role::kOperate, "operate"}};
//   WordIn(kRoles, role); ValueIn(kRoles, "submit");
#ifndef FGNN_SHARED_BASE_ENUM_WORDS_H_
#define FGNN_SHARED_BASE_ENUM_WORDS_H_

#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

namespace fgnn {

template <typename Enum>
struct EnumWord {
  Enum value;
  std::string_view word;
};

// Returns the value's word; `other` if the table does not have the value.
template <typename Enum, size_t kSize>
constexpr std::string_view WordIn(const EnumWord<Enum> (&words)[kSize],
                                  std::type_identity_t<Enum> value,
                                  std::string_view other = "unknown") {
  for (const EnumWord<Enum>& one : words) {
    if (one.value == value) return one.word;
  }
  return other;
}

// Returns the first value with the word; nullopt: there is none.
template <typename Enum, size_t kSize>
constexpr std::optional<Enum> ValueIn(const EnumWord<Enum> (&words)[kSize],
                                      std::string_view word) {
  for (const EnumWord<Enum>& one : words) {
    if (one.word == word) return one.value;
  }
  return std::nullopt;
}

}  // namespace fgnn

#endif  // FGNN_SHARED_BASE_ENUM_WORDS_H_
