#include "memsim/measure/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/measure/symbols.h"
#include "memsim/machine/native.h"

namespace memsim {

namespace {

constexpr size_t kRingPages = 512;  // 2 MiB: two minutes of 1 kHz, six seconds of 20 kHz
constexpr size_t kSliceRingPages = 8;  // for many samplers at once, each read after milliseconds
constexpr size_t kPage = 4096;
constexpr absl::string_view kUserOnly = "perf task-clock, user only";

// Not a round number: a loop of a round length must not march in step with the samples.
uint64_t PeriodNs(int hz) { return 1000000000u / static_cast<uint64_t>(hz) - 9; }

}  // namespace

class Sampler::PerThread {
 public:
  virtual ~PerThread() = default;
  // Opened ones run. A stopped one goes on where it was in its period.
  virtual void Stop(std::vector<uint64_t>* addresses) = 0;
  virtual void Resume() = 0;
};

// One software task-clock event on the calling thread, with a ring buffer of instruction pointers.
class Sampler::Perf final : public PerThread {
 public:
  static std::unique_ptr<Perf> Open(int hz, bool user_only, size_t pages, std::string* why) {
    perf_event_attr attr = {};
    attr.size = sizeof(attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_TASK_CLOCK;
    attr.sample_period = PeriodNs(hz);
    attr.sample_type = PERF_SAMPLE_IP;
    attr.exclude_kernel = user_only ? 1 : 0;
    attr.exclude_hv = 1;
    attr.disabled = 1;
    const int fd = static_cast<int>(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
    if (fd < 0) {
      *why = absl::StrCat("perf_event_open: ", strerror(errno));
      return nullptr;
    }
    void* ring = MAP_FAILED;
    // Without privileges the ring must fit into the locked-memory limit.
    for (; pages >= 8 && ring == MAP_FAILED; pages /= 2) {
      ring = mmap(nullptr, (1 + pages) * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (ring != MAP_FAILED) break;
    }
    if (ring == MAP_FAILED) {
      *why = absl::StrCat("perf ring buffer: ", strerror(errno));
      close(fd);
      return nullptr;
    }
    std::unique_ptr<Perf> perf(new Perf(fd, ring, pages));
    perf->Resume();
    return perf;
  }
  ~Perf() override {
    munmap(ring_, (1 + pages_) * kPage);
    close(fd_);
  }

  void Stop(std::vector<uint64_t>* addresses) override {
    ioctl(fd_, PERF_EVENT_IOC_DISABLE, 0);
    auto* control = static_cast<perf_event_mmap_page*>(ring_);
    const uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
    uint64_t at = control->data_tail;
    while (at < head) {
      const uint64_t header = Word(at);
      perf_event_header record;
      memcpy(&record, &header, sizeof(record));
      if (record.type == PERF_RECORD_SAMPLE) addresses->push_back(Word(at + sizeof(record)));
      at += record.size;
    }
    __atomic_store_n(&control->data_tail, head, __ATOMIC_RELEASE);
  }
  void Resume() override { ioctl(fd_, PERF_EVENT_IOC_ENABLE, 0); }

 private:
  Perf(int fd, void* ring, size_t pages) : fd_(fd), ring_(ring), pages_(pages) {}
  // Records are multiples of 8 bytes, so a word never wraps.
  uint64_t Word(uint64_t at) const {
    uint64_t word;
    memcpy(&word, static_cast<char*>(ring_) + kPage + at % (pages_ * kPage), sizeof(word));
    return word;
  }

  int fd_;
  void* ring_;
  size_t pages_;
};

// A POSIX timer on the thread's CPU time whose signal handler notes the interrupted instruction.
class Sampler::Timer final : public PerThread {
 public:
  static std::unique_ptr<Timer> Open(int hz, std::string* why) {
    struct sigaction action = {};
    action.sa_sigaction = &OnSignal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    std::unique_ptr<Timer> timer(new Timer);
    // It stays installed: a late signal must not find the default action, which ends the program.
    if (sigaction(SIGPROF, &action, nullptr) != 0) {
      *why = absl::StrCat("sigaction: ", strerror(errno));
      return nullptr;
    }
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGPROF;
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer->timer_) != 0) {
      *why = absl::StrCat("timer_create: ", strerror(errno));
      return nullptr;
    }
    timer->made_ = true;
    timer->period_.it_interval.tv_nsec = timer->period_.it_value.tv_nsec = 1000000000 / hz;
    timer->Resume();
    return timer;
  }
  ~Timer() override {
    if (made_) timer_delete(timer_);
    if (current == this) current = nullptr;
  }

  void Stop(std::vector<uint64_t>* addresses) override {
    const itimerspec never = {};
    itimerspec left = {};
    timer_settime(timer_, 0, &never, &left);
    current = nullptr;
    // Nothing left: the sample of this period was on its way, too late.
    period_.it_value = left.it_value.tv_nsec > 0 ? left.it_value : period_.it_interval;
    const size_t n = used_.exchange(0);
    addresses->insert(addresses->end(), addresses_.begin(),
                      addresses_.begin() + static_cast<std::ptrdiff_t>(n));
  }
  void Resume() override {
    current = this;
    timer_settime(timer_, 0, &period_, nullptr);
  }

 private:
  Timer() : addresses_(kMost) {}
  static void OnSignal(int, siginfo_t*, void* context) {
    Timer* self = current;
    if (self == nullptr) return;
    const size_t at = self->used_.load(std::memory_order_relaxed);
    if (at == kMost) return;
#if defined(__x86_64__)
    self->addresses_[at] = static_cast<uint64_t>(
        static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    self->addresses_[at] = static_cast<ucontext_t*>(context)->uc_mcontext.pc;
#endif
    self->used_.store(at + 1, std::memory_order_relaxed);
  }

  static constexpr size_t kMost = 1 << 16;
  static inline constinit thread_local Timer* current = nullptr;

  timer_t timer_ = {};
  bool made_ = false;
  itimerspec period_ = {};  // what is left of it, first
  std::vector<uint64_t> addresses_;
  std::atomic<size_t> used_{0};
};

Sampler::Sampler(int hz, SamplerThreads threads) : hz_(hz), threads_(threads) {}
Sampler::~Sampler() = default;

std::unique_ptr<Sampler::PerThread> Sampler::Start() {
  std::string why;
  for (const bool user_only : {false, true}) {
    const size_t pages = threads_ == SamplerThreads::kCallers ? kSliceRingPages : kRingPages;
    if (auto perf = Perf::Open(hz_, user_only, pages, &why)) {
      mechanism_ = user_only ? std::string(kUserOnly) : "perf task-clock";
      return perf;
    }
  }
  why_ = why;
  if (auto timer = Timer::Open(hz_, &why)) {
    mechanism_ = "cpu-time timer";
    return timer;
  }
  why_ = absl::StrCat(why_, "; ", why);
  return nullptr;
}

void Sampler::OnCpuStart(CpuId cpu) {
  const std::lock_guard<std::mutex> hold(mutex_);
  const size_t at = static_cast<size_t>(cpu);
  if (running_.size() <= at) {
    running_.resize(at + 1);
    started_.resize(at + 1);
  }
  started_[at] = native::ThreadCpuNs();
  if (running_[at] != nullptr) running_[at]->Resume();
  else running_[at] = Start();
}

void Sampler::OnCpuEnd(CpuId cpu) {
  const std::lock_guard<std::mutex> hold(mutex_);
  std::unique_ptr<PerThread>& thread = running_[static_cast<size_t>(cpu)];
  cpu_ns_ += native::ThreadCpuNs() - started_[static_cast<size_t>(cpu)];
  if (thread != nullptr) thread->Stop(&addresses_);
  if (threads_ == SamplerThreads::kAny) thread.reset();
}

void Sampler::Clear() {
  addresses_.clear();
  cpu_ns_ = 0;
}

std::array<std::pair<absl::string_view, int64_t>, 5> SampleCounts::Outside() const {
  using Kind = Symbols::Kind;
  return {{{Symbols::KindName(Kind::kClearPage), clear_page},
           {Symbols::KindName(Kind::kRealFault), real_fault},
           {Symbols::KindName(Kind::kKernel), kernel},
           {Symbols::KindName(Kind::kDriver), driver},
           {Symbols::KindName(Kind::kOther), other}}};
}

SampleCounts Sampler::Symbolise() const {
  Symbols symbols;
  return Symbolise(symbols);
}

SampleCounts Sampler::Symbolise(Symbols& symbols) const {
  SampleCounts counts;
  for (const uint64_t address : addresses_) {
    ++counts.total;
    const Symbols::Place place = symbols.Find(address);
    switch (place.kind) {
      case Symbols::Kind::kFunction: ++counts.by_function[static_cast<size_t>(place.fn)]; break;
      case Symbols::Kind::kClearPage: ++counts.clear_page; break;
      case Symbols::Kind::kRealFault: ++counts.real_fault; break;
      case Symbols::Kind::kKernel: ++counts.kernel; break;
      case Symbols::Kind::kDriver: ++counts.driver; break;
      case Symbols::Kind::kOther:
        ++counts.other;
        ++counts.unknown[std::string(place.name)];
        break;
    }
  }
  if (mechanism_ == kUserOnly) {
    const int64_t all = static_cast<int64_t>(cpu_ns_ / PeriodNs(hz_));
    counts.kernel = std::max<int64_t>(0, all - counts.total);
    counts.total += counts.kernel;
  }
  return counts;
}

}  // namespace memsim
