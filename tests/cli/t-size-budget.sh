# The setting size-budget of a session: told once when more is stored than it says, and
# nothing is deleted by this. Every command is a process of its own.
. "$TESTS/cli/tap.sh"

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>doc.err
    json_get "$get_path" doc.json
}
setting() { get '.settings[0].value' cairn session config size-budget; }
warned() { grep -c 'more than its size-budget' err; }
random() { head -c "$1" /dev/urandom; }
total() { get .total cairn checkpoint list --limit 1; }

mkdir p
exits 0 cairn session start budget

# ---- The setting ----
is "$(setting)" 2G 'the usual one'
is "$(get '.settings[0].default' cairn session config size-budget)" true 'was never set'
for wrong in 0 G 1x 1.5G '2 G' 2GiB 99999999999999999999 9999999T many ''; do
    exits 2 cairn session config size-budget "$wrong"
    says 'is not a value of size-budget: give a size such as 500M or 2G, or off'
done
is "$(setting)" 2G 'nothing of that was stored'
for good in 1 1000000 900K 500M 3G 8T off; do
    exits 0 cairn session config size-budget "$good"
    is "$(setting)" "$good" "$good is kept as it is"
done
is "$(get .budget cairn session size)" null 'off'
is "$(get '.settings[0].default' cairn session config size-budget)" false 'which is not the usual one'
run cairn session config size-budget 900K
is "$(get .budget cairn session size)" 921600 'in units of 1,024'

# ---- Told once ----
run cairn session config files p
random 500000 >p/a
exits 0 cairn checkpoint create one
is "$(warned)" 0 'below it nothing is told'
random 500000 >p/b
exits 0 cairn checkpoint create two
is "$(warned)" 1 'above it, it is told'
says 'session budget takes 97'
says 'size-budget of 900.0 KiB'
says 'cairn session size' 'with what to do'
is "$(wc -l <out)" 1 'on stderr'
exits 0 cairn checkpoint create three
is "$(warned)" 0 'once'
exits 0 cairn note add 'it is slow'
is "$(warned)" 0 'whatever is done'
random 500000 >p/c
exits 0 cairn checkpoint create four
is "$(warned)" 0 'also where it grows'
is "$(total)" 4 'and nothing was deleted'

# ---- Below it, and above it again ----
rm p/c p/b
run cairn checkpoint create five
for id in 2 3 4; do
    run cairn checkpoint delete "$id" --yes
done
run cairn gc
exits 0 cairn note add 'it is fast'
is "$(warned)" 0 'below it'
sleep 0.05
random 600000 >p/d
exits 0 cairn checkpoint create six
is "$(warned)" 1 'and above it again'

# ---- Another one ----
exits 0 cairn session config size-budget 10M
is "$(warned)" 0 'a larger one'
exits 0 cairn session config size-budget 100K
is "$(warned)" 1 'and one that is too small already, at once'
exits 0 cairn session config size-budget off
exits 0 cairn checkpoint create seven
is "$(warned)" 0 'off'
exits 0 cairn session config size-budget 100K --json
is "$(warned)" 1 'on stderr also beside JSON'
json_ok 'which is whole'
exits 0 cairn session size
says 'budget'
is "$(warned)" 0 'what only reads tells nothing'

# ---- By checkpoints that are made by themselves, in another session, by a rule ----
exits 0 cairn session start second
run cairn session config size-budget 50K
run cairn session config files p
run cairn hypothesis add 'the cache is stale'
is "$(warned)" 0 'what makes no checkpoint'
exits 0 cairn hypothesis reject h1 --reason 'it is not'
is "$(warned)" 1 'one that is made by itself'
says 'session second takes'
run cairn session config keep-last 1
for i in 1 2 3 4; do
    random 20000 >p/a
    sleep 0.05
    run cairn checkpoint create --trigger code-modified
done
ok 'rules delete as they did' [ "$(get .total cairn checkpoint list --session second --limit 1)" -le 3 ]

# ---- What counts is what the session has, not the store ----
exits 0 cairn session start third
exits 0 cairn session config size-budget 100K
is "$(warned)" 0 'the store has more, the session has not'
exits 0 cairn checkpoint create 'a note'
is "$(warned)" 0 'so nothing is told'
exits 0 cairn checkpoint verify
done_testing
