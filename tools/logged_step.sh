# shellcheck shell=bash
# For the scripts beside it: source "${BASH_SOURCE%/*}/logged_step.sh"
# Sets root_dir and enters it.
script=$(realpath "$0")
root_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root_dir" || exit

# print_usage prints the comment at the head of the script.
print_usage() { sed -n '2,/^set/{/^set/d;s/^# \?//p}' "$script"; }

# logged_step NAME WHAT COMMAND… says WHAT, runs COMMAND with its output in
# .build/logs/NAME.log, and shows the end of that where it fails.
logged_step() {
  local what=$2 log=.build/logs/$1.log start=$SECONDS code
  shift 2
  mkdir -p .build/logs
  printf '== %s (%s)\n' "$what" "$log"
  # Behind || or if, set -e would not hold inside a function.
  set +e
  (set -e; "$@") >"$log" 2>&1 </dev/null
  code=$?
  set -e
  if ((code != 0)); then
    tail -n 30 "$log" >&2
    echo "${0##*/}: $what failed with code $code; all of it is in $log" >&2
    return "$code"
  fi
  printf '   done in %d s\n' $((SECONDS - start))
}

# as_root COMMAND… with sudo where needed.
as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "${0##*/}: '$1' needs root: run as root, or install sudo" >&2
    return 1
  fi
}
