// What a core does without leaving its L1: clock, instructions, LOCK, call.
//
// Units     ns of CPU time; the clock in GHz
// Threads   each function measures on the calling thread, which the caller pins
#ifndef MEMSIM_LIB_MEASURE_CALIBRATE_CORE_H_
#define MEMSIM_LIB_MEASURE_CALIBRATE_CORE_H_

namespace memsim::calibrate {

// Adds that wait for each other take a cycle each. Called effective: what a hypervisor or a sibling takes
// away lowers it.
double ClockGhz();

// One instruction of straight-line code as a kernel's: in twelve, three loads, two stores, two compares
// with branches not taken, and a chain through registers of three adds.
double InstructionNs();

// A LOCK instruction on a line this CPU owns, beyond the same addition without it. Half of them add what
// the one before returned; half are independent; each follows a plain store to another line, for which it
// has to wait, as on the charge path.
double RmwNs();

// A call and its return, instruction slots included: code as above in functions of 24 instructions, beyond
// the same code in a row. That is how densely the charge path calls; there part of a call hides behind the
// work around it, as it does here.
double CallNs();

// The same of a function that does nothing, one call right after the other: nothing hides it.
double EmptyCallNs();

}  // namespace memsim::calibrate

#endif  // MEMSIM_LIB_MEASURE_CALIBRATE_CORE_H_
