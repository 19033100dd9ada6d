#include "memsim/machine/native.h"

#include <time.h>

namespace memsim::native {

namespace {
uint64_t ReadClock(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}
}  // namespace

uint64_t NowNs() { return ReadClock(CLOCK_MONOTONIC); }

uint64_t ThreadCpuNs() { return ReadClock(CLOCK_THREAD_CPUTIME_ID); }

void RunOn(CpuId cpu, DeferredWork work) {
  CpuHead& self = Head();
  Mailboxes& boxes = *self.mailboxes;
  boxes.Post(cpu, work);
  if (cpu == self.cpu) return;  // between this CPU's operations
  std::byte* area = self.area_of_cpu0 + static_cast<uint64_t>(cpu) * self.area_stride;
  boxes.TakeOver(cpu, [&] {
    const Binding as_owner(area);
    boxes.RunDue(cpu, NowNs());
  });
}

void After(uint64_t ns, DeferredWork work) {
  CpuHead& self = Head();
  self.mailboxes->Post(self.cpu, work, NowNs() + ns);
}

}  // namespace memsim::native
