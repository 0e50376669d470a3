# shellcheck shell=sh disable=SC2154
# What fails around cairn: containers, stores that go, files that are read for long,
# limits and refused system calls (tests/prove/outside).
set -u
if [ "$LEVEL" = full ]; then
    boxes=60 gone=30 files=5 limits=40 refused=70 seconds=50
else
    boxes=3 gone=3 files=1 limits=6 refused=35 seconds=8
fi
bad=0

part() { # name, rounds, seconds, promises, what was done
    mkdir "$1"
    code=0
    timeout -k 5 $(($3 + 300)) "$BUILD/tests/prove/outside" "$1" "$PWD/$1" "$SEED" "$2" "$3" >"said.$1" 2>&1 || code=$?
    grep '^#' "said.$1" | head -n 60
    if [ "$code" -eq 77 ]; then
        echo "skip|$5|no namespaces can be made here"
        return
    fi
    # shellcheck disable=SC2046 # words
    set -- "$4" "$5" $(grep "^$1 " "said.$1" | tail -n 1 | grep . || tail -n 20 "said.$1" >&2)
    echo "figure|$1|$2|${4:-0} rounds, ${5:-0} commands|${6:-0}|${7:-0}|${8:-0}|${9:-1}"
    [ "$code" -eq 0 ] || bad=1
}

# What runs as another user looks for its files here.
chmod a+x "$work" "$PWD"
part namespaces $boxes $seconds 'G2 G3 G5 G12' \
    'one store used in containers, outside and without /proc, at once and in turn; owners, guards and containers killed'
part gone $gone $seconds 'G2 G12' \
    'the store or the project of a live run removed, renamed or moved, and another run begun in its place'
part hashing $files $seconds 'G1 G2 G6' \
    'files of gigabytes read, changed and growing meanwhile, with time limits, stops and kills'
part limits $limits $seconds 'G1 G2' \
    'low limits of descriptors, processes, sizes of files and memory, with many jobs, then the usual ones'
if "$BUILD/tests/tools/refuse" getrandom=ENOSYS true 2>/dev/null; then
    part refused $refused $seconds 'G1 G2 G3 G5' \
        'system calls refused for a whole run or resume, as a sandbox does, then allowed'
else
    echo 'skip|refused system calls|seccomp filters cannot be made here'
fi
[ "$bad" -eq 0 ]
