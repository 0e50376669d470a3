# shellcheck shell=sh disable=SC2154
# Serial, parallel, killed and resumed runs of random workflows end the same; what plan
# and explain said is what ran (docs/architecture.md).
set -u
flow=$BUILD/tests/flow/flow
count=4
[ "$LEVEL" = full ] && count=25
for test in A B; do
    timeout "${PART_TIMEOUT:?}" "$flow" --test "$test" --seed "$SEED" --count "$count" >"log.$test" 2>&1
    echo $? >"status.$test"
    grep -v '^ok' "log.$test" | grep '^not ok' -A 40 | sed 's/^\([^#]\)/# \1/'
done
passed() { grep -c '^ok' "log.$1"; }
failed() {
    bad=$(grep -c '^not ok' "log.$1")
    [ "$bad" -gt 0 ] || [ "$(cat "status.$1")" -eq 0 ] || bad=1
    echo "$bad"
}
echo "figure|G9|plan, explain and what ran, after random edits|$(passed A) workflows|0|0|0|$(failed A)"
echo "figure|G8|serial, parallel, killed and resumed: the same end|$(passed B) workflows|0|0|0|$(failed B)"
[ "$(cat status.A)" -eq 0 ] && [ "$(cat status.B)" -eq 0 ]
