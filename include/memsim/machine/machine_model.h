// The parameters of a simulated machine: one file of models/machines/, checked and converted to integers.
//
// Units     all times in picoseconds (ps), so that a sum is exact whatever the clock; sizes in bytes;
//           bandwidth as the time one 64-byte line occupies the memory of a socket
// Threads   a value; nothing is shared
// Errors    LoadMachineModel(): one line with file, field, value and what would be valid
// Left out  instruction caches, TLB reach, branch prediction, turbo and power states
// Assumed   one number for "an instruction": a core's rate on short straight-line code that hits its L1
#ifndef MEMSIM_MACHINE_MACHINE_MODEL_H_
#define MEMSIM_MACHINE_MACHINE_MODEL_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "memsim/machine/stage.h"

namespace memsim {

inline constexpr int kMaxSimCpus = 1024;

// Size 0: the machine has no such cache.
struct CacheModel {
  uint64_t bytes = 0;
  int ways = 8;
  uint64_t latency = 0;  // load to use of a hit, ps

  friend bool operator==(const CacheModel&, const CacheModel&) = default;
};

struct MachineModel {
  std::string name;
  std::string given;  // what it was loaded as: its name, or the path of its file
  std::string summary;
  std::string source;

  int sockets = 1;
  int cores_per_socket = 1;
  int threads_per_core = 1;
  int issue_slots = 4;          // of a core, a cycle; shared by its threads
  uint64_t cycle = 1000;        // ps
  uint64_t instruction = 250;   // ps, of straight-line code on a core of its own
  uint64_t smt_instruction = 400;  // the same while the core's other thread runs

  CacheModel l1, l2;  // per core; divided by ways between the threads that run
  CacheModel l3;      // per socket
  uint64_t dram = 0;         // latency of a line from the socket's own memory, ps
  uint64_t dram_remote = 0;  // from another socket's
  uint64_t dram_line = 0;    // time one line occupies a socket's memory, ps; 0: unlimited
  uint64_t clear_page = 0;   // a core alone zeroes a page in this time, ps
  uint64_t clear_lines = 64; // lines of memory traffic of a cleared page

  // A line modified in another CPU's cache arrives after this time.
  uint64_t transfer_smt = 0, transfer_core = 0, transfer_socket = 0;
  uint64_t rmw = 0;            // LOCK instruction on a line the CPU owns, on top of its slot
  uint64_t call = 0;           // call and return, on top of their slots
  uint64_t irq_save = 0;       // local_irq_save + restore
  uint64_t irq_disable = 0;    // local_irq_disable + enable
  uint64_t lock_handoff = 0;   // release of a contended spinlock to its next holder
  uint64_t ipi = 0;            // request to another CPU until its handler runs
  uint64_t tlb_shootdown = 0;  // flush of another CPU's TLB, per CPU, on the requester
  uint64_t store_forward = 0;  // a load wider than the store before it, ps; 0: no penalty
  bool adjacent_line = false;  // a miss beyond L2 brings the line's pair as well
  uint64_t timer_period = 0;   // between two timer interrupts of a CPU, ps; 0: none
  uint64_t timer_cost = 0;     // one timer interrupt, ps
  std::array<uint64_t, kStageCount> stage = {};  // ps, on an idle machine
  uint64_t stage_data = 0;  // bytes that a fault moves through L1 in its stages and the user program

  // What was fitted to which published number: "stages.exception: faults/cpu-1 of ...".
  std::vector<std::string> calibrated;
  // Fields whose source is "assumed".
  std::vector<std::string> assumed;

  int cpus() const { return sockets * cores_per_socket * threads_per_core; }
  // CPUs are numbered as Linux does on these machines: first one thread of every core, socket by socket,
  // then their siblings.
  int CoreOf(int cpu) const { return cpu % (sockets * cores_per_socket); }
  int SocketOf(int cpu) const { return CoreOf(cpu) / cores_per_socket; }

  friend bool operator==(const MachineModel&, const MachineModel&) = default;
};

// The machine of that name in models/machines/, or of that file when the name contains a '/' or ends in
// ".json".
absl::StatusOr<MachineModel> LoadMachineModel(absl::string_view name);
// All of models/machines/, by name.
absl::StatusOr<std::vector<MachineModel>> AllMachineModels();
// A model file as calibrate writes it, in ns and KiB. `sources` maps a field ("caches.l1.latency") to where
// its value is from; a field without an entry is "assumed".
struct FieldSource {
  std::string field;
  std::string source;
};
std::string MachineModelJson(const MachineModel& model, const std::vector<FieldSource>& sources);

}  // namespace memsim

#endif  // MEMSIM_MACHINE_MACHINE_MODEL_H_
