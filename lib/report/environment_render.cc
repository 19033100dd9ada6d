#include "lib/report/environment_render.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace memsim {

std::string NotesText(const Environment& environment, WhichNotes which) {
  constexpr size_t kNameColumns = 16;
  std::string text;
  for (const EnvironmentNote& note : environment.notes) {
    if (which == WhichNotes::kHarming && !note.harms) continue;
    std::string name = note.name;
    name.resize(std::max(kNameColumns, name.size() + 1), ' ');
    absl::StrAppend(&text, name, note.value, ": ", note.effect, "\n");
  }
  return text;
}

}  // namespace memsim
