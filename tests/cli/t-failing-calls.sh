# Commands that are refused memory, or whose calls to SQLite fail: never "damaged", and
# never 0 with something left out. (make prove makes every call fail: tests/prove/nth.)
. "$TESTS/cli/tap.sh"
export ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0:detect_leaks=0"
faults=$BUILD/tests/prove/faults
if [ -x "$faults" ] && [ -e "$faults.so" ]; then
    mkdir faults
    for case in doctor verify events status runs can-resume; do
        for kind in 'alloc' 'library' 'sqlite --codes NOMEM,BUSY'; do
            # shellcheck disable=SC2086 # some words
            ok "$case with failing calls: $kind" sh -c 'cd faults && exec "$@"' - "$faults" \
                --kind $kind --case "$case" --points 40 --cairn "$BUILD/cairn" --preload "$faults.so"
        done
    done
fi
done_testing
