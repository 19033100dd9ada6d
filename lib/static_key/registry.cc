#include "lib/static_key/registry.h"

#include <pthread.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <functional>
#include <memory>

#include "lib/static_key/file_text.h"

namespace memsim::static_key::internal {

namespace {

// What the file holds for a static call: JMP *slot(%rip), whose last byte is never touched.
Code IndirectJump(uintptr_t at, const CallKey* call) {
  Code code{};
#if defined(__x86_64__)
  const auto distance = static_cast<int32_t>(reinterpret_cast<uintptr_t>(call) - (at + 6));
  code.bytes[0] = 0xff;
  code.bytes[1] = 0x25;
  std::memcpy(code.bytes + 2, &distance, 3);
#else
  static_cast<void>(at);
  static_cast<void>(call);
#endif
  return code;
}

Code CodeInFile(const Site& site) {
  return site.call != nullptr ? IndirectJump(site.at, site.call) : Jump(site.at, site.test);
}

Code CallCode(const Site& site, uintptr_t target) {
  return CanJump(site.at, target) ? Jump(site.at, target) : IndirectJump(site.at, site.call);
}

// What an armed site holds now.
Code ArmedCode(const Site& site) {
  if (site.call != nullptr) return CallCode(site, site.call->target.load());
  return BranchCode(site.at, site.jump, site.likely, site.key->enabled.load() > 0);
}

Site FromRecord(const Record& record) {
  Site site = {};
  site.at = AddressAt(record.site);
  if (record.likely == kCallRecord) {
    site.call = const_cast<CallKey*>(*At<const CallKey*>(record.anchor));
    return site;
  }
  site.jump = AddressAt(record.jump);
  site.test = AddressAt(record.test);
  site.likely = record.likely != 0;
  site.key = const_cast<Key*>(*At<const Key*>(record.anchor));
  return site;
}

}  // namespace

// Never destroyed: sites outlive every destructor.
Registry& Registry::Get() {
  static Registry& registry = *new Registry;
  return registry;
}

Registry::Registry() { pthread_atfork(&BeforeFork, &InParent, &InChild); }

// fork() waits for a flip to end, so that no child finds its sites at breakpoints.
void Registry::BeforeFork() { Get().mutex_.lock(); }
void Registry::InParent() { Get().mutex_.unlock(); }
void Registry::InChild() {
  ForgetHandlersOfOtherThreads();
  Get().mutex_.unlock();
}

void Registry::Start() {
  if (started_) return;
  started_ = true;
  const char* wish = std::getenv("MEMSIM_STATIC_KEY");
  if (wish != nullptr && std::string(wish) == "atomic") {
    mechanism_.text = "relaxed atomic: MEMSIM_STATIC_KEY=atomic was asked for";
    return;
  }
  if (!kKnownArchitecture) {
    mechanism_.text = "relaxed atomic: this architecture is not known";
    return;
  }
  std::string why;
  for (const TextWay way : {TextWay::kProcMem, TextWay::kReplace}) {
    TextError error = text_.Open(way);
    const std::string obstacle = error.ok() ? SelfTest(text_) : error.Text();
    if (obstacle.empty()) {
      mechanism_.patched = true;
      if (way == TextWay::kReplace) ExemptThreadsOfTheEmulator();
      mechanism_.text = std::string("patched: ") + kForms + ", written through " +
                        (way == TextWay::kProcMem ? "/proc/self/mem" : "private copies of pages");
      if (!why.empty()) mechanism_.text += " (" + why + ")";
      return;
    }
    text_.Close();
    why += (why.empty() ? "" : "; ") + obstacle;
  }
  mechanism_.text = "relaxed atomic: " + why;
}

void Registry::Reindex() {
  by_key_.clear();
  movable_.clear();
  auto table = std::make_unique<TrapTable>();
  for (ImageSites& image : images_) {
    for (Site& site : image.sites) {
      const void* owner = site.call != nullptr ? static_cast<const void*>(site.call) : site.key;
      by_key_[owner].push_back(&site);
      table->push_back({site.at, site.jump, site.key, site.call != nullptr ? &site.call->target : nullptr,
                        site.likely});
    }
  }
  for (auto& [owner, sites] : by_key_) {
    std::sort(sites.begin(), sites.end(), [](const Site* a, const Site* b) { return a->at < b->at; });
  }
  std::sort(table->begin(), table->end(),
            [](const TrapEntry& a, const TrapEntry& b) { return a.address < b.address; });
  SetTrapTable(std::move(table));
}

void Registry::Add(const Record* begin, const Record* end) {
  if (begin == end) return;
  const std::lock_guard<std::mutex> hold(mutex_);
  for (ImageSites& image : images_) {
    if (image.begin != begin) continue;
    ++image.users;
    return;
  }
  Start();
  ImageSites& image = images_.emplace_back(ImageSites{begin, 1, {}});
  for (const Record* record = begin; record != end; ++record) {
    const Site site = FromRecord(*record);
    if (CodeAt(site.at) == CodeInFile(site)) {
      image.sites.push_back(site);
    } else {
      ++rejected_;
    }
  }
  Reindex();
  if (mechanism_.patched) Arm(image.sites);
}

void Registry::Arm(std::list<Site>& sites) {
  std::vector<Site*> all;
  for (Site& site : sites) all.push_back(&site);
  std::sort(all.begin(), all.end(), [](const Site* a, const Site* b) { return a->at < b->at; });
  const Result result = Flip(
      all, [](bool) {},
      [](const Site& site, bool after) { return after ? ArmedCode(site) : CodeInFile(site); });
  static_cast<void>(result.ok());  // without it the sites go on testing the key
}

void Registry::Remove(const Record* begin) {
  if (begin == nullptr) return;
  const std::lock_guard<std::mutex> hold(mutex_);
  for (auto image = images_.begin(); image != images_.end(); ++image) {
    if (image->begin != begin || --image->users > 0) continue;
    images_.erase(image);
    Reindex();
    return;
  }
}

bool Registry::MayMove(const Stretch& stretch) {
  for (const Movable& known : movable_) {
    if (known.begin == stretch.begin && known.end == stretch.end) return known.may;
  }
  std::vector<uintptr_t> sites;
  bool may = true;
  for (const ImageSites& image : images_) {
    for (const Site& site : image.sites) {
      const uintptr_t end = site.at + kSiteBytes;
      if (end <= stretch.begin || site.at >= stretch.end) continue;
      may &= site.at >= stretch.begin && end <= stretch.end;  // no site half here, half in the file
      sites.push_back(site.at);
    }
  }
  may = may && SameAsFile(stretch.begin, stretch.end, sites);
  movable_.push_back({stretch.begin, stretch.end, may});
  return may;
}

void Registry::Disarm(const Stretch& stretch) {
  for (ImageSites& image : images_) {
    for (Site& site : image.sites) {
      if (site.at < stretch.begin || site.at >= stretch.end) continue;
      site.armed = false;
      site.stuck = false;
    }
  }
}

Result Registry::Flip(const std::vector<Site*>& sites, const std::function<void(bool)>& publish,
                      const std::function<Code(const Site&, bool after)>& code) {
  if (sites.empty()) {
    publish(true);
    return {};
  }
  const std::string obstacle = TrapObstacle();
  if (!obstacle.empty()) return Result::Error(obstacle);
  const TextError reopened = text_.Reopen();
  if (!reopened.ok()) return Result::Error(reopened.Text());
  changes_.clear();
  for (const Site* site : sites) {
    changes_.push_back({site->at, code(*site, false), code(*site, true), site->stuck});
  }
  ++flips_;
  const Outcome outcome =
      transaction_.Run(changes_, publish, [this](const Stretch& stretch) { return MayMove(stretch); });
  for (size_t i = 0; i < sites.size(); ++i) sites[i]->stuck = changes_[i].stuck;
  for (const Stretch& stretch : outcome.given_up) Disarm(stretch);
  if (outcome.error.empty()) {
    for (Site* site : sites) site->armed = true;
    return {};
  }
  std::string message = outcome.error;
  if (outcome.lost > 0) {
    message += "; " + std::to_string(outcome.lost) + " sites keep the new state: nothing could undo them";
  }
  return Result::Error(message);
}

std::vector<Site*> Registry::ArmedSites(const void* owner) const {
  std::vector<Site*> armed;
  const auto sites = by_key_.find(owner);
  if (sites == by_key_.end()) return armed;
  for (Site* site : sites->second) {
    if (site->armed) armed.push_back(site);
  }
  return armed;
}

Result Registry::Update(Key* key, const std::function<int(int count, std::string* error)>& next) {
  const std::lock_guard<std::mutex> hold(mutex_);
  const int before = key->enabled.load();
  std::string error;
  const int after = next(before, &error);
  if (!error.empty()) return Result::Error(error);
  if ((before > 0) == (after > 0)) {
    key->enabled.store(after);
    return {};
  }
  return Flip(
      ArmedSites(key), [&](bool forward) { key->enabled.store(forward ? after : before); },
      [&](const Site& site, bool changed) {
        return BranchCode(site.at, site.jump, site.likely, (changed ? after : before) > 0);
      });
}

Result Registry::Retarget(CallKey* call, uintptr_t target) {
  const std::lock_guard<std::mutex> hold(mutex_);
  const uintptr_t before = call->target.load();
  return Flip(
      ArmedSites(call), [&](bool forward) { call->target.store(forward ? target : before); },
      [&](const Site& site, bool changed) { return CallCode(site, changed ? target : before); });
}

const Mechanism& Registry::GetMechanism() {
  const std::lock_guard<std::mutex> hold(mutex_);
  Start();
  return mechanism_;
}

Counters Registry::GetCounters() {
  const std::lock_guard<std::mutex> hold(mutex_);
  Counters counters;
  counters.flips = flips_;
  counters.barriers = text_.barriers();
  counters.traps = TrapsTaken();
  counters.rejected = rejected_;
  for (const ImageSites& image : images_) {
    for (const Site& site : image.sites) {
      ++counters.sites;
      counters.armed += site.armed ? 1 : 0;
      counters.stuck += site.stuck ? 1 : 0;
    }
  }
  return counters;
}

void Register(const Record* begin, const Record* end) { Registry::Get().Add(begin, end); }
void Unregister(const Record* begin) { Registry::Get().Remove(begin); }

Result UpdateCall(CallKey* call, uintptr_t target) { return Registry::Get().Retarget(call, target); }

}  // namespace memsim::static_key::internal
