// One case at a time: -DCASE_<NAME> switches a line on that must not compile.
#include "memsim/static_key/static_call.h"
#include "memsim/static_key/static_key.h"

DEFINE_STATIC_KEY_FALSE(key);
DEFINE_STATIC_KEY_ARRAY_FALSE(keys, 3);
int Answer(int x) { return x; }
DEFINE_STATIC_CALL(hook, Answer);

int Control(memsim::static_key::static_key_false* variable) {
  static DEFINE_STATIC_KEY_TRUE(local);
  int taken = static_branch_unlikely(&key) + static_branch_likely(&local) + static_call(hook)(1);
  if (static_branch_unlikely_at(keys, 2)) ++taken;
#if defined(CASE_KEY_NOT_CONSTANT)  // the kernel's asm fails in the assembler
  if (static_branch_unlikely(variable)) ++taken;
#elif defined(CASE_KEY_AUTOMATIC)  // it would be gone while its sites are still there
  DEFINE_STATIC_KEY_FALSE(automatic);
#elif defined(CASE_KEY_THREAD_LOCAL)
  static thread_local DEFINE_STATIC_KEY_FALSE(one_each);
  if (static_branch_unlikely(&one_each)) ++taken;
#elif defined(CASE_KEY_WRONG_TYPE)
  static int number;
  if (static_branch_unlikely(&number)) ++taken;
#elif defined(CASE_INDEX_BEYOND)
  if (static_branch_unlikely_at(keys, 3)) ++taken;
#elif defined(CASE_CALL_WRONG_TYPE)
  static_cast<void>(static_call_update(hook, static_cast<int (*)(long)>(nullptr)).ok());
#endif
  static_cast<void>(variable);
  return taken;
}
