// Does patching work here? Only executing patched code tells: emulators and valgrind let us write and go on
// running what they translated before.
#include <signal.h>

#include "lib/static_key/registry.h"
#include "lib/static_key/transaction.h"

namespace memsim::static_key::internal {

namespace {

DEFINE_STATIC_KEY_FALSE(probe_key);

__attribute__((noinline)) bool Probe() { return static_branch_unlikely(&probe_key); }

constexpr int kCalls = 200;  // enough for a translator to have made up its mind

bool AlwaysSays(bool answer) {
  bool same = true;
  for (int i = 0; i < kCalls; ++i) same &= Probe() == answer;
  return same;
}

const Record* ProbeRecord() {
  for (const Record* r = __start_memsim_static_key_sites; r != __stop_memsim_static_key_sites; ++r) {
    if (*At<const Key*>(r->anchor) == &probe_key.key) return r;
  }
  return nullptr;
}

// SIGTRAP reaches this thread while it lives.
class SigtrapOpen {
 public:
  SigtrapOpen() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    pthread_sigmask(SIG_UNBLOCK, &set, &before_);
  }
  ~SigtrapOpen() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SigtrapOpen(const SigtrapOpen&) = delete;
  SigtrapOpen& operator=(const SigtrapOpen&) = delete;

 private:
  sigset_t before_;
};

// The key always says the opposite of the code, so that the answer can only come from the code.
std::string FlipProbe(Text& text, const Record& record) {
  const uintptr_t at = AddressAt(record.site);
  const Code in_file = Jump(at, AddressAt(record.test));
  Code now = in_file;
  Transaction transaction(text);
  const auto change = [&](Code to) {
    std::vector<Change> one = {{at, now, to, false}};
    const Outcome outcome = transaction.Run(one, [](bool) {}, [](const Stretch&) { return false; });
    if (outcome.error.empty()) now = to;
    return outcome.error;
  };
  std::string error;
  if (!AlwaysSays(false)) return "the probe does not follow its key";
  for (const bool on : {true, false, true}) {
    probe_key.key.enabled.store(on ? 0 : 1);
    error = change(BranchCode(at, AddressAt(record.jump), /*likely=*/false, on));
    if (error.empty() && !AlwaysSays(on)) {
      error = "patched code is not executed (valgrind without --smc-check=all, or an emulator)";
    }
    if (!error.empty()) break;
  }
  probe_key.key.enabled.store(0);
  const std::string undone = change(in_file);
  return error.empty() ? undone : error;
}

// A breakpoint at the probe. Expect the handler to follow the key.
std::string TrapAtProbe(Text& text, const Record& record) {
  const uintptr_t at = AddressAt(record.site);
  const Code in_file = CodeAt(at);
  auto table = std::make_unique<TrapTable>();
  table->push_back({at, AddressAt(record.jump), &probe_key.key, nullptr, false});
  SetTrapTable(std::move(table));
  const long before = TrapsTaken();
  TextError error = text.Write(at, kBreakpoint, kHeadBytes, /*undo=*/false);
  if (error.ok()) error = text.Barrier(/*undo=*/false);
  bool followed = true;
  if (error.ok()) {
    for (const int enabled : {1, 0}) {
      probe_key.key.enabled.store(enabled);
      followed &= Probe() == (enabled != 0);
    }
  }
  const bool trapped = TrapsTaken() == before + 2;
  const TextError undone = text.Write(at, in_file.bytes, kHeadBytes, /*undo=*/false);
  const TextError seen = text.Barrier(/*undo=*/false);
  SetTrapTable(nullptr);
  for (const TextError& e : {error, undone, seen}) {
    if (!e.ok()) return e.Text();
  }
  return followed && trapped ? "" : "a breakpoint does not reach the SIGTRAP handler";
}

}  // namespace

std::string SelfTest(Text& text) {
  const Record* record = ProbeRecord();
  if (record == nullptr) return "the probe has no record (the linker dropped it)";
  const SigtrapOpen open;
  if (!InstallTrapHandler()) return "sigaction(SIGTRAP) failed";
  std::string error = FlipProbe(text, *record);
  if (error.empty()) error = TrapAtProbe(text, *record);
  if (!error.empty()) RemoveTrapHandler();
  return error;
}

}  // namespace memsim::static_key::internal
