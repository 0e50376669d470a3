# shellcheck shell=sh disable=SC2154
# 50 secrets through everything that a workflow can do with them, and then looked for in
# every byte that cairn wrote; and 37 hostile values (tests/cli/t-secrets.sh, t-hostile-values.sh).
set -u
TESTS=$root/tests
CAIRN_STORE=$PWD/.cairn
export TESTS CAIRN_STORE
for test in secrets hostile-values; do
    mkdir "$test"
    (cd "$test" && CAIRN_STORE=$PWD/.cairn timeout 600 sh "$TESTS/cli/t-$test.sh") >"log.$test" 2>&1
    echo $? >"status.$test"
    grep '^not ok' -A 20 "log.$test" | sed 's/^\([^#]\)/# \1/'
done
count() { grep -c "^$1" "log.$2"; }
bad=$(count 'not ok' secrets)
[ "$(cat status.secrets)" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
echo "figure|G11|secrets looked for in every file of the store and in all output|50 secrets, $(count 'ok' secrets) checks|0|0|0|$bad"
bad=$(count 'not ok' hostile-values)
[ "$(cat status.hostile-values)" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
echo "figure|G11|hostile values through parameters, lists, files and names|$(count 'ok' hostile-values) checks|0|0|0|$bad"
[ "$(cat status.secrets)" -eq 0 ] && [ "$(cat status.hostile-values)" -eq 0 ]
