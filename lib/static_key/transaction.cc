#include "lib/static_key/transaction.h"

#include <cstdio>
#include <cstring>

namespace memsim::static_key::internal {

namespace {

constexpr uintptr_t kWindow = 64 << 10;
constexpr uintptr_t kGap = 4096;

std::string Hex(const void* bytes, size_t n) {
  std::string text;
  for (size_t i = 0; i < n; ++i) {
    char two[4];
    std::snprintf(two, sizeof(two), "%s%02x", i == 0 ? "" : " ",
                  static_cast<const uint8_t*>(bytes)[i]);
    text += two;
  }
  return text;
}

// One past the last site of the window that begins with sites[first].
size_t WindowEnd(const std::vector<Change*>& sites, size_t first) {
  size_t end = first + 1;
  while (end < sites.size() && sites[end]->at - sites[end - 1]->at < kGap &&
         sites[end]->at + kSiteBytes - sites[first]->at <= kWindow) {
    ++end;
  }
  return end;
}

}  // namespace

std::string Transaction::Verify(const std::vector<Change>& changes) const {
  for (const Change& change : changes) {
    const Code code = CodeAt(change.at);
    if (change.stuck ? IsBreakpoint(code) : code == change.from) continue;
    char at[32];
    std::snprintf(at, sizeof(at), "0x%lx", static_cast<unsigned long>(change.at));
    return std::string("the code at ") + at + " is " + Hex(code.bytes, kSiteBytes) + ", expected " +
           (change.stuck ? "a breakpoint" : Hex(change.from.bytes, kSiteBytes)) +
           ": somebody else changed it";
  }
  return {};
}

TextError Transaction::WritePart(const std::vector<Change*>& sites, Part part, Code Change::*code,
                                 bool undo) {
  for (size_t first = 0; first < sites.size();) {
    const size_t end = WindowEnd(sites, first);
    const uintptr_t begin = sites[first]->at;
    const size_t size = sites[end - 1]->at + kSiteBytes - begin;
    window_.resize(size);
    std::memcpy(window_.data(), reinterpret_cast<const void*>(begin), size);
    for (size_t i = first; i < end; ++i) {
      uint8_t* site = window_.data() + (sites[i]->at - begin);
      const uint8_t* bytes = (sites[i]->*code).bytes;
      switch (part) {
        case Part::kTrap: std::memcpy(site, kBreakpoint, kHeadBytes); break;
        case Part::kTail: std::memcpy(site + kHeadBytes, bytes + kHeadBytes, kSiteBytes - kHeadBytes); break;
        case Part::kHead: std::memcpy(site, bytes, kHeadBytes); break;
      }
    }
    const TextError error = text_.Write(begin, window_.data(), size, undo);
    if (!error.ok()) return error;
    first = end;
  }
  return {};
}

TextError Transaction::Replace(const std::vector<Change*>& sites, Code Change::*code, bool undo) {
  TextError error = WritePart(sites, Part::kTrap, code, undo);
  if (error.ok()) error = text_.Barrier(undo);
  if (kSiteBytes > kHeadBytes) {
    if (error.ok()) error = WritePart(sites, Part::kTail, code, undo);
    if (error.ok()) error = text_.Barrier(undo);
  }
  if (error.ok()) error = WritePart(sites, Part::kHead, code, undo);
  if (error.ok()) error = text_.Barrier(undo);
  return error;
}

void Transaction::Undo(std::vector<Change>& changes, Outcome* outcome) {
  std::vector<Change*> dirty;
  for (Change& change : changes) {
    if (change.stuck || !(CodeAt(change.at) == change.from)) dirty.push_back(&change);
  }
  const TextError error = Replace(dirty, &Change::from, /*undo=*/true);
  for (Change* change : dirty) {
    const Code code = CodeAt(change->at);
    change->stuck = IsBreakpoint(code);
    if (change->stuck || code == change->from) continue;
    // Its head is the new one, and writing is refused.
    if (!text_.Replace(change->at, change->from.bytes, kSiteBytes).ok()) ++outcome->lost;
  }
  if (!error.ok()) outcome->error += "; the undo was refused, too (" + error.Text() + ")";
}

Outcome Transaction::Run(std::vector<Change>& changes, const std::function<void(bool)>& publish) {
  Outcome outcome;
  outcome.error = Verify(changes);
  if (!outcome.error.empty()) return outcome;
  publish(true);
  std::vector<Change*> all;
  for (Change& change : changes) all.push_back(&change);
  const TextError error = Replace(all, &Change::to, /*undo=*/false);
  if (error.ok()) {
    for (Change& change : changes) change.stuck = false;
    return outcome;
  }
  outcome.error = error.Text();
  publish(false);
  Undo(changes, &outcome);
  return outcome;
}

}  // namespace memsim::static_key::internal
