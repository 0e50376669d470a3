# A session that was exported again after more was done in it, and imported where it is
# already: what is new is added, or what becomes of it is said; nothing is left out.
. "$TESTS/cli/tap.sh"

mkdir one two
one=$PWD/one/.cairn two=$PWD/two/.cairn
one() { CAIRN_STORE=$one "$@"; }
two() { CAIRN_STORE=$two "$@"; }
carry() { # SESSION [STATUS]: from one to two
    one cairn session export --session "$1" "$top/s.cairn" >exported 2>&1
    exits "${2:-0}" two cairn session import "$top/s.cairn"
}
top=$PWD
sessions() { cairn session list --json | tr '{' '\n' | sed -n 's/.*"name":"\([^"]*\)".*/\1/p' | sort | tr '\n' ' '; }

# Without checkpoints: known again.
exits 0 one cairn session start bare
exits 0 one cairn note add 'the first'
carry bare
carry bare
silent_on out
is "$(two sessions)" 'bare ' 'a session without checkpoints is not made twice'
exits 0 one cairn note add 'the second'
carry bare
is "$(cat out) $(two sessions)" 'bare bare ' 'what is new is added to it'
exits 0 two cairn note list --session bare
says 'the second'

# Items, messages, checkpoints, branches, merges and the end.
exits 0 one cairn session start q
exits 0 one cairn note add kept
exits 0 one cairn note add removed
exits 0 one cairn session message add 'said first' --role user
exits 0 one cairn checkpoint create one
carry q
exits 0 two cairn checkpoint list --session q --json
before=$(json_get '.checkpoints[0].id')
exits 0 one cairn note add later
exits 0 one cairn note update n1 --text edited
exits 0 one cairn note remove n2
exits 0 one cairn session message add 'said later' --role user
carry q
is "$(cat out) $(two sessions)" 'q bare q ' 'no checkpoint is new, and it is added all the same'
exits 0 two cairn note list --session q
says later
says edited
ok 'what was removed there is removed here' sh -c '! grep -q removed out'
exits 0 two cairn session message list --session q
says 'said later'
carry q
silent_on out
exits 0 one cairn branch start side
exits 0 one cairn note add 'on side'
exits 0 one cairn checkpoint create two
exits 0 one cairn branch switch main
exits 0 one cairn branch merge side
exits 0 one cairn checkpoint create three
exits 0 one cairn session message add 'said last' --role user
carry q
is "$(cat out) $(two sessions)" 'q bare q ' 'checkpoints and branches are added, too'
exits 0 two cairn branch list --session q
says side
exits 0 two cairn session message list --session q
is "$(grep -c 'said ' out)" 3 'each message is there once'
exits 0 two cairn checkpoint list --session q --json
says "$before" 'what was here keeps its id'
is "$(grep -o '"message":"[a-z]*"' out | sort | tr '\n' ' ')" '"message":"one" "message":"three" "message":"two" ' 'each checkpoint is there once'
exits 0 two cairn note list --session q
says 'on side'
exits 0 two cairn checkpoint verify
exits 0 two cairn doctor
exits 0 one cairn branch switch side
exits 0 one cairn note add 'on side again'
exits 0 one cairn branch abandon main --reason 'not this way'
exits 0 one cairn session end
carry q
exits 0 two cairn branch list --session q
says 'not this way'
exits 0 two cairn session show q --json
ok 'its end is taken over' test "$(json_get .ended)" != null
is "$(json_get .branch)" side 'and its current branch'
carry q
silent_on out
exits 0 two cairn checkpoint verify

# An older file changes nothing.
exits 0 one cairn session start older
exits 0 one cairn note add first
one cairn session export --session older old.cairn 2>err
exits 0 one cairn note add second
carry older
exits 0 two cairn session import old.cairn
silent_on out
exits 0 two cairn note list --session older
says second 'an older file changes nothing'
exits 0 one cairn session import old.cairn
silent_on out
exits 0 one cairn note list --session older
says second 'nor where it is from'

# Changed here since: what comes is in a session of its own, whole.
exits 0 one cairn session start both
exits 0 one cairn note add common
exits 0 one cairn session message add 'said there' --role user
exits 0 one cairn checkpoint create base
carry both
exits 0 two cairn note add 'done here' --session both
carry both
silent_on out
exits 0 one cairn note add 'done there'
exits 0 one cairn session message add 'said there, too' --role user
carry both
is "$(cat out)" both-2 'what was changed here is not changed'
says 'both was changed here since it was imported' 'and that is said'
exits 0 two cairn note list --session both-2
says common
says 'done there'
exits 0 two cairn session message list --session both-2
is "$(grep -c 'said there' out)" 2 'all messages are there'
exits 0 two cairn note list --session both
ok 'the other one is as it was' sh -c 'grep -q "done here" out && ! grep -q "done there" out'
exits 0 one cairn checkpoint create next
carry both
is "$(cat out)" both-2 'it continues with the one that was not changed'
carry both
silent_on out
exits 0 two cairn checkpoint verify

# Back: what is new there is brought, or refused by name.
two cairn session export --session both back.cairn 2>err
exits 5 one cairn session import back.cairn
says 'both: not all that it has is here'
says 'make a new checkpoint of it where the file is from' 'with what helps'
exits 0 two cairn checkpoint create 'for them' --session both
two cairn session export --session both back.cairn 2>err
exits 0 one cairn session import back.cairn
is "$(cat out)" both-2 'with a checkpoint it is brought'
exits 0 one cairn note list --session both-2
says 'done here'

# Numbers go on behind those of the file; and one that is damaged here is left alone.
exits 0 one cairn session start numbers
exits 0 one cairn note add one
carry numbers
exits 0 one cairn note add two
exits 0 one cairn note add removed
exits 0 one cairn note remove n3
carry numbers
is "$(two cairn note list --session numbers --json | tr '{' '\n' | grep -c '"text"')" 2 'two notes'
cp -a two twin
exits 0 two cairn note add here --session numbers
is "$(cat out)" n4 'no number is given twice'
exits 0 one cairn note add three
one cairn session export --session numbers numbers.cairn 2>err
CAIRN_STORE=$PWD/twin/.cairn
"$BUILD/tests/tools/sql" twin/.cairn/cairn.db "DELETE FROM item WHERE session = (SELECT session FROM session WHERE name = 'numbers') AND n = 1" >sql.out 2>&1
cat sql.out
exits 0 cairn session import numbers.cairn
is "$(cat out)" numbers-2 'damaged: what is new is in another one'
exits 0 cairn note list --session numbers-2
says three
unset CAIRN_STORE

# A copy of the store is another place, and its session is, too.
cp -a one three
CAIRN_STORE=$PWD/three/.cairn exits 0 cairn note add 'in the copy' --session older
CAIRN_STORE=$PWD/three/.cairn cairn session export --session older copy.cairn 2>err
exits 0 one cairn note add 'in the original' --session older
exits 0 one cairn session import copy.cairn
is "$(cat out)" older-2 'what was done in a copy of the store is not left out'
exits 0 one cairn note list --session older-2
says 'in the copy'

# A checkpoint that was deleted here stays so.
exits 0 one cairn session start thin
for n in 1 2 3 4; do
    one cairn note add "number $n" >out 2>err
    one cairn checkpoint create "state $n" >out 2>err
done
carry thin
exits 0 two cairn checkpoint list --session thin --json
deleted=$(json_get '.checkpoints[2].id')
exits 0 two cairn checkpoint delete "$deleted" --yes
exits 0 one cairn note add 'number 5'
exits 0 one cairn checkpoint create 'state 5'
carry thin
exits 0 two cairn checkpoint list --session thin --json
is "$(grep -o '"message":"state .' out | tr -dc '0-9\n' | tr '\n' ' ')" '5 4 3 1 ' \
    'what was deleted does not come back'

# Checkpoints that have another number here are named.
exits 0 one cairn session start renumbered
for n in 1 2 3; do
    one cairn note add "number $n" >out 2>err
    exits 0 one cairn checkpoint create "state $n"
    [ "$n" != 1 ] || first=$(cat out)
done
last=$(cat out)
two cairn session start ahead >out 2>err
for n in 1 2; do
    two cairn note add "ahead $n" >out 2>err
    exits 0 two cairn checkpoint create "ahead $n"
done
newest=$(cut -d - -f 1 <out | cut -d : -f 2)
f=$(echo "$first" | sed 's/debug:\(.*\)-.*/\1/')
carry renumbered
says "renumbered: debug:$f to debug:$((f + 2)) are debug:$((newest + 1)) to debug:$((newest + 3)) here"
is "$(cat out)" renumbered 'stdout has the name alone'
exits 0 two cairn checkpoint show "$((newest + 3))"
says "imported  it was $last there"
exits 0 two cairn checkpoint show "$((newest + 3))" --json
is "$(json_get '.imported_from[0]')" "$last" 'JSON has that, too'
exits 0 one cairn checkpoint create more --tag from:here
more=$(cat out)
one cairn session export --session renumbered s.cairn 2>err
exits 0 two cairn session import s.cairn --json
is "$(json_get '.sessions[0].made[0].was')" "$more" 'JSON of an import has the ids of what is new'
says '"made":[{"was":'
exits 0 two cairn session import s.cairn -q
silent_on out

# Another process imports the same file meanwhile.
mkdir race
mkfifo feed
CAIRN_STORE=$PWD/race/.cairn cairn session import - <feed >late.out 2>late.err &
pid=$!
exec 3>feed
head -n 1 s.cairn >&3
ok 'an import waits' wait_for 20 test -e race/.cairn/cairn.db
sleep 0.2
CAIRN_STORE=$PWD/race/.cairn exits 0 cairn session import s.cairn
tail -n +2 s.cairn >&3
exec 3>&-
wait $pid
is "$? $(cat late.out)" '0 ' 'what it has imported is skipped'
CAIRN_STORE=$PWD/race/.cairn exits 0 cairn session list --json
is "$(json_get .total)" 1 'and nothing is made twice'

# A turn that was changed in the file hides no later work.
mkdir changed
one cairn session export --session bare bare.cairn 2>err
one cairn session export --all all.cairn 2>err
sed 's/"turn":[0-9]*/"turn":1000000/' all.cairn >x.cairn
CAIRN_STORE=$PWD/changed/.cairn exits 5 cairn session import x.cairn
says 'not as it was written'
exits 0 one cairn note add 'after that' --session bare
exits 0 one cairn session export --session bare bare.cairn
CAIRN_STORE=$PWD/changed/.cairn exits 0 cairn session import bare.cairn
is "$(cat out)" bare-2 'it is not taken for an older file'

# What was deleted here is imported again.
exits 0 two cairn session delete bare --yes
carry bare
is "$(cat out)" bare 'what was deleted here comes again'
done_testing
