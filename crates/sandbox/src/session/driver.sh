# Runs cells of bash one after another in one shell.
#
# Each line of the pipe `requests` is `<id> <code>`, with escapes for `printf %b`; each is answered with two lines in the
# pipe `responses`: `<id> run` when it begins, and `<id> ok|err|int <exit code>`. The output of cells goes elsewhere.
#
# Names begin with two underscores because cells share this shell. Cells do not run in a function, so that `declare`
# makes global variables. The script sources itself for each cell, so that `return` leaves the cell.
#
# The trap is in a variable on purpose.
# shellcheck shell=bash disable=SC2016,SC2064

if ((${#BASH_SOURCE[@]} > 1)); then
    builtin eval "$__greenlight_code"
    builtin return
fi

__greenlight_driver=${BASH_SOURCE[0]}
exec 3<"$1/requests" 4>"$1/responses" || exit 70
set --

# SIGINT leaves the current function, and then, through the DEBUG trap before each command, every caller up to the cell.
__greenlight_interrupt='
    __greenlight_interrupted=1
    if ((${#BASH_SOURCE[@]} > 1)); then
        builtin set -T
        builtin trap "((\${#BASH_SOURCE[@]} > 1)) && builtin return 130" DEBUG
        builtin return 130
    fi'
__greenlight_interrupted=
__greenlight_id=0
__greenlight_status=0
__greenlight_word=ok
trap "$__greenlight_interrupt" INT

while builtin :; do
    builtin echo "$__greenlight_id $__greenlight_word $__greenlight_status" >&4 || builtin exit 70
    until IFS=' ' builtin read -r -u 3 __greenlight_id __greenlight_code; do
        # A status above 128 means a signal, a lower one the end of the pipe.
        (($? > 128)) || builtin exit 70
    done
    builtin printf -v __greenlight_code %b "$__greenlight_code"
    __greenlight_interrupted=
    builtin trap "$__greenlight_interrupt" INT
    builtin echo "$__greenlight_id run" >&4 || builtin exit 70
    # A loop with one iteration, so that a stray `break` ends only the cell. Left of `||`, `set -e` has no effect,
    # unless the command is `builtin`.
    # shellcheck disable=SC2043
    for __greenlight_word in err; do
        command source "$__greenlight_driver" 3<&- 4>&- && __greenlight_word=ok || __greenlight_status=$?
    done
    { builtin trap - DEBUG; builtin set +exuvT; } 2>/dev/null
    if [[ $__greenlight_word == ok ]]; then
        __greenlight_status=0
    elif [[ $__greenlight_interrupted ]]; then
        __greenlight_word=int
    fi
done
