// Work in a process of its own, which may run out of memory alone.
#ifndef FGNN_SHARED_GRAPH_BOOK_MAKING_OWN_PROCESS_H_
#define FGNN_SHARED_GRAPH_BOOK_MAKING_OWN_PROCESS_H_

#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fgnn {

// Names what is being done. An error ends the work.
using StageCallback = absl::FunctionRef<absl::Status(std::string_view stage)>;

// Runs `body` in a child of this process, and returns its result. The child has
// a copy of this process's memory, prints nothing, and dies with the calling
// thread. The kernel kills it first where memory is short. What `body` passes
// to its argument reaches `stage` here, about once a second.
//
// This process may have other threads. A lock that one of them holds is held
// for ever in the child, but for the allocator's, which the C library frees. So
// `body` computes, allocates and reads files, and takes no lock.
//
// Returns the error of `body`, or of `stage`, which kills the child.
// ResourceExhausted: it threw bad_alloc, or a
// signal ended the child; the error names `what` and the signal, and ends with
// `advice`.
absl::StatusOr<std::string> RunInOwnProcess(
    std::string_view what, std::string_view advice, StageCallback stage,
    absl::FunctionRef<absl::StatusOr<std::string>(StageCallback)> body);

}  // namespace fgnn

#endif  // FGNN_SHARED_GRAPH_BOOK_MAKING_OWN_PROCESS_H_
