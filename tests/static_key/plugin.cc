// A library that is loaded and unloaded: sites of a key of its own, and of one of the program's.
#include "memsim/static_key/static_key.h"

DECLARE_STATIC_KEY_FALSE(program_key);
DEFINE_STATIC_KEY_FALSE(plugin_key);

extern "C" int plugin_sites() {
  int taken = 0;
  if (static_branch_unlikely(&program_key)) taken += 1;
  if (static_branch_unlikely(&plugin_key)) taken += 2;
  return taken;
}

extern "C" bool plugin_flip(bool on) {
  return (on ? static_branch_enable(&plugin_key) : static_branch_disable(&plugin_key)).ok();
}
