// What this program was built from, for --version.
#ifndef FGNN_SHARED_BUILD_BUILD_FACTS_H_
#define FGNN_SHARED_BUILD_BUILD_FACTS_H_

namespace fgnn {

// Returns lines of a name, a space and a value, without a newline at the end:
// "revision", the commit with "-dirty" where files differed from it, or
// "unknown"; "compiler", with the kind of build; "processor", the least that
// the program runs on; "cuda", "yes" or "no". Lives as long as the program.
const char* BuildFacts();

}  // namespace fgnn

#endif  // FGNN_SHARED_BUILD_BUILD_FACTS_H_
