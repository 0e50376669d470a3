# shellcheck shell=sh disable=SC2154
# Every allocation of the process (cairn's own and those of its libraries) made to fail,
# once or from then on, and threads, maps and other calls of libraries that can refuse.
# After each: a documented exit status and a word about it, nothing told that is not
# stored, a sound store, and the command after it comes to the right end.
set -u
faults=$BUILD/tests/prove/faults
points=600
library=80
if [ "$LEVEL" = full ]; then
    points=3000
    library=600
fi
bad=0

# sweep NAME FIGURE OPTION...
sweep() {
    log=$1
    figure=$2
    shift 2
    mkdir "$log.dir"
    (cd "$log.dir" && timeout "${PART_TIMEOUT:?}" "$faults" --seed "$SEED" --preload "$faults.so" "$@") >"$log" 2>&1
    status=$?
    grep '^#' "$log" | cut -c 1-1000
    places=$(sed -n 's/^places //p' "$log")
    # shellcheck disable=SC2046
    set -- $(sed -n 's/^counts //p' "$log")
    [ $# -eq 5 ] || set -- 0 0 0 0 1
    [ "$status" -eq 0 ] || bad=1
    echo "figure|G1 G2 G6|$figure|$2 failures of ${places:-?} places|$3|$4|0|$5"
}
sweep alloc 'each allocation fails, once or from then on: 40 commands, then resumed' \
    --kind alloc --points "$points" --cairn "$BUILD/cairn"
sweep library 'threads, maps, zstd, libyaml and jansson refuse: 40 commands, then resumed' \
    --kind library --points "$library" --cairn "$BUILD/cairn"

# The same under AddressSanitizer, which also finds what error paths leak.
asan=
ldd "$BUILD/cairn" | grep -q libasan && asan=$BUILD/cairn
[ -z "$asan" ] && [ "$LEVEL" = full ] && [ -x "$BUILD/asan/cairn" ] && asan=$BUILD/asan/cairn
if [ -n "$asan" ]; then
    export ASAN_OPTIONS=verify_asan_link_order=0:allocator_may_return_null=1:exitcode=99
    export UBSAN_OPTIONS=halt_on_error=1:exitcode=99 LSAN_OPTIONS=exitcode=99
    # Not from then on: AddressSanitizer itself cannot start a thread without memory.
    sweep sanitized 'the same under AddressSanitizer: nothing leaks on the way out' \
        --kind alloc --once --points 400 --cairn "$asan"
fi
[ "$bad" -eq 0 ]
