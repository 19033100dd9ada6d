#include "lib/static_key/transaction.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace memsim::static_key::internal {

namespace {

constexpr uintptr_t kWindow = 1 << 20;
constexpr uintptr_t kGap = 4096;
// From here on moving pages away costs less than writing each three times.
constexpr size_t kManyPages = 256;
constexpr size_t kPagesInStretch = 16;

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

bool GivenUp(const Outcome& outcome, uintptr_t at) {
  return std::any_of(outcome.given_up.begin(), outcome.given_up.end(),
                     [&](const Stretch& s) { return s.begin <= at && at < s.end; });
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
    if (GivenUp(*outcome, change.at)) continue;
    if (change.stuck || !(CodeAt(change.at) == change.from)) dirty.push_back(&change);
  }
  if (dirty.empty()) return;
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

bool Transaction::ManyPages(const std::vector<Change>& changes,
                            const std::function<bool(const Stretch&)>& may_move) {
  stretches_.clear();
  if (!kMayMove || text_.way() != TextWay::kProcMem) return false;
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  size_t pages = 0;
  for (const Change& change : changes) {
    if (change.stuck) return false;
    const uintptr_t begin = change.at & ~(page - 1);
    const uintptr_t end = (change.at + kSiteBytes + page - 1) & ~(page - 1);
    if (stretches_.empty() || begin > stretches_.back().end) stretches_.push_back({begin, begin, 0});
    pages += (end - stretches_.back().end) / page;
    stretches_.back().end = end;
  }
  return pages >= kManyPages && pages >= kPagesInStretch * stretches_.size() &&
         std::all_of(stretches_.begin(), stretches_.end(), may_move);
}

bool Transaction::StoreAway(const std::vector<Change>& changes, Code Change::*code) {
  auto change = changes.begin();
  for (const Stretch& stretch : stretches_) {
    if (stretch.place != 0 && !text_.SetWritable(stretch.place, stretch.size(), true).ok()) return false;
    for (; change != changes.end() && change->at < stretch.end; ++change) {
      if (stretch.place == 0) continue;
      void* site = reinterpret_cast<void*>(change->at - stretch.begin + stretch.place);
      std::memcpy(site, ((*change).*code).bytes, kSiteBytes);
    }
    if (stretch.place != 0 && !text_.SetWritable(stretch.place, stretch.size(), false).ok()) return false;
  }
  return true;
}

bool Transaction::MoveBack() {
  for (Stretch& stretch : stretches_) {
    if (stretch.place == 0) continue;
    if (!text_.MoveBack(stretch.place, stretch.begin, stretch.size()).ok()) return false;
    stretch.place = 0;
  }
  return true;
}

bool Transaction::Exchange(std::vector<Change>& changes, TextError* barrier) {
  for (Stretch& stretch : stretches_) {
    if (!text_.MoveAway(stretch.begin, stretch.size(), &stretch.place).ok()) return false;
  }
  *barrier = text_.Barrier(false);
  if (!barrier->ok()) return true;
  if (!StoreAway(changes, &Change::to)) return false;
  // Whoever executes the new bytes at their old place has executed a serialising instruction since they
  // were written at another.
  *barrier = text_.Barrier(false);
  if (!barrier->ok()) return true;
  if (!MoveBack()) return false;
  *barrier = text_.Barrier(false);
  return true;
}

void Transaction::UndoExchange(const std::vector<Change>& changes, Outcome* outcome) {
  const auto away = [](const Stretch& stretch) { return stretch.place != 0; };
  if (std::none_of(stretches_.begin(), stretches_.end(), away)) return;
  if (StoreAway(changes, &Change::from) && MoveBack()) return;
  for (Stretch& stretch : stretches_) {
    if (!away(stretch)) continue;
    text_.Drop(stretch.place, stretch.size());
    outcome->given_up.push_back(stretch);
    stretch.place = 0;
  }
}

Outcome Transaction::Run(std::vector<Change>& changes, const std::function<void(bool)>& publish,
                         const std::function<bool(const Stretch&)>& may_move) {
  Outcome outcome;
  outcome.error = Verify(changes);
  if (!outcome.error.empty()) return outcome;
  publish(true);
  TextError error;
  bool settled = false;
  if (!refused_ && ManyPages(changes, may_move)) {
    settled = Exchange(changes, &error);
    if (!settled) {
      UndoExchange(changes, &outcome);
      refused_ = !outcome.given_up.empty();
    }
  }
  if (!settled) {
    all_.clear();
    for (Change& change : changes) all_.push_back(&change);
    error = Replace(all_, &Change::to, /*undo=*/false);
  }
  if (error.ok()) {
    for (Change& change : changes) change.stuck = false;
    return outcome;
  }
  outcome.error = error.Text();
  publish(false);
  if (settled) UndoExchange(changes, &outcome);
  Undo(changes, &outcome);
  return outcome;
}

}  // namespace memsim::static_key::internal
