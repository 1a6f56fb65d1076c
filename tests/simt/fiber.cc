#include "tests/simt/fiber.h"

#include <boost/context/protected_fixedsize_stack.hpp>

// There if the program is linked with the sanitizer's run-time library.
extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void**, const void*, size_t);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void*, const void**,
                                                   size_t*);
[[gnu::weak]] void* __tsan_create_fiber(unsigned);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void __tsan_switch_to_fiber(void*, unsigned);
[[gnu::weak]] void __tsan_acquire(void*);
[[gnu::weak]] void __tsan_release(void*);
}

namespace fgnn::simt {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

constexpr size_t kStackBytes = 256 * 1024;
constexpr unsigned kOrdersNothing = 1;

}  // namespace

bool HasThreadSanitizer() { return __tsan_create_fiber != nullptr; }
bool HasAddressSanitizer() { return __sanitizer_start_switch_fiber != nullptr; }
void Acquire(void* place) {
  if (HasThreadSanitizer()) __tsan_acquire(place);
}
void Release(void* place) {
  if (HasThreadSanitizer()) __tsan_release(place);
}

Fiber::Fiber() {
  boost::context::protected_fixedsize_stack stacks(kStackBytes);
  const boost::context::stack_context stack = stacks.allocate();
  stack_ = static_cast<const char*>(stack.sp) - stack.size;
  stack_bytes_ = stack.size;
  here_ = make_fcontext(stack.sp, stack.size, Main);
  if (HasThreadSanitizer()) tsan_ = __tsan_create_fiber(0);
}

void Fiber::Main(transfer_t from) {
  auto* const fiber = static_cast<Fiber*>(from.data);
  fiber->there_ = from.fctx;
  fiber->Arrived(nullptr);
  for (;;) {
    fiber->run_(fiber->argument_);
    fiber->Leave();
  }
}

void Fiber::Enter() {
  if (HasAddressSanitizer()) {
    __sanitizer_start_switch_fiber(&other_fake_stack_, stack_, stack_bytes_);
  }
  if (HasThreadSanitizer()) {
    other_tsan_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_, kOrdersNothing);
  }
  here_ = jump_fcontext(here_, this).fctx;
  if (HasAddressSanitizer()) {
    __sanitizer_finish_switch_fiber(other_fake_stack_, nullptr, nullptr);
  }
}

void Fiber::Leave() {
  if (HasAddressSanitizer()) {
    __sanitizer_start_switch_fiber(&fake_stack_, other_stack_,
                                   other_stack_bytes_);
  }
  if (HasThreadSanitizer()) {
    __tsan_switch_to_fiber(other_tsan_, kOrdersNothing);
  }
  there_ = jump_fcontext(there_, nullptr).fctx;
  Arrived(fake_stack_);
}

void Fiber::Arrived(void* fake_stack) {
  if (HasAddressSanitizer()) {
    __sanitizer_finish_switch_fiber(fake_stack, &other_stack_,
                                    &other_stack_bytes_);
  }
}

}  // namespace fgnn::simt
