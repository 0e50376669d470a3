#!/bin/sh
# Runs test programs and prints what failed, then one line `N passed, N failed, N skipped`.
#
#   BUILD=build sh tests/run.sh PROGRAM.or.t-NAME.sh...
#
# C programs (libcheck) report through a TAP file, shell files through TAP on stdout. Each
# has a directory of its own under $TMPDIR, and each of its processes $TEST_TIMEOUT seconds
# of a processor. TEST_JOBS of them run at a time. KEEP=1 keeps the directories.
# TEST_WRAPPER goes before C programs.
#
# $BUILD/test-costs has a line "PROCESSOR-SECONDS SECONDS NAME" for each, the dearest first:
# processor seconds hardly change on a busy machine. TIMES=20 prints the first 20 of them.
# $BUILD/test-counts has the last line.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
BUILD=$(cd "${BUILD:-build}" && pwd)
TESTS=$root/tests
work=$(mktemp -d "${TMPDIR:-/tmp}/cairn-tests.XXXXXX")
work=$(cd "$work" && pwd -P)
chmod 711 "$work"
[ -n "${KEEP-}" ] || trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export BUILD TESTS work root
# Under `make -j` these would be inherited by the makes that tests start.
unset MAKEFLAGS MAKELEVEL MFLAGS CAIRN_STORE CAIRN_SESSION

if [ $# -eq 0 ]; then
    echo 'run.sh: no tests were given' >&2
    exit 2
fi
: >"$BUILD/test-costs"
for test; do
    case $test in
    /*) ;;
    *) test=$PWD/$test ;;
    esac
    printf '%s\n' "$test"
done | xargs -P "${TEST_JOBS:-2}" -n 1 sh "$TESTS/run-one.sh"

sort -rn -o "$BUILD/test-costs" "$BUILD/test-costs" || :
if [ -n "${TIMES-}" ]; then
    awk -v n="$TIMES" '{ used += $1 } NR <= n { printf "%8.1f s of a processor, %4d by the clock: %s\n", $1, $2, $3 }
        END { printf "%8.1f s of a processor in all\n", used }' "$BUILD/test-costs"
fi
# A program that left no counts, because its runner was killed, is a failure too.
status=0
cat "$work"/*.counts | awk -v programs=$# '{ passed += $1; failed += $2; skipped += $3 }
    END { failed += programs - NR
          printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
          exit failed > 0 || passed == 0 }' >"$BUILD/test-counts" || status=1
cat "$BUILD/test-counts"
exit "$status"
