// The one list of kernels, oldest first: MEMSIM_KERNEL(type, header). A generation is one file here and
// one line below; the build makes its translation units from this list and the registry its table.
#ifndef MEMSIM_KERNEL
#error "define MEMSIM_KERNEL(type, header) before including this list"
#endif

MEMSIM_KERNEL(V4_0, "models/kernels/v4_0.h")
MEMSIM_KERNEL(V4_0ChargeFirst, "models/kernels/v4_0_chargefirst.h")
MEMSIM_KERNEL(V4_2, "models/kernels/v4_2.h")
MEMSIM_KERNEL(V4_4, "models/kernels/v4_4.h")
