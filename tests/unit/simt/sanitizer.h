// Which sanitizer the test was built with.
#ifndef FGNN_TESTS_UNIT_SIMT_SANITIZER_H_
#define FGNN_TESTS_UNIT_SIMT_SANITIZER_H_

namespace fgnn::simt {

enum class Sanitizer { kNone, kAddress, kThread };

#if defined(__SANITIZE_ADDRESS__)
inline constexpr Sanitizer kSanitizer = Sanitizer::kAddress;
#elif defined(__SANITIZE_THREAD__)
inline constexpr Sanitizer kSanitizer = Sanitizer::kThread;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr Sanitizer kSanitizer = Sanitizer::kAddress;
#elif __has_feature(thread_sanitizer)
inline constexpr Sanitizer kSanitizer = Sanitizer::kThread;
#else
inline constexpr Sanitizer kSanitizer = Sanitizer::kNone;
#endif
#else
inline constexpr Sanitizer kSanitizer = Sanitizer::kNone;
#endif

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_UNIT_SIMT_SANITIZER_H_
