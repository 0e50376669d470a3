# shellcheck shell=sh disable=SC2154
# Every command that a message suggests, run where it was printed: tests/tools/hints.sh
# takes them out of what the commands of the suite print. Short: out of a few tests with
# many kinds of messages.
set -u
TESTS=$root/tests
TAP_HINTS=$PWD/hints
export TESTS TAP_HINTS
mkdir hints
names='hints meant session external'
if [ "$LEVEL" = full ]; then # not: what starts no command by `run`, or fills the disk
    names=$(cd "$TESTS/cli" && for test in t-*.sh; do
        case $test in
        t-bootstrap.sh | t-install.sh | t-embed.sh | t-few-descriptors.sh | t-full-disk.sh | t-large-files.sh) ;;
        *) test=${test#t-} && echo "${test%.sh}" ;;
        esac
    done)
fi
if ! unshare -m true 2>/dev/null; then
    echo 'skip|the commands that messages suggest, run where they are printed|no mount namespace of its own'
    exit 0
fi
for name in $names; do
    mkdir "t-$name"
    # shellcheck disable=SC2030,SC2031 # of this test
    (cd "t-$name" && CAIRN_STORE=$PWD/.cairn && export CAIRN_STORE &&
        timeout "$PART_TIMEOUT" sh "$TESTS/cli/t-$name.sh") >"log.$name" 2>&1
done
touch hints/log
count() { grep -c "^$1" hints/log; }
bad=$(count BAD)
grep '^BAD' -A 3 hints/log | sed 's/^\([^#]\)/# \1/' | head -n 200
[ "$(count good)" -gt 0 ] || bad=1
printf 'figure|hints|commands that messages suggest, run where they are printed|%s run, %s with a placeholder parsed|0|0|0|%s\n' \
    "$(count good)" "$(count parsed)" "$bad"
[ "$bad" -eq 0 ]
