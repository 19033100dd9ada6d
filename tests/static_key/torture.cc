// Threads run through a thousand sites while a key is flipped.
//
// Usage: torture FLIPS [broken [LIBRARY]] | torture FLIPS sound [LIBRARY]
// A reader notes the sequence word, runs sites, and notes the word again. The same word, with no flip under
// way, means that the sites ran after the flip had returned and before the next began: all must have taken
// the new side. Everything else is counted, not judged.
// Exit status: 0 all right; 1 a site took the wrong side, or a flip failed; 3 inconclusive: too few decided
// samples, no trap, or a state that nobody saw.
// broken: instead of the protocol a plain 5-byte write, to sites that cross a cache line after their first
// byte. It is expected to crash; 0 only says that it did not.
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "lib/static_key/text.h"

#if defined(TORTURE_LIBRARY)
#include "tests/static_key/many_sites.h"
extern "C" void torture_table(many_sites::Function* table) {
  const auto all = many_sites::Table(std::make_integer_sequence<int, many_sites::kFunctions>());
  for (size_t i = 0; i < all.size(); ++i) table[i] = all[i];
}
#else
#include "tests/static_key/many_sites.h"

#if defined(TORTURE_PROGRAM)
DEFINE_STATIC_KEY_FALSE(torture_key);
#if defined(TORTURE_LINKED)
extern "C" void torture_table(many_sites::Function* table);
#endif
#endif

namespace {

namespace sk = memsim::static_key;
constexpr int kReaders = 4;
#if defined(__x86_64__)
constexpr long kBarriers = 3;  // however many sites
#else
constexpr long kBarriers = 2;
#endif

std::vector<many_sites::Function> Functions(const char* library) {
  std::vector<many_sites::Function> functions(many_sites::kFunctions);
#if defined(TORTURE_PROGRAM) && !defined(TORTURE_LINKED)
  void* handle = dlopen(library, RTLD_NOW);
  if (handle == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  reinterpret_cast<void (*)(many_sites::Function*)>(dlsym(handle, "torture_table"))(functions.data());
#elif defined(TORTURE_PROGRAM)
  static_cast<void>(library);
  torture_table(functions.data());
#else
  static_cast<void>(library);
  const auto all = many_sites::Table(std::make_integer_sequence<int, many_sites::kFunctions>());
  functions.assign(all.begin(), all.end());
#endif
  return functions;
}

// (number of the flip) * 4 + (state) * 2 + (a flip is under way).
std::atomic<uint64_t> sequence{0};
std::atomic<bool> stop{false};

struct Seen {
  long decided[2] = {0, 0};
  long undecided = 0;
  long wrong = 0;
};

void Read(const std::vector<many_sites::Function>& functions, unsigned seed, Seen* seen) {
  for (uint64_t i = seed * 977; !stop.load(std::memory_order_relaxed); ++i) {
    const uint64_t before = sequence.load(std::memory_order_acquire);
    const int taken = functions[i % functions.size()]();
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const uint64_t after = sequence.load(std::memory_order_relaxed);
    if (before != after || (before & 1) != 0) {
      ++seen->undecided;
      continue;
    }
    const bool on = (before & 2) != 0;
    ++seen->decided[on];
    if (taken != (on ? many_sites::kSitesPerFunction : 0)) ++seen->wrong;
  }
}

#if defined(__x86_64__) && !defined(TORTURE_PROGRAM)
// What a program does that does not know the protocol.
void FlipBroken(long flips) {
  namespace in = sk::internal;
  const int fd = open("/proc/self/mem", O_RDWR);
  struct Place {
    uintptr_t at;
    uint8_t jump[5];
  };
  std::vector<Place> places;
  for (const in::Record* r = in::__start_memsim_static_key_sites; r != in::__stop_memsim_static_key_sites;
       ++r) {
    const auto address = [](const int32_t& d) { return reinterpret_cast<uintptr_t>(&d) + d; };
    const uintptr_t at = address(r->site);
    if (at % 64 != 63) continue;
    Place place{at, {0xe9}};
    const auto distance = static_cast<int32_t>(address(r->jump) - (at + 5));
    std::memcpy(place.jump + 1, &distance, 4);
    places.push_back(place);
  }
  const uint8_t nop[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
  for (long i = 0; i < flips; ++i) {
    for (const Place& place : places) {
      const uint8_t* bytes = i % 2 == 0 ? place.jump : nop;
      if (pwrite(fd, bytes, 5, static_cast<off_t>(place.at)) != 5) std::exit(1);
    }
  }
  std::printf("plain writes to %zu sites that cross a line: no crash\n", places.size());
}
#endif

// Lets readers run in the middle of a flip now and then, also where every CPU is taken.
int YieldAtBarriers(sk::internal::TextOp op) {
  static int barriers = 0;
  if (op == sk::internal::TextOp::kBarrier && ++barriers % 16 == 0) sched_yield();
  return 0;
}

// An even number of flips, so that the key ends where it was.
bool Flip(long flips) {
  for (long i = 1; i <= flips; ++i) {
    const bool on = i % 2 != 0;
    const auto number = static_cast<uint64_t>(i) * 4;
    sequence.store(number | 1);
    const sk::Result result =
        on ? sk::static_branch_enable(&torture_key) : sk::static_branch_disable(&torture_key);
    if (!result.ok()) {
      std::fprintf(stderr, "flip %ld: %s\n", i, result.message().c_str());
      return false;
    }
    sequence.store(number | (on ? 2 : 0));
    // Gives readers a time without a flip.
    for (int pause = 0; pause < 200; ++pause) asm volatile("");
    if (i % 17 == 0) usleep(200);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const long flips = (argc > 1 ? std::atol(argv[1]) : 1000) / 2 * 2;
  const bool broken = argc > 2 && std::strcmp(argv[2], "broken") == 0;
  const auto functions = Functions(argc > 3 ? argv[3] : nullptr);
  Seen seen[kReaders];
  std::vector<std::thread> readers;
  for (unsigned r = 0; r < kReaders; ++r) {
    readers.emplace_back([&, r] { Read(functions, r, &seen[r]); });
  }
  bool flipped = true;
  const sk::Counters before = sk::counters();
  if (broken) {
#if defined(__x86_64__) && !defined(TORTURE_PROGRAM)
    FlipBroken(flips);
#endif
  } else {
    sk::internal::SetTextFault(&YieldAtBarriers);
    flipped = Flip(flips);
    // A run without a trap has not tested what it is for: go on for a while.
    for (int more = 0; flipped && more < 20 && sk::counters().traps == before.traps; ++more) {
      flipped = Flip(flips);
    }
  }
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
  if (broken) return 0;

  const sk::Counters after = sk::counters();
  Seen all;
  for (const Seen& one : seen) {
    for (const int state : {0, 1}) all.decided[state] += one.decided[state];
    all.undecided += one.undecided;
    all.wrong += one.wrong;
  }
  const long barriers = after.barriers - before.barriers;
  const long traps = after.traps - before.traps;
  std::printf("%s\n%ld flips of %ld armed sites, %ld barriers, %ld traps taken\n",
              sk::mechanism().text.c_str(), after.flips - before.flips, after.armed, barriers, traps);
  std::printf("decided samples: %ld off, %ld on; undecided: %ld; wrong: %ld\n", all.decided[0],
              all.decided[1], all.undecided, all.wrong);
  if (!flipped || all.wrong != 0 || after.stuck != 0) return 1;
  // Every site has a record (one more is the library's probe), and every record a site.
  constexpr long kSites = many_sites::kFunctions * many_sites::kSitesPerFunction;
  if (after.sites < kSites + 1 || after.rejected != 0) {
    std::printf("%ld sites, at least %ld expected; %ld records without a site\n", after.sites, kSites + 1,
                after.rejected);
    return 1;
  }
  if (sk::mechanism().patched && after.armed != after.sites) return 1;
  if (sk::mechanism().patched && barriers != kBarriers * (after.flips - before.flips)) return 1;
  if (all.decided[0] < 100 || all.decided[1] < 100 || (sk::mechanism().patched && traps == 0)) {
    std::printf("inconclusive\n");
    return 3;
  }
  return 0;
}
#endif
