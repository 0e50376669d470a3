# What failing calls and small disks brought to light (tests/prove/p-memory.sh, p-sqlite.sh
# and p-disk.sh), each with a small test of its own.
. "$TESTS/cli/tap.sh"
export ASAN_OPTIONS="${ASAN_OPTIONS-}:verify_asan_link_order=0:detect_leaks=0"
killer=$BUILD/tests/crash/killer.so

# A task that was skipped because of another, and then by its own condition.
cat >skip.yaml <<'END'
name: skip
params: {p: one}
tasks:
  a: {run: 'test -e mended'}
  n: {needs: [a], if: params.p == 'two', run: 'true'}
  m: {needs: [n], run: 'true'}
END
exits 1 cairn run skip.yaml
touch mended
exits 0 cairn resume
exits 0 cairn status --json
is "$(json_get .excluded)" 1 'after a resume it is skipped by its condition, as in a run that never broke'
is "$(json_get .skipped)" 2 'what needs it is skipped, too'
exits 0 cairn resume
says 'nothing to do' 'and that is settled'

# An undo that is killed behind its last task, before its end is stored.
cat >undo.yaml <<'END'
name: undo
tasks:
  a: {run: 'true', undo: 'echo a >>undone'}
  b: {needs: [a], run: 'true', undo: 'echo b >>undone'}
END
exits 0 cairn run undo.yaml
run env LD_PRELOAD="$killer" CRASH_KILL=sync-return:2 CRASH_MARK="$PWD/mark" cairn undo 2
is "$status" 137 'an undo is killed when its last task is undone'
exits 0 cairn status 2 --json
is "$(json_get .undone)" 2 'both tasks are undone'
exits 0 cairn undo 2
is "$(tr '\n' ' ' <undone)" 'b a ' 'going on with it undoes nothing twice'
exits 0 cairn status 2 --json
is "$(json_get .state)" undone 'and the run has its end'
exits 2 cairn undo 2

# A limit on the size of files is like a full disk: cairn is not killed by it.
rm -rf .cairn
run sh -c 'ulimit -f 40 && exec cairn run undo.yaml'
is "$status" 75 'no room for the store'
says 'File too large'
run sh -c 'ulimit -f 120 && exec cairn run undo.yaml --fresh'
ok 'with some room it is done, or says that it is not saved' test "$status" -eq 0 -o "$status" -eq 9
rm -rf .cairn

# Commands that are refused memory, or whose calls to SQLite fail: never "damaged", and
# never 0 with something left out.
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
