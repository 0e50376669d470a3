# shellcheck shell=sh disable=SC2154
# make: long
# The crash tests (docs/crash-tests.md), which speak TAP themselves. The full level has
# the numbers that are promised; its graphs mostly sleep, so three programs share them.
set -u
crash=$BUILD/tests/crash/crash
if [ ! -x "$crash" ]; then
    printf 'ok 1 - crash tests # skip %s is not built\n1..1\n' "$crash"
    exit 0
fi
if [ "${CAIRN_TEST_LEVEL-short}" != full ]; then
    exec "$crash" --short --seed "${CRASH_SEED:-20261121}" # always the same ones
fi
seed=${CRASH_SEED:-$(date +%s)}
"$crash" --seed "$seed" --bytes --from 20 --damage 60 --windows 30 --random 30 --cases 10 >part-0 2>&1 &
for part in 1 2 3; do
    "$crash" --seed "$((seed + part))" --random 90 --adopt 334 --once 100 >"part-$part" 2>&1 &
done
wait
# One plan for all of them; a part that did not come to its end shows in the count.
planned=$(sed -n 's/^1\.\.//p' part-[0-3] | awk '{ n += $1 } END { print n + 4 }')
for part in 0 1 2 3; do
    sed '/^1\.\./d' "part-$part"
    if grep -q '^1\.\.' "part-$part"; then
        echo "ok - part $part came to its end"
    else
        echo "not ok - part $part came to its end"
    fi
done
echo "1..$planned"
! grep -q '^not ok' part-[0-3]
