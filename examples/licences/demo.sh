#!/bin/sh
# usage: demo.sh CAIRN [DIR]
# Runs the licences workflow in a fresh directory, kills cairn with SIGKILL half-way,
# resumes, and shows from the tasks' own log what ran when. Exits 1 if a task whose end
# was recorded ran a second time, or if something else ran than `cairn plan` had said.
set -eu
cairn=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cairn-demo.XXXXXX")
# The command line shown is the one a user types; here `cairn` may not be in PATH yet.
unset CAIRN_STORE
pid=
cleanup() {
    [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

cp -R "$here/cairn.yaml" "$here/prepare.sh" "$here/steps" "$work"
cd "$work"

shown() {
    printf '\n$ cairn %s\n' "$*"
    "$cairn" "$@"
}
lines() {
    wc -l <"$1" | tr -d ' '
}

echo "The texts of ${2:-/usr/share/common-licenses}, which of them are related?"
sh prepare.sh ${2+"$2"}
: >done.log
total=$("$cairn" plan cairn.yaml 2>/dev/null | wc -l)
half=$((total / 2))

printf '\n$ cairn run cairn.yaml          # %s tasks; in the background\n' "$total"
"$cairn" run cairn.yaml >run.out 2>&1 &
pid=$!
while [ "$(lines done.log)" -lt $half ]; do
    kill -0 $pid 2>/dev/null || {
        cat run.out
        echo 'demo: cairn ended before it could be killed' >&2
        exit 1
    }
    sleep 0.02
done
kill -9 $pid
wait $pid 2>/dev/null || true
printf '$ kill -9 %s                 # when half of the tasks had ended\n' "$pid"
pid=

shown status
"$cairn" plan --all >plan.txt 2>plan.err
awk '$1 == "keep" { print $2 }' plan.txt | LC_ALL=C sort >recorded
awk '$1 == "run" && !/taken over/ { print $2 }' plan.txt | LC_ALL=C sort >planned
awk '$1 == "run" && /taken over/ { print $2 }' plan.txt | LC_ALL=C sort >noted
printf '\n$ cairn plan\n'
awk '$1 == "run"' plan.txt | head -n 3
echo "... $(($(lines planned) + $(lines noted))) in all"
cat plan.err
cp done.log before.log

printf '\n$ cairn resume\n'
"$cairn" resume >resume.out 2>&1 || { cat resume.out; exit 1; }
grep -v '^ok ' resume.out || true

# What ran, told by the tasks: each adds its name to done.log when it ends.
tail -n "+$(($(lines before.log) + 1))" done.log | LC_ALL=C sort >after
LC_ALL=C sort before.log >before
sort after before | uniq -d >twice
LC_ALL=C sort recorded noted | LC_ALL=C comm -12 - twice >wrong
LC_ALL=C comm -3 planned after >differs
LC_ALL=C sort recorded noted | LC_ALL=C comm -23 - before >invented

printf '\nFrom the log that the tasks themselves keep:\n'
printf '  %4s tasks had ended before the kill, and cairn had recorded the end of %s of them\n' \
    "$(lines before)" "$(lines recorded)"
if [ -s noted ]; then
    printf '  %4s more were noted, and taken over without running again\n' "$(lines noted)"
fi
printf '  %4s tasks ran after the resume, just those that cairn plan had named\n' "$(lines after)"
printf '  %4s of those that had ended ran twice\n' "$(lines wrong)"
if [ -s twice ]; then
    printf '  %4s ended in the instant of the kill, before their end was recorded, and ran again:\n' \
        "$(lines twice)"
    sed 's/^/         /' twice
fi
if [ -s wrong ] || [ -s differs ] || [ -s invented ] || [ ! -s recorded ] || [ ! -s after ]; then
    echo 'demo: FAILED. Ran twice though recorded:' >&2
    cat wrong >&2
    echo 'demo: planned but not run, or run but not planned:' >&2
    cat differs >&2
    echo 'demo: recorded as completed but never ended:' >&2
    cat invented >&2
    exit 1
fi

printf '\n$ cat report.txt\n'
cat report.txt
