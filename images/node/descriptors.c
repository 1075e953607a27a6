/* dup2 for JavaScript. Node has none, and without it the kernel could not give each execution pipes of its own on 1 and 2. */
#include <errno.h>
#include <node_api.h>
#include <unistd.h>

/* duplicate(from, to): 0, or the error's number. */
static napi_value duplicate(napi_env env, napi_callback_info info) {
  napi_value args[2], result;
  size_t count = 2;
  int32_t from = -1, to = -1;
  napi_get_cb_info(env, info, &count, args, NULL, NULL);
  napi_get_value_int32(env, args[0], &from);
  napi_get_value_int32(env, args[1], &to);
  int failed;
  do failed = dup2(from, to) < 0 ? errno : 0;
  while (failed == EINTR || failed == EBUSY);
  napi_create_int32(env, failed, &result);
  return result;
}

NAPI_MODULE_INIT() {
  napi_value function;
  napi_create_function(env, "duplicate", NAPI_AUTO_LENGTH, duplicate, NULL, &function);
  napi_set_named_property(env, exports, "duplicate", function);
  return exports;
}
