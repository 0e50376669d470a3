# shellcheck shell=sh disable=SC2154
# Commands of debugging sessions, killed before each of their system calls and made to
# fail at some: the session is then as it was, or as the command leaves it, never between; all
# that is stored verifies; and the command works afterwards. The short form tries a part
# of the calls, and one place of each fault; which ones depends on the seed. Then two
# processes at once on one session: no number is given twice, and nothing is lost.
set -u
nth=$BUILD/tests/prove/nth
unset CAIRN_SESSION
if ! "$nth" --count true 2>why; then
    echo "skip|kills at every system call of sessions|$(cat why)"
    exit 0
fi
stride=101 places=1
[ "$LEVEL" != full ] || stride=1 places=4
store=$PWD/store
export CAIRN_STORE="$store"

# Everything that a user sees of the session, but for times and parts of ids made of digests.
show_all() {
    cairn session show --json
    for kind in hypothesis evidence belief gap note; do
        cairn "$kind" list --limit 100 --json
    done
    cairn branch list --json
    cairn checkpoint list --limit 100 --json
}
picture() {
    show_all 2>&1 |
        sed -E 's/"(spent_ms|score|time|started|created|ended|closed|digest|bytes)[a-z_]*": ?[^,}]*//g' |
        sed -E 's/(debug:[0-9]+)-[0-9a-f]+/\1/g'
}

make_store() {
    cairn session start main -q
    cairn hypothesis add 'the cache is stale' -q >/dev/null
    cairn evidence add h1 'a restart helps' --strength 0.6 -q >/dev/null
    cairn note add 'first' -q >/dev/null
    cairn checkpoint create 'one' -q >/dev/null
    cairn note add 'second' -q >/dev/null
    cairn hypothesis test h1 -q 2>/dev/null
    cairn checkpoint create 'two' -q >/dev/null
    cairn branch start other -q 2>/dev/null
    cairn note add 'on the other branch' -q >/dev/null
    cairn branch switch main -q 2>/dev/null
    cairn note add 'not in a checkpoint' -q >/dev/null
} >/dev/null 2>&1

reset() {
    rm -rf "$store"
    cp -a keep "$store"
}

tries=0 lost=0 other=0 turn=$SEED
# One trial: the command was cut off; $1 is what was done to it.
judge() {
    tries=$((tries + 1))
    picture >now
    if ! cmp -s now old && ! cmp -s now new; then
        lost=$((lost + 1))
        echo "# $name, $1: neither as before nor as after"
        diff old now | head -n 5 | sed 's/^/# /'
    fi
    if ! cairn checkpoint verify -q >said 2>&1 || ! cairn doctor -q >>said 2>&1; then
        other=$((other + 1))
        echo "# $name, $1: $(head -n 1 said)"
    fi
    if ! cairn note add 'afterwards' -q >/dev/null 2>said; then
        other=$((other + 1))
        echo "# $name, $1: then: $(head -n 1 said)"
    fi
}

some_of() { # PLACE...: $places of them, the next ones with each fault
    shift $((turn % ($# - places + 1)))
    echo "$@" | cut -d ' ' -f "1-$places"
}

sweep() { # NAME COMMAND...
    name=$1
    shift
    reset
    picture >old
    if ! "$@" >/dev/null 2>said; then
        other=$((other + 1))
        echo "# $name: $(head -n 1 said)"
        return
    fi
    picture >new
    reset
    calls=$("$nth" --count "$@" 2>&1 >/dev/null | sed -n 's/^nth: \([0-9]*\) calls.*/\1/p')
    at=$((SEED % stride + 1))
    while [ "$at" -le "${calls:-0}" ]; do
        reset
        "$nth" --kill "$at" "$@" >/dev/null 2>&1
        judge "killed before call $at"
        at=$((at + stride))
    done
    turn=$((turn + 1))
    for fault in write:ENOSPC sync:EIO write:EIO open:EMFILE; do
        for n in $(some_of 1 2 4 8+); do
            reset
            "$nth" --fail "$fault:$n" "$@" >/dev/null 2>&1
            judge "$fault at $n"
        done
        turn=$((turn + 1))
    done
}

CAIRN_STORE=$PWD/elsewhere
make_store
cairn session export elsewhere.cairn -q
{
    cairn note remove n1 -q
    cairn session message add 'later' -q
    cairn branch merge other -q
    cairn checkpoint create 'later' -q
    cairn session export later.cairn -q
} >/dev/null 2>&1
CAIRN_STORE=$store
make_store
# Some that a prune takes; and a copy whose settings let them go with the next one.
for n in 1 2 3 4; do
    cairn note add "$n" -q
    cairn checkpoint create --trigger code-modified -q
done >/dev/null 2>&1
cp -a "$store" keep
mkdir -p tmp
sweep 'a new item' cairn hypothesis add 'the index is broken'
sweep 'a status' cairn hypothesis confirm h1
sweep 'a checkpoint' cairn checkpoint create 'three'
sweep 'a prune' cairn checkpoint prune --keep-last 1
reset
cairn session config keep-last 2 -q
mv keep plain
cp -a "$store" keep
sweep 'a checkpoint that lets others go' cairn checkpoint create 'three'
rm -rf keep
mv plain keep
sweep 'a restore' cairn checkpoint restore debug:2 --yes
sweep 'a branch' cairn branch switch other
sweep 'an undo' cairn session undo
sweep 'a start' cairn session start another
sweep 'an import' cairn session import elsewhere.cairn
reset
cairn session import elsewhere.cairn -q >/dev/null
mv keep plain
cp -a "$store" keep
export CAIRN_SESSION=main-2
sweep 'an import of what is new' cairn session import later.cairn
unset CAIRN_SESSION
rm -rf keep
mv plain keep
TMPDIR=$PWD/tmp sweep 'a bisect' cairn checkpoint bisect --good debug:1 --bad debug:3 -- false
printf 'figure|G1 G2 G10|commands of sessions, killed before each system call and made to fail|%s trials|%s|0|0|%s\n' \
    "$tries" "$lost" "$other"

# ---- Two at once ----
rounds=20
[ "$LEVEL" != full ] || rounds=400
reset
writer() { # WHO
    i=0
    while [ "$i" -lt "$rounds" ]; do
        cairn note add "$1 $i" 2>>"$1.err" >>"$1.ids"
        [ $((i % 5)) -ne 0 ] || cairn checkpoint create "$1 $i" -q >>"$1.made" 2>>"$1.err"
        i=$((i + 1))
    done
}
writer a &
one=$!
writer b &
two=$!
wait "$one" "$two"
twice=$(cat a.ids b.ids | sort | uniq -d | wc -l)
given=$(cat a.ids b.ids | wc -l)
kept=$(cairn note list --limit 1 --json | sed -n 's/.*"total": *\([0-9]*\).*/\1/p')
missing=$((2 * rounds - given))
[ "${kept:-0}" -eq $((given + 7)) ] || missing=$((missing + 1))
cairn checkpoint verify -q >said 2>&1 || twice=$((twice + 1))
cat a.err b.err | head -n 5 | sed 's/^/# /'
printf 'figure|G1 G12|two processes on one session: items and checkpoints, no number twice, none lost|%s items|%s|%s|0|0\n' \
    "$given" "$missing" "$twice"
[ $((lost + other + missing + twice)) -eq 0 ]
