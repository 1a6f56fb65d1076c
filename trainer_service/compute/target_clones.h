// FGNN_TARGET_CLONES before a function makes the compiler build it for several
// instruction sets. The loader takes the best one that the processor has.
// Results may differ in the last bits between processors, but never on one
// processor: where the set has such an instruction, a product and the sum that
// it enters are rounded once, in sources that fgnn_fused_sources() names. All
// other sources of the services round twice everywhere.
#ifndef FGNN_TRAINER_SERVICE_COMPUTE_TARGET_CLONES_H_
#define FGNN_TRAINER_SERVICE_COMPUTE_TARGET_CLONES_H_

// The choice is made while the program is loaded, before a sanitizer's own
// memory exists. Sanitized builds therefore have one version.
#if !defined(__x86_64__) || defined(FGNN_SANITIZED)
#define FGNN_TARGET_CLONES
#elif defined(__clang__)
#define FGNN_TARGET_CLONES \
  __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FGNN_TARGET_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif

#endif  // FGNN_TRAINER_SERVICE_COMPUTE_TARGET_CLONES_H_
