package driver

// functions holds the entry points by the names below. Old entry points keep
// their meaning for ever; the _v2 suffix marks a changed signature, so the
// exact symbol is part of the contract.
type functions struct {
	init, driverGetVersion                                          uintptr
	getErrorName, getErrorString                                    uintptr
	deviceGetCount, deviceGet, deviceGetName                        uintptr
	deviceGetAttribute, deviceTotalMem                              uintptr
	primaryCtxRetain, primaryCtxRelease, ctxSetCurrent              uintptr
	ctxSynchronize, memGetInfo                                      uintptr
	moduleLoadDataEx, moduleUnload, moduleGetFunction               uintptr
	funcGetAttribute, funcSetAttribute, launchKernel                uintptr
	memAlloc, memFree, memAllocHost, memFreeHost                    uintptr
	memcpyHtoD, memcpyDtoH, memcpyDtoD                              uintptr
	memcpyHtoDAsync, memcpyDtoHAsync, memcpyDtoDAsync               uintptr
	memsetD8Async, memsetD32Async                                   uintptr
	streamCreate, streamDestroy, streamSynchronize, streamWaitEvent uintptr
	eventCreate, eventDestroy, eventRecord, eventSynchronize        uintptr
	eventElapsedTime                                                uintptr
	occupancyMaxActiveBlocks                                        uintptr
	streamBeginCapture, streamEndCapture                            uintptr
	graphInstantiate, graphLaunch, graphDestroy, graphExecDestroy   uintptr
	memAllocAsync, memFreeAsync                                     uintptr
	deviceGetDefaultMemPool, memPoolSetAttribute, memPoolTrimTo     uintptr
	deviceGetPCIBusID                                               uintptr
	graphCreate                                                     uintptr
	graphAddKernel, graphExecKernelSetParams                        uintptr // 0 before CUDA 12
	graphAddDependencies                                            uintptr // 0 before CUDA 12.3
	tensorMapEncodeTiled                                            uintptr // 0 before CUDA 12
	linkCreate, linkAddData, linkComplete, linkDestroy              uintptr
}

// symbol pairs an entry point's exported name with the place that keeps it. A
// later version of the same signature serves where the name is gone.
type symbol struct {
	name  string
	at    *uintptr
	later string
}

// optional marks an entry point whose absence takes one ability away.
const optional = "optional"

// find sets every entry point by asking the library for its address.
func (f *functions) find(lookup func(name string) (uintptr, error)) error {
	for _, s := range f.symbols() {
		p, err := lookup(s.name)
		if err != nil && s.later == optional {
			continue
		}
		if err != nil && s.later != "" {
			p, err = lookup(s.later)
		}
		if err != nil {
			return &Unavailable{Library: library, Reason: "it lacks " + s.name + ": " + err.Error()}
		}
		*s.at = p
	}
	return nil
}

func (f *functions) symbols() []symbol {
	return []symbol{
		{"cuInit", &f.init, ""},
		{"cuDriverGetVersion", &f.driverGetVersion, ""},
		{"cuGetErrorName", &f.getErrorName, ""},
		{"cuGetErrorString", &f.getErrorString, ""},
		{"cuDeviceGetCount", &f.deviceGetCount, ""},
		{"cuDeviceGet", &f.deviceGet, ""},
		{"cuDeviceGetName", &f.deviceGetName, ""},
		{"cuDeviceGetAttribute", &f.deviceGetAttribute, ""},
		{"cuDeviceTotalMem_v2", &f.deviceTotalMem, ""},
		{"cuDevicePrimaryCtxRetain", &f.primaryCtxRetain, ""},
		{"cuDevicePrimaryCtxRelease_v2", &f.primaryCtxRelease, ""},
		{"cuCtxSetCurrent", &f.ctxSetCurrent, ""},
		{"cuCtxSynchronize", &f.ctxSynchronize, ""},
		{"cuMemGetInfo_v2", &f.memGetInfo, ""},
		{"cuModuleLoadDataEx", &f.moduleLoadDataEx, ""},
		{"cuModuleUnload", &f.moduleUnload, ""},
		{"cuModuleGetFunction", &f.moduleGetFunction, ""},
		{"cuFuncGetAttribute", &f.funcGetAttribute, ""},
		{"cuFuncSetAttribute", &f.funcSetAttribute, ""},
		{"cuLaunchKernel", &f.launchKernel, ""},
		{"cuMemAlloc_v2", &f.memAlloc, ""},
		{"cuMemFree_v2", &f.memFree, ""},
		{"cuMemAllocHost_v2", &f.memAllocHost, ""},
		{"cuMemFreeHost", &f.memFreeHost, ""},
		{"cuMemcpyHtoD_v2", &f.memcpyHtoD, ""},
		{"cuMemcpyDtoH_v2", &f.memcpyDtoH, ""},
		{"cuMemcpyDtoD_v2", &f.memcpyDtoD, ""},
		{"cuMemcpyHtoDAsync_v2", &f.memcpyHtoDAsync, ""},
		{"cuMemcpyDtoHAsync_v2", &f.memcpyDtoHAsync, ""},
		{"cuMemcpyDtoDAsync_v2", &f.memcpyDtoDAsync, ""},
		{"cuMemsetD8Async", &f.memsetD8Async, ""},
		{"cuMemsetD32Async", &f.memsetD32Async, ""},
		{"cuStreamCreate", &f.streamCreate, ""},
		{"cuStreamDestroy_v2", &f.streamDestroy, ""},
		{"cuStreamSynchronize", &f.streamSynchronize, ""},
		{"cuStreamWaitEvent", &f.streamWaitEvent, ""},
		{"cuEventCreate", &f.eventCreate, ""},
		{"cuEventDestroy_v2", &f.eventDestroy, ""},
		{"cuEventRecord", &f.eventRecord, ""},
		{"cuEventSynchronize", &f.eventSynchronize, ""},
		{"cuEventElapsedTime", &f.eventElapsedTime, "cuEventElapsedTime_v2"},
		{"cuOccupancyMaxActiveBlocksPerMultiprocessor", &f.occupancyMaxActiveBlocks, ""},
		{"cuStreamBeginCapture_v2", &f.streamBeginCapture, ""},
		{"cuStreamEndCapture", &f.streamEndCapture, ""},
		{"cuGraphInstantiateWithFlags", &f.graphInstantiate, ""},
		{"cuGraphLaunch", &f.graphLaunch, ""},
		{"cuGraphDestroy", &f.graphDestroy, ""},
		{"cuGraphExecDestroy", &f.graphExecDestroy, ""},
		{"cuMemAllocAsync", &f.memAllocAsync, ""},
		{"cuMemFreeAsync", &f.memFreeAsync, ""},
		{"cuDeviceGetDefaultMemPool", &f.deviceGetDefaultMemPool, ""},
		{"cuMemPoolSetAttribute", &f.memPoolSetAttribute, ""},
		{"cuMemPoolTrimTo", &f.memPoolTrimTo, ""},
		{"cuDeviceGetPCIBusId", &f.deviceGetPCIBusID, ""},
		{"cuGraphCreate", &f.graphCreate, ""},
		{"cuGraphAddKernelNode_v2", &f.graphAddKernel, optional},
		{"cuGraphExecKernelNodeSetParams_v2", &f.graphExecKernelSetParams, optional},
		{"cuGraphAddDependencies_v2", &f.graphAddDependencies, optional},
		{"cuTensorMapEncodeTiled", &f.tensorMapEncodeTiled, optional},
		{"cuLinkCreate_v2", &f.linkCreate, ""},
		{"cuLinkAddData_v2", &f.linkAddData, ""},
		{"cuLinkComplete", &f.linkComplete, ""},
		{"cuLinkDestroy", &f.linkDestroy, ""},
	}
}
