#include "lib/static_key/transaction.h"

#include <cstddef>
#include <cstdio>
#include <cstring>

namespace memsim::static_key::internal {

namespace {

constexpr uintptr_t kWindow = 1 << 20;
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

void Transaction::MakeWindows(const std::vector<Change*>& sites) {
  windows_.clear();
  size_t total = 0;
  const auto size = [&](const Window& w) { return sites[w.end - 1]->at + kSiteBytes - sites[w.first]->at; };
  for (size_t first = 0; first < sites.size();) {
    size_t end = first + 1;
    while (end < sites.size() && sites[end]->at - sites[end - 1]->at < kGap &&
           sites[end]->at + kSiteBytes - sites[first]->at <= kWindow) {
      ++end;
    }
    total += size(windows_.emplace_back(Window{first, end, nullptr}));
    first = end;
  }
  if (bytes_.size() < total) bytes_.resize(total);
  uint8_t* bytes = bytes_.data();
  for (Window& window : windows_) {
    window.bytes = bytes;
    std::memcpy(bytes, reinterpret_cast<const void*>(sites[window.first]->at), size(window));
    bytes += size(window);
  }
}

TextError Transaction::WritePart(const std::vector<Change*>& sites, Part part, Code Change::*code,
                                 bool undo) {
  for (const Window& window : windows_) {
    const uintptr_t begin = sites[window.first]->at;
    for (size_t i = window.first; i < window.end; ++i) {
      uint8_t* site = window.bytes + (sites[i]->at - begin);
      const uint8_t* bytes = (sites[i]->*code).bytes;
      switch (part) {
        case Part::kTrap: std::memcpy(site, kBreakpoint, kHeadBytes); break;
        case Part::kTail:
          std::memcpy(site + kHeadBytes, bytes + kHeadBytes, kSiteBytes - kHeadBytes);
          break;
        case Part::kHead: std::memcpy(site, bytes, kHeadBytes); break;
      }
    }
    const size_t size = sites[window.end - 1]->at + kSiteBytes - begin;
    const TextError error = text_.Write(begin, window.bytes, size, undo);
    if (!error.ok()) return error;
  }
  return {};
}

TextError Transaction::Replace(const std::vector<Change*>& sites, Code Change::*code, bool undo) {
  MakeWindows(sites);
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
  all_.clear();
  for (Change& change : changes) all_.push_back(&change);
  const TextError error = Replace(all_, &Change::to, /*undo=*/false);
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
