// A stack with a place in a program. Sanitizers are told of every switch.
#ifndef FGNN_TESTS_SIMT_FIBER_H_
#define FGNN_TESTS_SIMT_FIBER_H_

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

namespace fgnn::simt {

// Whether the program is linked with the sanitizer.
bool HasThreadSanitizer();
bool HasAddressSanitizer();

// What ThreadSanitizer is told: all that was done before Release(place) comes
// before what is done after Acquire(place).
void Acquire(void* place);
void Release(void* place);

// One OS thread uses a fiber, from its own stack and from the fiber's.
class Fiber {
 public:
  // Takes a stack that is never given back: a program needs as many as the
  // blocks under way have threads.
  Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // What the next Enter() calls. The fiber is new, or its last call has ended.
  void Prepare(void (*run)(void*), void* argument) {
    run_ = run;
    argument_ = argument;
  }
  // From the OS thread's stack: goes on with the fiber. Returns when it leaves
  // or its call has ended.
  void Enter();
  // From the fiber: goes back to who entered it.
  void Leave();

 private:
  static void Main(boost::context::detail::transfer_t from);
  void Arrived(void* fake_stack);

  // Boost's public fiber enters a new stack before AddressSanitizer can be
  // told.
  boost::context::detail::fcontext_t here_ = nullptr;  // Where it goes on.
  boost::context::detail::fcontext_t there_ =
      nullptr;  // Where who entered does.
  void (*run_)(void*) = nullptr;
  void* argument_ = nullptr;
  const void* stack_ = nullptr;  // Lowest address.
  size_t stack_bytes_ = 0;
  void* tsan_ = nullptr;
  void* fake_stack_ = nullptr;  // AddressSanitizer's.
  // Of who entered.
  void* other_tsan_ = nullptr;
  void* other_fake_stack_ = nullptr;
  const void* other_stack_ = nullptr;
  size_t other_stack_bytes_ = 0;
};

}  // namespace fgnn::simt

#endif  // FGNN_TESTS_SIMT_FIBER_H_
