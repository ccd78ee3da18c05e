/* A driver without a device, for machines that have none: the engine's compiled extensions link
 * against libcuda.so.1 and are loaded for the shapes of their operators only. Every function says
 * CUDA_ERROR_NO_DEVICE. Ours; nothing of NVIDIA's is in it. */

#define NO_DEVICE 100
#define STUB(name) int name(void) { return NO_DEVICE; }

STUB(cuCtxCreate_v2) STUB(cuCtxDestroy_v2) STUB(cuCtxGetCurrent) STUB(cuCtxGetDevice)
STUB(cuCtxGetId) STUB(cuCtxPopCurrent_v2) STUB(cuCtxPushCurrent_v2) STUB(cuCtxSetCurrent)
STUB(cuDeviceGet) STUB(cuDeviceGetAttribute) STUB(cuDeviceGetCount) STUB(cuDeviceGetName)
STUB(cuDevicePrimaryCtxRelease_v2) STUB(cuDevicePrimaryCtxRetain) STUB(cuDriverGetVersion)
STUB(cuEventCreate) STUB(cuEventDestroy_v2) STUB(cuEventRecord) STUB(cuEventSynchronize)
STUB(cuFuncSetAttribute) STUB(cuGetErrorName) STUB(cuGetErrorString) STUB(cuGetExportTable)
STUB(cuGetProcAddress_v2) STUB(cuInit) STUB(cuLaunchKernel) STUB(cuLaunchKernelEx)
STUB(cuMemAddressFree) STUB(cuMemAddressReserve) STUB(cuMemAllocAsync) STUB(cuMemAllocPitch_v2)
STUB(cuMemAlloc_v2) STUB(cuMemCreate) STUB(cuMemFreeAsync) STUB(cuMemFree_v2)
STUB(cuMemGetAllocationGranularity) STUB(cuMemMap) STUB(cuMemRelease) STUB(cuMemSetAccess)
STUB(cuMemUnmap) STUB(cuMemcpy2DAsync_v2) STUB(cuMemcpy2D_v2) STUB(cuMemcpyDtoH_v2)
STUB(cuMemcpyHtoD_v2) STUB(cuModuleGetFunction) STUB(cuModuleLoadData) STUB(cuModuleLoadDataEx)
STUB(cuModuleUnload) STUB(cuPointerGetAttribute) STUB(cuStreamCreate) STUB(cuStreamDestroy_v2)
STUB(cuStreamGetCtx) STUB(cuStreamSynchronize) STUB(cuStreamWaitEvent)
STUB(cuTensorMapEncodeTiled)
