# One persistent shell that takes a request, evals it, gives the answer (the loop itself is in the guest's languages.py).
# Descriptor 3 is the control socket; it moves to 40, where bash puts nothing of its own: redirections go up from 10, coprocesses down from 63.
# A snippet that ends the shell (`exit`, `set -e`, an interrupt) leaves its state in a file for the shell that follows.

exec 40<&3 3<&-
__sb_running= __sb_ahead= __sb_code= __sb_raw= __sb_files= __sb_trap= __sb_err= __sb_options= __sb_interrupted= __sb_status= __sb_flags= __sb_apart= __sb_asked= __sb_text= __sb_newline=$'\n'
__sb_env=()
__sb_state="${TMPDIR:-/tmp}/.sandbar-state-$SANDBAR_CONTEXT"

# The next line of __sb_raw, unescaped, into the variable $1.
__sb_field() {
  builtin printf -v "$1" %b "${__sb_raw%%$'\n'*}"
  __sb_raw="${__sb_raw#*$'\n'}"
}

__sb_take() {
  # A snippet that said `continue` comes here without an answer.
  [[ -n $__sb_running ]] && { __sb_give 0 "$-"; } 2>/dev/null
  builtin local size start stdin count name value
  until ((0)); do
    size=${__sb_ahead:0:10} start=${__sb_ahead:10}
    [[ -n $size ]] || IFS= builtin read -r -N 10 -u 40 size || builtin exit 0
    IFS= builtin read -r -N "$((10#$size - ${#start}))" -u 40 __sb_raw || builtin exit 0
    __sb_raw=$start$__sb_raw __sb_ahead=
    __sb_field __sb_files
    case $__sb_files in
      '?') __sb_complete ;;
      '>' | '<') __sb_carry; builtin return ;;
      *) builtin break ;;
    esac
  done
  __sb_running=1
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
  __sb_raw= __sb_interrupted= __sb_status= __sb_apart=
  if [[ $__sb_code =~ (^|[^[:alnum:]_-])set[[:space:]]+(-[[:alpha:]]*[nr]|-o[[:space:]]+(noexec|restricted)) ]]; then
    # No shell comes back from these. One apart tries it; what it leaves, or else what was before, goes to our successor.
    __sb_apart="$__sb_code"
    __sb_code='( builtin trap "__sb_save >\"$__sb_state\"" EXIT; builtin eval "$__sb_apart" ); builtin exit'
  elif [[ -n $__sb_err ]]; then
    # Or the handler would run once more, for our `eval`.
    __sb_code+=$'\n__sb_status=$?'
  fi
  builtin trap '{ __sb_exit "$?" "$-"; } 62>&2 2>/dev/null' EXIT
  builtin trap '{ __sb_interrupted=1; builtin exit 130; } 2>/dev/null' INT
}

# What `compgen` knows, into a file: without a process of its own, whose end might run a snippet's trap. An empty line, then which are folders.
__sb_complete() {
  builtin local ask kind word file
  __sb_field ask
  __sb_field kind
  __sb_field word
  __sb_field file
  {
    builtin compgen -A "$kind" -- "$word"
    builtin printf '\n'
    builtin compgen -A directory -- "$word"
  } >"$file" 2>/dev/null
  builtin printf '{"op":"answer","ask":%d,"result":{}}\n' "$ask" >&40
}

# $1: status, $2: exit status, $3: more. Only who shows the token ends the execution; it lies behind the request, read when the code is through.
__sb_done() {
  builtin local token
  IFS= builtin read -r -N 16 -u 40 token
  # A snippet has taken it, and ended its execution: this is the beginning of the next request.
  [[ $token == t* ]] || __sb_ahead=$token token=
  builtin printf '{"op":"done","token":"%s","status":"%s","exit_code":%d%s}\n' "$token" "$1" "$2" "$3" >&40
  __sb_running=
}

# The variables out of this shell ('>') or into it ('<'), by named pipes: one for the text, one on which the guest hears how that goes.
# Our loop evaluates what this leaves in __sb_code, at top level, where neither our variables nor our functions hide the snippets'.
__sb_carry() {
  __sb_field __sb_asked
  __sb_field __sb_data
  __sb_field __sb_report
  __sb_raw=
  if [[ $__sb_files == '>' ]]; then
    # In a process apart: a pipe that breaks must not end this shell.
    __sb_code='{
      __sb_jobs=$(builtin jobs -p)
      __sb_traps=$(builtin trap -p ERR RETURN DEBUG HUP QUIT USR1 USR2 PIPE ALRM TERM CHLD CONT TSTP TTIN TTOU URG WINCH)
      ( __sb_dump ) || builtin true
    } >/dev/null 2>&1'
  else
    __sb_code='{
      { builtin printf "{\"opened\":true}\n" >&61; IFS= builtin read -r -d "" __sb_text; } <"$__sb_data"
      if [[ $__sb_text == "# sandbar bash-declare/1$__sb_newline"* && $__sb_text == *"${__sb_newline}__sb_whole=1$__sb_newline" ]]; then
        builtin eval "$__sb_text" >/dev/null 2>&1 61>&-
        __sb_text=${__sb_text#*"$__sb_newline# "}
        builtin printf "{\"done\":%s}\n" "${__sb_text%%"$__sb_newline"*}" >&61
      else
        builtin printf "{\"failed\":\"it is not the whole state of a bash context\"}\n" >&61
      fi
    } 61>"$__sb_report"'
  fi
}

# As text that a new shell evaluates. What the shell was born with is the session's, not the snippets'.
__sb_dump() {
  builtin local __sb_ifs=$IFS __sb_name __sb_pair __sb_list= __sb_said __sb_set= __sb_unset= __sb_more=0 __sb_count=0
  builtin local -a __sb_names __sb_changed __sb_gone __sb_functions
  builtin local -A __sb_born
  while IFS= builtin read -r -d '' __sb_pair; do __sb_born["${__sb_pair%%=*}"]=${__sb_pair#*=}; done <"/proc/$$/environ"
  for __sb_name in {a..z} {A..Z} _; do
    builtin eval "__sb_names+=(\"\${!$__sb_name@}\")"
  done
  for __sb_name in "${__sb_names[@]}"; do
    case $__sb_name in
      __sb_* | BASH | BASH_* | BASHOPTS | BASHPID | SHELLOPTS | EUID | UID | PPID | SHLVL | FUNCNAME | PIPESTATUS | DIRSTACK | GROUPS | _) continue ;;
      RANDOM | SRANDOM | SECONDS | LINENO | EPOCHSECONDS | EPOCHREALTIME | COMP_* | IFS | OPTIND | PWD | OLDPWD | HISTCMD | SHELL | TERM | HOSTNAME | HOSTTYPE | MACHTYPE | OSTYPE | OPTERR | PS4 | SANDBAR_CONTEXT) continue ;;
    esac
    if [[ -n ${__sb_born["$__sb_name"]+x} || ${!__sb_name@a} == *x* ]]; then
      [[ ${!__sb_name@a} == x && ${__sb_born["$__sb_name"]-} == "${!__sb_name-}" && -n ${__sb_born["$__sb_name"]+x} ]] && continue
      __sb_set+=",\"$__sb_name\""
    fi
    __sb_changed+=("$__sb_name")
    case ${!__sb_name@a} in
      *A*) __sb_pair='associative array' ;;
      *a*) __sb_pair=array ;;
      *i*) __sb_pair=integer ;;
      *) __sb_pair=string ;;
    esac
    __sb_entry "$__sb_name" "$__sb_pair" saved
  done
  for __sb_name in "${!__sb_born[@]}"; do
    [[ -v $__sb_name || ! $__sb_name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] || { __sb_gone+=("$__sb_name"); __sb_unset+=",\"$__sb_name\""; }
  done
  builtin mapfile -t __sb_functions < <(builtin compgen -A function)
  for __sb_name in "${__sb_functions[@]}"; do
    [[ $__sb_name == __sb_* || $__sb_name == trap ]] || __sb_entry "$__sb_name" function saved
  done
  builtin mapfile -t __sb_names < <(builtin compgen -A alias)
  for __sb_name in "${__sb_names[@]}"; do __sb_entry "$__sb_name" alias saved; done
  IFS=$__sb_newline
  for __sb_name in $__sb_jobs; do __sb_entry "job $__sb_name" job lost 'a job cannot be saved'; done
  __sb_pair=${PWD//\\/\\\\}
  __sb_pair=${__sb_pair//\"/\\\"}
  if [[ $__sb_pair == *[[:cntrl:]]* ]]; then __sb_pair=null; else __sb_pair="\"$__sb_pair\""; fi
  __sb_said="{\"variables\":[${__sb_list#,}],\"more\":$__sb_more,\"environment\":{\"cwd\":$__sb_pair,\"set\":[${__sb_set#,}],\"unset\":[${__sb_unset#,}]}}"
  {
    {
      builtin printf '# sandbar bash-declare/1\n# %s\n' "$__sb_said"
      ((${#__sb_gone[@]} == 0)) || builtin printf 'builtin unset -v %s\n' "${__sb_gone[@]}"
      ((${#__sb_changed[@]} == 0)) || builtin declare -p "${__sb_changed[@]}"
      builtin declare -p __sb_options __sb_trap __sb_err
      for __sb_name in "${__sb_functions[@]}"; do
        [[ $__sb_name == __sb_* || $__sb_name == trap ]] || builtin declare -f "$__sb_name"
      done
      builtin alias -p
      builtin shopt -p
      builtin set +o
      builtin printf 'IFS=%q\n' "$__sb_ifs"
      builtin umask -p
      builtin printf 'builtin cd -- %q\n' "$PWD"
      builtin printf '%s\n' "$__sb_traps"
      builtin printf '__sb_whole=1\n'
    } >"$__sb_data" && builtin printf '{"done":%s}\n' "$__sb_said"
  } >"$__sb_report"
}

# Of the report: $1: name, $2: type, $3: status, $4: reason.
__sb_entry() {
  if ((__sb_count++ >= 2000)) || [[ $1 == *[\"\\[:cntrl:]]* ]]; then
    ((__sb_more++))
  else
    __sb_list+=",{\"name\":\"$1\",\"type\":\"$2\",\"status\":\"$3\"${4:+,\"reason\":\"$4\"}}"
  fi
}

# $1: exit status, $2: $- when the snippet ended.
__sb_give() {
  if [[ -n $__sb_asked ]]; then
    builtin printf '{"op":"answer","ask":%d,"result":{}}\n' "$__sb_asked" >&40
    __sb_asked= __sb_text=
    builtin return
  fi
  # An interrupt that comes too late must not end the shell.
  builtin trap '' INT
  __sb_settle "$2"
  builtin local status=ok
  (($1 == 0)) || status=error
  __sb_done "$status" "$1"
}

# Our own code runs without the options that a snippet set; they come back with the next one.
__sb_settle() {
  builtin set +euxvfaktCET
  builtin export -n "${!__sb_@}"
  builtin local flag i
  __sb_options=
  for flag in e u x v f a k t C E T; do
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
  [[ -n $__sb_apart && -s $__sb_state ]] || __sb_save >"$__sb_state"
  # `eval … 40>&-` hides the control socket from child processes; bash has put it aside under a number of its own.
  for fd in {10..59}; do
    if [[ -S /proc/$$/fd/$fd ]]; then
      builtin eval "exec 40>&$fd"
      builtin break
    fi
  done
  ((code == 0)) || status=error
  [[ -n $__sb_interrupted ]] && status=interrupted
  __sb_done "$status" "$code" ',"again":true'
}

# Without a process of its own, for which there may be no room; its last line says that it is whole, since there may be no room for that.
__sb_save() {
  builtin local __sb_name
  builtin local -a __sb_names
  for __sb_name in {a..z} {A..Z} _; do
    builtin eval "__sb_names+=(\"\${!$__sb_name@}\")"
  done
  for __sb_name in "${__sb_names[@]}"; do
    case $__sb_name in
      __sb_running | __sb_ahead | __sb_code | __sb_raw | __sb_files | __sb_env | __sb_state | __sb_interrupted | __sb_name) ;;
      __sb_err | __sb_status | __sb_flags | __sb_apart | __sb_names | __sb_whole | __sb_asked | __sb_text | __sb_newline | __sb_jobs | __sb_traps | __sb_data | __sb_report) ;;
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
  builtin printf '__sb_whole=1\n'
}

# Our own EXIT trap keeps the state, so a snippet's handler is kept beside it and run by it.
trap() {
  [[ ${1-} != -- ]] || builtin shift
  # With one argument: a signal, whose handler is taken back.
  (($# != 1)) || [[ $1 == -* ]] || builtin set -- - "$1"
  if ((BASH_SUBSHELL > 0 || $# < 2)) || [[ $1 == -?* ]]; then
    builtin trap "$@"
    builtin return
  fi
  builtin local action="$1" name
  builtin shift
  for name; do
    case ${name^^} in
      EXIT | SIGEXIT | 0) if [[ $action == - ]]; then __sb_trap=; else __sb_trap="$action"; fi ;;
      # Bash would bring them back when this function ends, unless there is another.
      DEBUG | RETURN | ERR)
        [[ ${name^^} != ERR ]] || if [[ $action == - ]]; then __sb_err=; else __sb_err=1; fi
        if [[ $action == - ]]; then builtin trap : "$name"; else builtin trap -- "$action" "$name"; fi
        ;;
      *) builtin trap -- "$action" "$name" ;;
    esac
  done
}

builtin trap '' INT
# Otherwise bash would run the EXIT trap with the status of the last command: a success, as if the snippet had come to its end.
for __sb_trap in 1 10 12 14 15; do
  builtin trap "{ builtin exit $((128 + __sb_trap)); } 2>/dev/null" "$__sb_trap"
done
__sb_trap= __sb_whole=0
if [[ -f $__sb_state ]]; then
  # At top level: in a function `declare` would make everything local.
  . "$__sb_state" 2>/dev/null
  command rm -f "$__sb_state"
fi
builtin printf '{"op":"ready","whole":%d}\n' "$__sb_whole" >&40
