// Functions that kernels call too. FGNN_HOST_DEVICE before a function makes a
// version of it for each side; without nvcc it means nothing.
#ifndef FGNN_SHARED_BASE_HOST_DEVICE_H_
#define FGNN_SHARED_BASE_HOST_DEVICE_H_

#if defined(__CUDACC__)
#define FGNN_HOST_DEVICE __host__ __device__
#else
#define FGNN_HOST_DEVICE
#endif

#endif  // FGNN_SHARED_BASE_HOST_DEVICE_H_
