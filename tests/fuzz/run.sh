#!/bin/sh
# Runs the fuzz targets, each from its corpus, which stays as it is.
#
#   BUILD=build FUZZ_SECONDS=20 FUZZ_JOBS=2 sh tests/fuzz/run.sh [NAME...]
#
# FUZZ_SECONDS=0 only replays the corpus, also with the programs of a sanitized build. A
# crash, hang, leak or want of memory is a failure; its input is kept in $BUILD/fuzz/found
# (a replay leaves it where it is) and named. What was found new stays in
# $BUILD/fuzz/work/NAME. FUZZ_SEED makes a run with one job repeatable.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(cd "${BUILD:-build}" && pwd)
FUZZ_SECONDS=${FUZZ_SECONDS:-600}
export root BUILD FUZZ_SECONDS

one() {
    name=$1
    work=$BUILD/fuzz/work/$name
    found=$BUILD/fuzz/found
    log=$BUILD/fuzz/work/$name.log
    [ "$FUZZ_SECONDS" -gt 0 ] || log=$BUILD/fuzz/work/$name.replay.log
    mkdir -p "$work" "$found"
    # Some targets write files: in memory, if that can be had.
    tmp=$(mktemp -d /dev/shm/cairn-fuzz.XXXXXX 2>/dev/null || mktemp -d)
    set -- -timeout=5 -rss_limit_mb=1024 -max_len=65536 -print_final_stats=1 \
        -artifact_prefix="$found/$name-" -seed="${FUZZ_SEED:-0}"
    [ ! -f "$root/tests/fuzz/dict/$name.dict" ] || set -- "$@" -dict="$root/tests/fuzz/dict/$name.dict"
    if [ "$FUZZ_SECONDS" -gt 0 ]; then
        set -- "$@" -max_total_time="$FUZZ_SECONDS" "$work"
    else
        set -- "$@" -runs=0
    fi
    set -- "$@" "$root/tests/fuzz/corpus/$name"
    [ "$name" != workflow ] || set -- "$@" "$root/tests/data/workflows" "$root/examples"
    status=0
    # What the C library has for a thread of the fuzzer that is just starting is no leak.
    printf 'leak:%s\n' __pthread_attr_extension pthread_attr_setaffinity_np >"$work.suppressed"
    # Sanitizers take more memory than an address space limit allows: rss_limit_mb is it.
    LSAN_OPTIONS=suppressions=$work.suppressed:print_suppressions=0 \
        ASAN_OPTIONS=quarantine_size_mb=32:malloc_context_size=2 TMPDIR=$tmp timeout -k 10 $((FUZZ_SECONDS + 120)) \
        "$BUILD/fuzz/fuzz_$name" "$@" >"$log" 2>&1 || status=$?
    rm -rf "$tmp"
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    if [ "$status" -eq 0 ] && [ "${runs:-0}" -gt 0 ]; then
        echo "ok $name: $runs inputs"
        return
    fi
    echo "FAILED $name (exit $status)"
    grep -E 'does not hold|ERROR:|SUMMARY:|runtime error|Test unit written' "$log" | sed 's/^/  | /' | head -n 8
    sed -n 's/^input: /  | while reading /p' "$log" | tail -n 1
    sed -n "s|.*Test unit written to \(.*\)|  repeat it with: $BUILD/fuzz/fuzz_$name \1|p" "$log"
    echo "  log: $log"
    return 1
}

if [ "${1-}" = --one ]; then
    one "$2"
    exit
fi
if [ $# -eq 0 ]; then
    for source in "$root"/tests/fuzz/fuzz_*.c; do
        name=$(basename "$source" .c)
        set -- "$@" "${name#fuzz_}"
    done
fi
printf '%s\n' "$@" | xargs -P "${FUZZ_JOBS:-2}" -n 1 sh "$0" --one
