# make: sanitize
# What was deleted is gone from every file of the store, and nothing else is.
. "$TESTS/cli/tap.sh"

nowhere() { # TEXT: in no file of the store
    ! grep -rqF -e "$1" .cairn
}
# The same pseudo-random text each time, which compresses badly.
noise() { # LINES
    awk -v n="$1" 'BEGIN { x = 7; for (i = 0; i < n; i++) { s = "";
        for (j = 0; j < 60; j++) { x = (x * 16807) % 2147483647; s = s sprintf("%c", 97 + x % 26) }
        print s } }'
}
similar=$(noise 60)

# ---- A text that is the base of the next one ----

exits 0 cairn session start texts
for i in 1 2 3; do
    cairn checkpoint create --summary "the $i." --description "$similar number $i$(
        [ $i != 2 ] || echo ' SENSITIVE-Kowalski')" --json >made || echo failed >failed
    eval "c$i=$(json_get .id made)"
done
ok 'three checkpoints' [ ! -e failed ]
ok 'before, the text is there' grep -rqF Kowalski .cairn
: "${c1:?}" "${c2:?}" "${c3:?}"
exits 0 cairn search Kowalski
exits 0 cairn checkpoint delete "$c2" --yes
exits 0 cairn gc
ok 'after gc the text is nowhere' nowhere Kowalski
ok 'nor in the index of searches' nowhere kowalski
exits 0 cairn checkpoint verify
for id in "$c1" "$c3"; do
    run cairn checkpoint show "$id"
    says "$(echo "$similar" | tail -n 1)" "$id has its text"
done
exits 0 cairn gc
says '0 of 2 objects' 'nothing is left for the next gc'

# ---- A file of many lines, of which one was a password for a while ----

mkdir p
config() {
    noise 200 | awk -v line="$1" 'NR == 100 { print line; next } { print }' >p/conf
}
exits 0 cairn session start files
exits 0 cairn session config files p
config 'password: none'
exits 0 cairn checkpoint create first
config 'password: Lewandowska-9'
cairn checkpoint create second --json >made
second=$(json_get .id made)
config 'password: see the vault'
exits 0 cairn checkpoint create third --json
third=$(json_get .id)
ok 'before, the password is there' grep -rqF Lewandowska .cairn
exits 0 cairn checkpoint delete "$second" --yes
exits 0 cairn gc
ok 'after gc the password is nowhere' nowhere Lewandowska
exits 0 cairn checkpoint cat "$third:conf"
ok 'the file of the third is whole' cmp -s out p/conf
exits 0 cairn checkpoint verify
exits 0 cairn doctor

# ---- Manual checkpoints, when they are asked for ----

exits 0 cairn session start manual
exits 0 cairn session config files off
for i in 1 2 3 4 5; do
    exits 0 cairn checkpoint create "manual $i"
done
exits 0 cairn checkpoint label "$(cat out)" keep
exits 0 cairn checkpoint create 'manual 6'
exits 0 cairn checkpoint prune --keep-last 1
says 'deleted 0 of 6' 'else they stay'
exits 0 cairn checkpoint prune --keep-last 1 --manual-too --dry-run
says 'would delete 4 of 6'
exits 0 cairn checkpoint prune --keep-last 1 --manual-too
says 'deleted 4 of 6' 'the newest stays, and what is labelled keep'
exits 2 cairn checkpoint prune --keep 3 --manual-too
exits 0 cairn checkpoint verify
exits 0 cairn session delete manual --yes

# ---- A whole session ----

exits 0 cairn session start gone
exits 0 cairn session config files p
config 'password: Zielinski-7'
exits 0 cairn hypothesis add 'perhaps Wojcik did it'
exits 0 cairn session message add 'ask Kaminska about it'
exits 0 cairn checkpoint create 'as Mazur said'
exits 0 cairn branch start other
exits 0 cairn checkpoint create 'as Krawczyk said'
last=$(cairn checkpoint list --json --limit 1 | sed 's/.*"seq": *\([0-9]*\).*/\1/')
exits 0 cairn checkpoint label "$last" keep
exits 0 cairn search Wojcik
exits 0 cairn session message add 'and Nowakowski, too'
exits 0 cairn search Nowakowski
exits 2 cairn session delete gone
says 'needs --yes'
exits 10 cairn session delete nobody --yes
cairn exec --session gone -- sh -c 'echo >running; while [ ! -e go ]; do sleep 0.05; done' >exec.out 2>&1 &
exec=$!
wait_for 20 test -e running
exits 75 cairn session delete gone --yes
says 'is in use'
: >go
wait "$exec"
cairn session watch --session gone >watched 2>&1 &
watch=$!
exits 0 cairn note add 'seen by Lis' --session gone
wait_for 20 grep -q . watched
exits 75 cairn session delete gone --yes
kill "$watch"
wait "$watch"
exits 0 cairn session delete gone --yes --json
json_ok 'what was deleted is JSON'
is "$(json_get .name)" gone 'the session that is deleted is named'
exits 10 cairn session show gone
exits 0 cairn gc
for word in Zielinski Wojcik wojcik Kaminska kaminska Nowakowski nowakowski Mazur Krawczyk krawczyk; do
    ok "nothing tells $word" nowhere "$word"
done
exits 0 cairn checkpoint verify
exits 0 cairn doctor
exits 0 cairn events
says 'deleted session 4'
ok 'the event has no text of it' sh -c '! cairn events --json | grep -q gone'
exits 0 cairn checkpoint cat "$third:conf"
ok 'files of another session stay' grep -q 'see the vault' out
exits 10 cairn checkpoint show "$last"
exits 0 cairn session list --json
is "$(json_get .total)" 2 'two sessions are left'
# No number is given again.
exits 0 cairn session start gone
exits 0 cairn session show gone --json
is "$(json_get .session)" 5 'a new session has a new number'
exits 0 cairn checkpoint create 'a new one'
exits 0 cairn session delete gone --yes
exits 0 cairn session list
exits 0 cairn checkpoint verify

# What another session begins with stays.
exits 0 cairn session start origin
exits 0 cairn session config files .
echo 1 >origin.txt
exits 0 cairn checkpoint create 'a beginning'
exits 0 cairn checkpoint fork head --to ../forked
fork=$(cat out)
echo 2 >origin.txt
exits 0 cairn checkpoint create 'later'
exits 2 cairn session delete origin --yes
says "session $fork was forked from its checkpoint" 'the fork is named'
exits 0 cairn checkpoint verify
exits 0 cairn session delete "$fork" --yes
exits 0 cairn session delete origin --yes
exits 0 cairn checkpoint verify
rm -rf ../forked origin.txt

# ---- Sessions of agents, by age ----

exits 0 cairn session start mine
exits 2 cairn session config keep-sessions 30
says 'give days, such as 30d'
exits 0 cairn session config keep-sessions 30d
exits 0 cairn session config keep-sessions --session texts
is "$(cat out)" 30d 'it is of the whole store'
exits 0 cairn session start agent-new --no-switch
exits 0 cairn session size
says '0 of 1 session of agents are older'
exits 0 cairn session size --json
is "$(json_get .keep_sessions)|$(json_get .old_sessions)" '30|0' 'as JSON, too'
exits 0 cairn gc --json
is "$(json_get .sessions)" 0 'none is due'
exits 0 cairn session show agent-new

done_testing
