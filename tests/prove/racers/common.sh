# shellcheck shell=sh disable=SC2034,SC2154
# Sourced by p-racers.sh and p-resources.sh. A part of a prover counts what goes wrong in
# $failed, $lost and $repeated, and ends with `figure`.
failed=0 lost=0 repeated=0 bad=0

fail() { # text; more of it from stdin-like files: out, err
    failed=$((failed + 1))
    echo "# $part: $*"
}

show() { # files
    for file; do
        [ ! -s "$file" ] || head -n 12 "$file" | cut -c 1-300 | sed "s|^|#     $file: |"
    done
}

expect() { # wanted exit status, command: output in out and err
    wanted=$1
    shift
    timeout 120 "$@" >out 2>err </dev/null
    got=$?
    [ "$got" -eq "$wanted" ] && return
    fail "$* exits $got, not $wanted"
    show out err
    return 1
}

figure() { # promises, what was done, tries
    echo "figure|$1|$2|$3|$lost|$repeated|0|$failed"
    bad=$((bad + failed + lost + repeated))
    failed=0 lost=0 repeated=0
}

wait_for() { # seconds, command
    patience=$(($1 * 50))
    shift
    while ! "$@" 2>/dev/null; do
        patience=$((patience - 1))
        [ "$patience" -gt 0 ] || return 1
        sleep 0.02
    done
}

# The guard of a cairn, its child of that name.
guard_of() {
    for dir in /proc/[0-9]*; do
        [ "$(awk '/^PPid:/ { print $2 }' "$dir/status" 2>/dev/null)" = "$1" ] || continue
        [ "$(cat "$dir/comm" 2>/dev/null)" != cairn-guard ] || echo "${dir#/proc/}"
    done
}
