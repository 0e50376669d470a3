# shellcheck shell=sh disable=SC2154
# Kills at random moments, in chosen windows, with adoption and with damage: the crash
# tests (docs/crash-tests.md), counted.
set -u
crash=$BUILD/tests/crash/crash
if [ "$LEVEL" = full ]; then
    set -- --storm 2000 --random 30 --windows 5 --damage 12 --from 3 --adopt 100 --once 30 --cases 2
else
    set -- --storm 40 --random 6 --windows 2 --damage 2 --adopt 12 --once 6
fi
timeout "${PART_TIMEOUT:?}" "$crash" --seed "$SEED" "$@" >log 2>&1
status=$?
# Each test names its kills; one that failed is an "other failure" unless it says more.
kills=$(awk '/^(not )?ok/ && match($0, /[0-9]+ kills/) { n += substr($0, RSTART, RLENGTH - 6) } END { print n + 0 }' log)
tests=$(grep -c '^ok\|^not ok' log)
lost=$(grep -c '^# .*was reported completed .* is not recorded' log)
repeated=$(grep -c '^# .*ran again\|^# .*started twice' log)
undetected=$(grep -c '^# .*not named\|^# .*not reported' log)
failed=$(grep -c '^not ok' log)
[ "$failed" -eq 0 ] && [ "$status" -ne 0 ] && failed=1
[ "$((lost + repeated + undetected))" -eq 0 ] || failed=0
[ "$status" -eq 0 ] || grep -v '^ok' log | sed 's/^\([^#]\)/# \1/'
echo "figure|G1 G2 G3 G4 G5 G6 G12|random graphs and chosen windows: killed, guards and keepers too, newest records damaged, resumed, compared with an unbroken run|$tests workflows, $kills kills|$lost|$repeated|$undetected|$failed"
[ "$status" -eq 0 ]
