# cairn checkpoint bisect: the first checkpoint whose state makes a command fail, found
# in few probes, while the store is only read, whatever becomes of the command.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql
TMPDIR=$PWD/tmp
export TMPDIR
mkdir tmp

# Without the log of writes that a reader may create.
bytes() { cat .cairn/cairn.db .cairn/cairn.db-wal 2>/dev/null | sha256sum; }
log2() { awk -v n="$1" 'BEGIN { while (2 ^ bits < n) bits++; print bits + 0 }'; }
id_of() { sed -n "$1p" ids; }

# 33 checkpoints, each with one note more, over two branches: 17 is where a restore went
# back to 16, so 17 did not lead to 18.
exits 0 cairn session start 'a name with spaces'
add() {
    cairn note add "note $1" 2>/dev/null >/dev/null
    cairn checkpoint create "number $1" >>ids 2>/dev/null
}
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do add $i; done
cairn checkpoint create 'the wrong way' >wrong 2>/dev/null
cairn note add 'on the wrong way' >/dev/null 2>&1
exits 0 cairn checkpoint restore "$(id_of 16)" --yes
for i in 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32; do add $i; done
is "$(grep -c '^debug:' ids)" 32 'there are 32 checkpoints'
before=$(bytes)

# ---- A planted fault, wherever it is ----
cat >bad.sh <<'END'
#!/bin/sh
# As many notes as this or more are bad.
n=$(cairn note list --json | sed 's/.*"total":\([0-9]*\).*/\1/')
echo "$CAIRN_CHECKPOINT" >>"$OLDPWD/tried"
[ "$n" -lt "$1" ]
END
chmod +x bad.sh
for case in '1 32 2' '1 32 17' '1 32 18' '1 32 32' '1 2 2' '1 3 3' '4 9 5' '15 20 17' '3 30 29'; do
    set -- $case
    : >tried
    # The note that was made on the wrong way was removed by going back, but its number is used.
    run cairn checkpoint bisect --good "$(id_of "$1")" --bad "$(id_of "$2")" -- ./bad.sh "$3"
    is "$status $(cat out)" "0 $(id_of "$3")" "between $1 and $2: $3 is the first bad one"
    most=$(log2 $(($2 - $1)))
    ok "between $1 and $2: at most $most probes" test "$(wc -l <tried)" -le "$most"
done
is "$(bytes)" "$before" 'the store is as it was'
is "$(ls tmp)" '' 'nothing is left of scratch directories'
exits 0 cairn checkpoint bisect --good 1 --bad "$(id_of 32)" --json -- ./bad.sh 9
json_ok 'as JSON'
is "$(json_get .first_bad) $(json_get .probes) $(json_get '.skipped[0]')$(json_get .stopped)" "$(id_of 9) 5 false" 'with the same answer'
is "$(json_get '.steps[0].verdict') $(json_get '.steps[0].exit_code') $(json_get '.steps[4].verdict')" 'bad 1 bad' 'and each step'

# ---- The one that was given as bad was never tried ----
exits 0 cairn checkpoint bisect --good "$(id_of 1)" --bad "$(id_of 20)" -- ./bad.sh 30
says "no probe was bad, and $(id_of 20), which was given as bad, was not tried: --check" 'that no probe was bad is told'
exits 0 cairn checkpoint bisect --good "$(id_of 1)" --bad "$(id_of 20)" --json -- ./bad.sh 30
is "$(json_get .bad_untested)" true 'as JSON, too'
exits 1 cairn checkpoint bisect --check --good "$(id_of 1)" --bad "$(id_of 20)" -- ./bad.sh 30
exits 0 cairn checkpoint bisect --check --good "$(id_of 1)" --bad "$(id_of 30)" --json -- ./bad.sh 30
is "$(json_get .bad_untested)" false 'one that was tried'
exits 0 cairn checkpoint bisect --good "$(id_of 1)" --bad "$(id_of 20)" -- ./bad.sh 19
ok 'where a probe was bad nothing is said' sh -c '! grep -q "no probe was bad" err'


# ---- The one that was given as good was never tried ----
exits 0 cairn checkpoint bisect --good "$(id_of 4)" --bad "$(id_of 20)" -- ./bad.sh 5
says "no probe was good, and $(id_of 4), which was given as good, was not tried: --check" 'that no probe was good is told'
exits 0 cairn checkpoint bisect --good "$(id_of 4)" --bad "$(id_of 20)" --json -- ./bad.sh 3
is "$(json_get .good_untested) $(json_get .bad_untested)" 'true false' 'as JSON, too'
exits 0 cairn checkpoint bisect --check --good "$(id_of 4)" --bad "$(id_of 20)" --json -- ./bad.sh 5
is "$(json_get .good_untested)" false 'one that was tried'
exits 0 cairn checkpoint bisect --good "$(id_of 4)" --bad "$(id_of 5)" --json -- ./bad.sh 5
is "$(json_get .good_untested) $(json_get .bad_untested) $(json_get .probes)" 'true true 0' 'of two that are neighbours neither was tried'
exits 0 cairn checkpoint bisect --good "$(id_of 4)" --bad "$(id_of 20)" --json -- ./bad.sh 6
is "$(json_get .good_untested)" false 'where a probe was good nothing is said'

# ---- What the command gets ----
cat >show.sh <<'END'
{
    printf '%s|%s|' "$CAIRN_SESSION" "$CAIRN_CHECKPOINT"
    cairn note list --limit 1 --json
    cairn session list --json
    cairn checkpoint list
    cairn checkpoint verify && echo verified
    pwd
    cat
    [ "$CAIRN_STORE" = "$PWD/.cairn" ] && echo its own store
} >"$OLDPWD/shown" 2>&1
echo 'said on stdout'
cairn note add 'written by the command' >/dev/null 2>&1
mkdir -p deep/er/and/deeper && ln -s "$OLDPWD" deep/link && touch deep/er/file
chmod 0500 deep/er/and deep
END
run cairn checkpoint bisect --good "$(id_of 8)" --bad "$(id_of 10)" -- sh "$PWD/show.sh"
is "$status $(cat out)" "0 $(id_of 10)" 'stdout has the answer alone'
ok 'what it says is on stderr' grep -q 'said on stdout' err
ok 'session and checkpoint are named' grep -qF "a name with spaces|$(id_of 9)|" shown
ok 'the items are there, with their ids' grep -qF '"id":"n9"' shown
ok 'of this state alone' sh -c '! grep -q n10 shown'
ok 'in a session of its own' grep -qF '"total":1,' shown
ok 'with its checkpoint' grep -q 'number 9' shown
ok 'which is whole' grep -q '^verified' shown
ok 'in a directory below TMPDIR' grep -q "^$PWD/tmp/cairn-bisect-" shown
ok 'with a store of its own' grep -q '^its own store' shown
is "$(ls tmp)" '' 'what the command left is removed, whatever its mode'
ok 'but not what its links name' test -e ids
is "$(bytes)" "$before" 'the store is as it was'

# ---- Skipping ----
cat >skip.sh <<'END'
for skipped in $SKIPPED; do
    [ "$CAIRN_CHECKPOINT" != "$skipped" ] || exit 125
done
exec "$OLDPWD/bad.sh" "$1"
END
SKIPPED="$(id_of 16) $(id_of 17)"
export SKIPPED
exits 0 cairn checkpoint bisect --good "$(id_of 1)" --bad "$(id_of 32)" -- sh "$PWD/skip.sh" 20
is "$(cat out)" "$(id_of 20)" 'others beside a skipped one are tried'
SKIPPED="$(id_of 19) $(id_of 20)"
exits 1 cairn checkpoint bisect --good "$(id_of 1)" --bad "$(id_of 32)" -- sh "$PWD/skip.sh" 20
is "$(cat out)" "$(sed -n 19,21p ids)" 'skipped ones that may be the first one are the answer, too'
exits 1 cairn checkpoint bisect --good "$(id_of 1)" --bad "$(id_of 32)" --json -- sh "$PWD/skip.sh" 20
is "$(json_get .first_bad)$(json_get '.candidates[2]') $(json_get .last_good)" "null$(id_of 21) $(id_of 18)" 'as JSON, too'

# ---- What was given ----
exits 1 cairn checkpoint bisect --good "$(id_of 5)" --bad "$(id_of 9)" --check -- ./bad.sh 3
says 'given as good'
silent_on out
exits 1 cairn checkpoint bisect --good "$(id_of 5)" --bad "$(id_of 9)" --check -- true
says 'given as bad'
silent_on out
exits 0 cairn checkpoint bisect --good "$(id_of 5)" --bad "$(id_of 9)" --check -- ./bad.sh 7
is "$(cat out)" "$(id_of 7)" 'it is looked for where they are right'
exits 2 cairn checkpoint bisect --good "$(id_of 9)" --bad "$(id_of 5)" -- true
says 'did not lead to'
exits 2 cairn checkpoint bisect --good "$(cat wrong)" --bad "$(id_of 32)" -- true
says 'did not lead to'
exits 2 cairn checkpoint bisect --good "$(id_of 5)" --bad "$(id_of 5)" -- true
exits 2 cairn checkpoint bisect --good "$(id_of 5)" --bad "$(id_of 9)"
exits 2 cairn checkpoint bisect --good "$(id_of 5)" --bad "$(id_of 9)" --
exits 2 cairn checkpoint bisect --bad "$(id_of 9)" -- true
exits 10 cairn checkpoint bisect --good 1 --bad 999 -- true
exits 10 cairn checkpoint bisect --good "$(id_of 5)" --bad "$(id_of 9)" -- ./no-such-program
is "$(ls tmp)" '' 'nothing is left in any case'

# ---- Stopping ----
for how in 'kill -9 $$' 'exit 128' 'exit 255'; do
    exits 7 cairn checkpoint bisect --good 1 --bad "$(id_of 32)" -- sh -c "$how"
    silent_on out
done
exits 0 cairn checkpoint bisect --good 1 --bad 3 -- sh -c 'exit 127'
is "$(cat out)" "$(id_of 2)" 'up to 127 is bad'
for signal in TERM HUP; do
    cairn checkpoint bisect --good 1 --bad "$(id_of 32)" -- \
        sh -c "sleep 61.25 & touch $PWD/up.$signal; wait" >out 2>err &
    pid=$!
    ok "$signal: the command runs" wait_for 20 test -e up.$signal
    kill -s "$signal" $pid
    wait $pid
    is $? 7 "$signal: stopped"
    ended() { ! lives 'sleep 61.25'; }
    ok "$signal: the command has ended, with what it started" ended
    is "$(ls tmp)" '' "$signal: the scratch directory is gone"
done

# ---- Killed ----
cairn checkpoint bisect --good 1 --bad "$(id_of 32)" -- \
    sh -c "touch $PWD/up.KILL; while [ ! -e $PWD/go ]; do sleep 0.05; done; touch $PWD/gone" >out 2>err &
pid=$!
ok 'KILL: the command runs' wait_for 20 test -e up.KILL
kill -9 $pid
wait $pid 2>/dev/null
is "$(bytes)" "$before" 'KILL: the store is as it was'
exits 0 cairn checkpoint verify
left=$(ls tmp)
ok 'KILL: the directory is left, under a name that says whose it is' test "${left#cairn-bisect-}" != "$left"
exits 0 cairn checkpoint bisect --good 1 --bad 2 -- true
is "$(ls tmp)" "$left" 'not removed while the command runs'
touch go
wait_for 20 test -e gone
removed() { cairn checkpoint bisect --good 1 --bad 3 -- true >out 2>err; [ -z "$(ls tmp)" ]; }
ok 'the next bisect removes it then' wait_for 20 removed
mkdir tmp/cairn-bisect-notes tmp/cairn-bisect-abcdef-mine
removed
is "$(find tmp -mindepth 1 | sort | tr '\n' ' ')" 'tmp/cairn-bisect-abcdef-mine tmp/cairn-bisect-notes ' 'but not what has another name'
rmdir tmp/cairn-bisect-*

# ---- Damage in the middle ----
seq_of() { id_of "$1" | sed 's/debug:\([0-9]*\)-.*/\1/'; }
"$sql" .cairn/cairn.db "UPDATE checkpoint SET record = flip(record, length(record) - 3) WHERE seq = $(seq_of 16)" >sql.out
exits 0 cairn checkpoint bisect --good "$(id_of 1)" --bad "$(id_of 32)" -- ./bad.sh 20
is "$(cat out)" "$(id_of 20)" 'a damaged one in the middle is skipped'
says "debug:$(seq_of 16) is damaged: skipped"
exits 1 cairn checkpoint bisect --good "$(id_of 1)" --bad "$(id_of 32)" --json -- ./bad.sh 16
is "$(json_get '.candidates[0]') $(json_get '.candidates[1]') $(json_get '.skipped[0]')" \
    "debug:$(seq_of 16) $(id_of 17) debug:$(seq_of 16)" 'and may be the first bad one'
exits 5 cairn checkpoint bisect --good "$(seq_of 16)" --bad "$(id_of 32)" -- true
exits 0 cairn checkpoint delete "$(id_of 12)" --yes
exits 0 cairn checkpoint bisect --good "$(id_of 1)" --bad "$(id_of 32)" -- ./bad.sh 13
is "$(cat out)" "$(id_of 13)" 'a deleted one is no gap'

# The content of the newest state, which no other one is made from.
"$sql" .cairn/cairn.db 'UPDATE object SET data = flip(data, length(data) - 1) WHERE id = (SELECT max(id) FROM object)' >sql.out
exits 0 cairn checkpoint bisect --good "$(id_of 1)" --bad "$(id_of 32)" --check -- ./bad.sh 13
is "$(cat out)" "$(id_of 13)" 'one whose content is damaged cannot be tried'
says "$(id_of 32) is damaged: skipped"

done_testing
