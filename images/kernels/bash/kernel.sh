# One persistent shell that takes a request, evals it, gives the answer (the loop itself is in the guest's languages.py).
# Descriptor 3 (moved to 60) is the control socket.
# A snippet that ends the shell (`exit`, `set -e`, an interrupt) leaves its state in a file for the shell that follows.

exec 60<&3 3<&-
__sb_id= __sb_code= __sb_raw= __sb_files= __sb_trap= __sb_options= __sb_interrupted=
__sb_env=()
__sb_state="${TMPDIR:-/tmp}/.sandbar-state-$SANDBAR_CONTEXT"

# The next line of __sb_raw, unescaped, into the variable $1.
__sb_field() {
  builtin printf -v "$1" %b "${__sb_raw%%$'\n'*}"
  __sb_raw="${__sb_raw#*$'\n'}"
}

__sb_take() {
  # A snippet that said `continue` comes here without an answer.
  [[ -n $__sb_id ]] && { __sb_give 0 "$-"; } 2>/dev/null
  builtin local size stdin count name value
  IFS= builtin read -r -N 10 -u 60 size || builtin exit 0
  IFS= builtin read -r -N "$((10#$size))" -u 60 __sb_raw || builtin exit 0
  __sb_field __sb_id
  __sb_field __sb_files
  __sb_field stdin
  __sb_field count
  exec 1>"$__sb_files.out" 2>"$__sb_files.err" 0<"$stdin"
  __sb_env=()
  while ((count-- > 0)); do
    __sb_field name
    __sb_field value
    if [[ -v $name ]]; then __sb_env+=(set "$name" "${!name}"); else __sb_env+=(unset "$name" ''); fi
    builtin export "$name=$value"
  done
  __sb_field __sb_code
  # On the snippet's first line, so that line numbers in messages are its own.
  __sb_code="$__sb_options$__sb_code"
  __sb_raw= __sb_interrupted=
  builtin trap '{ __sb_exit "$?" "$-"; } 62>&2 2>/dev/null' EXIT
  builtin trap '{ __sb_interrupted=1; builtin exit 130; } 2>/dev/null' INT
}

# $1: exit status, $2: $- when the snippet ended.
__sb_give() {
  # An interrupt that comes too late must not end the shell.
  builtin trap '' INT
  __sb_settle "$2"
  builtin local status=ok
  (($1 == 0)) || status=error
  builtin printf '{"op":"done","id":"%s","status":"%s","exit_code":%d}\n' "$__sb_id" "$status" "$1" >&60
  __sb_id=
}

# Our own code runs without the options that a snippet set; they come back with the next one.
__sb_settle() {
  builtin set +euxvf
  builtin local flag i
  __sb_options=
  for flag in e u x v f; do
    [[ $1 == *$flag* ]] && __sb_options+="set -$flag; "
  done
  for ((i = 0; i < ${#__sb_env[@]}; i += 3)); do
    if [[ ${__sb_env[i]} == set ]]; then
      builtin export "${__sb_env[i + 1]}=${__sb_env[i + 2]}"
    else
      builtin unset "${__sb_env[i + 1]}"
    fi
  done
  __sb_env=()
}

# Runs when the shell ends, with everything still there; stderr is on 62.
__sb_exit() {
  builtin local code=$1 fd status=ok
  builtin trap - EXIT
  builtin trap '' INT
  __sb_settle "$2"
  if [[ -n $__sb_trap ]]; then
    builtin eval "$__sb_trap" 2>&62 62>&-
    __sb_trap=
  fi
  __sb_save >"$__sb_state"
  # `eval … 60>&-` hides the control socket from child processes; bash has put it aside under a number of its own.
  for fd in {10..59}; do
    if [[ -S /proc/$$/fd/$fd ]]; then
      builtin eval "exec 60>&$fd"
      builtin break
    fi
  done
  ((code == 0)) || status=error
  [[ -n $__sb_interrupted ]] && status=interrupted
  builtin printf '{"op":"done","id":"%s","status":"%s","exit_code":%d,"again":true}\n' "$__sb_id" "$status" "$code" >&60
}

__sb_save() {
  builtin local __sb_name
  for __sb_name in $(builtin compgen -v); do
    case $__sb_name in
      __sb_id | __sb_code | __sb_raw | __sb_files | __sb_env | __sb_state | __sb_interrupted | __sb_name) ;;
      BASH | BASH_* | BASHOPTS | BASHPID | SHELLOPTS | EUID | UID | PPID | SHLVL | FUNCNAME | PIPESTATUS | DIRSTACK | GROUPS | _) ;;
      RANDOM | SRANDOM | SECONDS | LINENO | EPOCHSECONDS | EPOCHREALTIME | COMP_* | IFS | OPTIND | fd | code | status) ;;
      *) builtin declare -p "$__sb_name" ;;
    esac
  done
  builtin declare -f
  builtin alias -p
  builtin shopt -p
  builtin set +o
  builtin printf 'IFS=%q\n' "$IFS"
  builtin umask -p
  builtin printf 'builtin cd -- %q\n' "$PWD"
}

# Our own EXIT trap keeps the state, so a snippet's handler is kept beside it and run by it.
trap() {
  if [[ $BASH_SUBSHELL == 0 && $# == 2 && ($2 == EXIT || $2 == 0) && $1 != -* ]]; then
    __sb_trap="$1"
  elif [[ $BASH_SUBSHELL == 0 && $# == 2 && ($2 == EXIT || $2 == 0) && $1 == - ]]; then
    __sb_trap=
  else
    builtin trap "$@"
  fi
}

builtin trap '' INT
# Otherwise bash would run the EXIT trap with the status of the last command: a success, as if the snippet had come to its end.
for __sb_trap in HUP ALRM TERM USR1 USR2; do
  builtin trap "{ builtin exit $((128 + $(builtin kill -l $__sb_trap))); } 2>/dev/null" "$__sb_trap"
done
__sb_trap=
if [[ -f $__sb_state ]]; then
  # At top level: in a function `declare` would make everything local.
  . "$__sb_state" 2>/dev/null
  command rm -f "$__sb_state"
fi
printf '{"op":"ready"}\n' >&60
