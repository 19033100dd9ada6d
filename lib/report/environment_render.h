// The notes of an environment as text.
#ifndef MEMSIM_LIB_REPORT_ENVIRONMENT_RENDER_H_
#define MEMSIM_LIB_REPORT_ENVIRONMENT_RENDER_H_

#include <string>

#include "memsim/measure/environment.h"

namespace memsim {

enum class WhichNotes { kAll, kHarming };

// "load            0.5; others used 0.02 of 2 CPUs: caches they cool count, ...", a line each.
std::string NotesText(const Environment& environment, WhichNotes which);

}  // namespace memsim

#endif  // MEMSIM_LIB_REPORT_ENVIRONMENT_RENDER_H_
