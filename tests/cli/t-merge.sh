# make: sanitize
# shellcheck shell=sh disable=SC2154
# Merging branches, carrying a confidence on, and pruning the checkpoints of a session: each
# step a process of its own.
. "${TESTS:?}/cli/tap.sh"
unset CAIRN_SESSION

exits 0 cairn session start merging -q
exits 0 cairn belief add 'the cache is warm' --confidence 0.9
exits 0 cairn belief add 'the hosts are alike' --confidence 0.9
exits 0 cairn belief add 'one host stands for all' --confidence 0.9
exits 0 cairn belief depend b2 b1
exits 0 cairn belief depend b3 b2

# ---- A cascade: shown, refused when stale, done, taken back ----
exits 0 cairn belief cascade b1 0.8 --preview
ok 'one step away' grep -q '^b2 *1 *0.90 *0.76$' out
ok 'two steps away' grep -q '^b3 *2 *0.90 *0.72$' out
token=$(sed -n 's/.*--token \([0-9a-f]*\).*/\1/p' err)
ok 'the preview has a token' test -n "$token"
cairn belief show b2 >b2
ok 'and changes nothing' grep -q '0.9' b2
exits 0 cairn belief update b3 --confidence 0.5
exits 2 cairn belief cascade b1 0.8 --token "$token"
says 'has changed since that preview' err
cairn belief show b1 >b1
ok 'a stale one changes nothing' grep -q '0.9' b1
exits 0 cairn belief cascade b1 0.8 --preview --json
token=$(json_get '.token' out)
is "$(json_get '.total' out)" 3 'three steps'
exits 0 cairn belief cascade b1 0.8 --token "$token"
cairn belief show b3 >b3
ok 'done as it was shown' grep -q '0.722' b3
exits 0 cairn session undo
cairn belief show b3 >b3
ok 'and taken back by one command' grep -q '0.5' b3
exits 2 cairn belief cascade b1 1.5
says 'confidence' err
exits 2 cairn belief cascade b1 half
exits 10 cairn belief cascade b9 0.5

# ---- Merging ----
exits 0 cairn note add 'both will change this' --tag a
exits 0 cairn note add 'only the branch changes this'
exits 0 cairn note add 'only main changes this'
exits 0 cairn branch start other -q
exits 0 cairn note update n1 --text 'theirs' -q
exits 0 cairn note update n2 --text 'changed by the branch' -q
exits 0 cairn note add 'new on the branch' -q
exits 0 cairn branch switch main -q
exits 0 cairn note update n1 --tag b -q
exits 0 cairn note update n3 --text 'changed by main' -q
exits 0 cairn branch merge other --json
is "$(json_get '.conflicts[0]' out)" n1 'what both changed is named'
is "$(json_get '.added' out)" 1 'one was added'
ok 'a checkpoint has the merged state' cairn checkpoint show "$(json_get '.checkpoint' out)"
cairn note list --limit 100 >notes
ok 'the field that only they changed is theirs' grep -q theirs notes
cairn note show n1 >n1
ok 'and the one that only we changed ours' grep -q 'tags *b' n1
ok 'what one branch changed is as it has it' grep -q 'changed by the branch' notes
ok 'on both sides' grep -q 'changed by main' notes
ok 'what was new there is here' grep -q 'new on the branch' notes
exits 2 cairn branch merge other
says 'merged' err
exits 2 cairn branch merge main
exits 10 cairn branch merge nowhere
cairn branch list >branches
ok 'the branch is merged' grep -q '^merged.*other' branches

# ---- What was merged before is known: only the other branch has changed since ----
exits 0 cairn note add 'of b, later changed by c'
exits 0 cairn note add 'of b, later removed by c'
exits 0 cairn branch start b -q
exits 0 cairn note update n5 --text 'changed by b' -q
exits 0 cairn branch start c -q
exits 0 cairn branch switch main -q
exits 0 cairn branch merge b -q
exits 0 cairn branch switch c -q
exits 0 cairn note update n5 --text 'changed by c' -q
exits 0 cairn note remove n6 -q
exits 0 cairn branch switch main -q
exits 0 cairn branch merge c --json
ok 'no item was changed by both' grep -q '"conflicts":\[\]' out
cairn note list --limit 100 >notes
ok 'as c has it' grep -q 'changed by c' notes
ok 'and what it removed' test "$(grep -c '^n6' notes)" -eq 0

# ---- What was decided, and what follows by itself ----
exits 0 cairn branch switch b
says 'branch b was merged: what is done on it from now on is not'
exits 0 cairn branch switch main
exits 0 cairn session start deciding
exits 0 cairn hypothesis add 'it is the cache'
exits 0 cairn hypothesis add 'likely' --prior 0.5
exits 0 cairn gap add 'is it likely?' --hypothesis h2
exits 0 cairn note add 'to be removed'
exits 0 cairn belief add 'it is warm' --confidence 0.9 --subject cache --claim warm
exits 0 cairn belief add 'it is cold' --confidence 0.5 --subject cache --claim warm --denied
exits 0 cairn branch start that -q
exits 0 cairn hypothesis reject h1
exits 0 cairn hypothesis update h2 --prior 0.8 -q
exits 0 cairn note update n1 --text 'still needed' -q
exits 0 cairn belief update b2 --confidence 0.8 -q
exits 0 cairn gap add 'asked there' --hypothesis h2 -q
exits 0 cairn branch switch main -q
exits 0 cairn hypothesis test h1
exits 0 cairn evidence add h2 'seen' --strength 0.7 --kind experiment -q
exits 0 cairn note remove n1 -q
exits 0 cairn branch merge that --take union
is "$(sort out | tr '\n' ' ')" 'h1 n1 ' 'stdout has the ids'
says 'h1: status testing (theirs: rejected): ours was taken' 'each field, both values, and which was taken'
says 'n1: removed (theirs: changed): theirs was taken' 'an item that one had removed'
ok 'nothing is said of a field that one alone had changed' sh -c '! grep -q prior err'
says '2 gaps closed' 'a hypothesis that became certain closes its gaps'
says 'b2 contradicts b1' 'and a contradiction is told'
cairn gap show g1 >g1
ok 'the gap of the one branch' grep -q 'closed' g1
cairn gap show g2 >g2
ok 'and that of the other' grep -q 'closed' g2

exits 0 cairn branch start those -q
exits 0 cairn hypothesis update h1 --statement 'theirs' -q
exits 0 cairn gap add 'asked of what is certain' --hypothesis h2 -q
exits 0 cairn branch switch main -q
exits 0 cairn hypothesis update h1 --statement 'ours' -q
exits 0 cairn branch merge those --take theirs --json
json_ok 'as JSON'
is "$(json_get '.decided[0].id') $(json_get '.decided[0].field') $(json_get '.decided[0].ours') $(json_get '.decided[0].theirs') $(json_get '.decided[0].taken')" 'h1 statement ours theirs theirs' 'what was decided'
is "$(json_get .gaps_closed) $(json_get '.contradicts[0]')" '0 ' 'what was so before is not told again'
cairn gap show g3 >g3
ok 'a gap of what was certain when it was added stays open' grep -q 'open' g3
exits 0 cairn session switch 1

# ---- Pruning ----
for i in 1 2 3 4 5; do
    exits 0 cairn branch start "line $i" -q
    exits 0 cairn note add "on line $i" -q
    exits 0 cairn branch switch main -q
done
exits 0 cairn checkpoint create 'by hand' --tag kept -q
cairn checkpoint list --json --limit 100 >list
before=$(json_get '.total' list)
exits 2 cairn checkpoint prune
exits 2 cairn checkpoint prune --keep 1 --keep-last 1
exits 0 cairn checkpoint prune --keep-last 1 --dry-run --json
planned=$(json_get '.deleted' out)
cairn checkpoint list --json --limit 100 >list
is "$(json_get '.total' list)" "$before" 'a dry run deletes nothing'
exits 0 cairn checkpoint prune --keep-last 1 --json
is "$(json_get '.deleted' out)" "$planned" 'a prune deletes what the dry run said'
ok 'that is some' test "$planned" -gt 0
exits 0 cairn checkpoint prune --keep-last 1 --json
is "$(json_get '.deleted' out)" 0 'a second one deletes nothing'
cairn checkpoint list --limit 100 >left
ok 'one made by hand stays' grep -q 'by hand' left
exits 0 cairn checkpoint verify
for i in 1 2 3 4 5; do
    exits 0 cairn branch switch "line $i" -q
    cairn note list --limit 100 >notes
    ok "line $i has its state" grep -q "on line $i" notes
done

# ---- The head of another branch is all that there is of it ----
exits 0 cairn branch switch main -q
cairn branch list >branches
head=$(awk '/line 2$/ { print $5 }' branches)
exits 2 cairn checkpoint delete "$head" --yes
says 'only copy of the state' err
exits 0 cairn branch abandon 'line 2' --reason 'not needed'
exits 0 cairn checkpoint delete "$head" --yes
exits 0 cairn checkpoint verify

# ---- A gap that was open on a certain hypothesis ----
rm -rf .cairn
exits 0 cairn session start gaps
exits 0 cairn hypothesis add 'it is the cache'
for text in one two; do
    exits 0 cairn evidence add h1 "$text" --strength 1 --kind experiment
done
exits 0 cairn evidence add h1 'against it' --strength -1 --kind experiment
exits 0 cairn gap add 'what else' --hypothesis h1
exits 0 cairn branch start without
exits 0 cairn evidence remove e3
is "$(cairn gap show g1 --json >doc.json; json_get .status doc.json)" open 'evidence that is removed closes no gap'
exits 0 cairn branch switch main
exits 0 cairn branch merge without
is "$(cairn gap show g1 --json >doc.json; json_get .status doc.json)" open 'nor does the merge that takes that over'

# ---- Files are not merged, and that is said ----
# As words of the command that is suggested: what runs it takes them over.
mkdir files
cd files || exit
export CAIRN_STORE="$PWD/.cairn"
exits 0 cairn session start files
mkdir p p/sub
exits 0 cairn session config files p
for file in same ours theirs both gone-there gone-both sub/deep mode; do echo base >"p/$file"; done
ln -s same p/link
exits 0 cairn branch start spike
for file in theirs both sub/deep "new '\$x"; do echo spike >"p/$file"; done
rm p/gone-there p/gone-both
chmod 600 p/mode
ln -sf ours p/link
mkdir p/empty
exits 0 cairn note add found
exits 0 cairn checkpoint create there
exits 0 cairn branch switch main
echo main >p/ours
echo main >p/both
rm p/gone-both
exits 0 cairn branch merge spike
says 'files are not merged: spike has 7 files that it had changed, and that are otherwise here'
says '  both  (changed on both branches)'
for file in theirs gone-there sub/deep mode link; do says "  $file"; done
ok 'what is the same in both is not named' sh -c '! grep -Eq "^  (same|ours|gone-both|empty)" err'
is "$(cat p/theirs p/both p/ours)" "$(printf 'base\nmain\nmain')" 'no file was changed'
way=$(sed -n 's/^to take over those that it alone had changed: //p' err)
compare=$(sed -n 's/^to compare: //p' err)
exits 0 sh -c "$compare"
matches '^\+spike' 'the other one that is suggested shows what differs'
exits 0 sh -c "$way --yes"
is "$(cat p/theirs p/both p/ours p/sub/deep "p/new '\$x")" "$(printf 'spike\nmain\nmain\nspike\nspike')" 'the suggested command takes them over'
is "$(stat -c %a p/mode) $(readlink p/link) $(ls p/gone-there 2>/dev/null)" '600 ours ' 'all of them'
exits 0 cairn checkpoint undo-restore
is "$(cat p/theirs)" base 'which can be taken back'
exits 0 cairn branch start second
echo second >p/second
exits 0 cairn branch switch main
cd p || exit
exits 0 cairn branch merge second --json
is "$(json_get '.files_not_merged[0].path' out) $(json_get '.files_not_merged[0].both' out)" 'second false' 'as JSON'
exits 0 cairn branch start third
echo third >third
exits 0 cairn branch switch main
exits 0 cairn branch merge third
exits 0 sh -c "$(sed -n 's/^to take over the one that it alone had changed: //p' err) --yes"
is "$(cat third)" third 'also in the directory of the files'
exits 0 cairn branch start fourth
exits 0 cairn branch switch main
exits 0 cairn branch merge fourth
ok 'where no file differs nothing is said' sh -c '! grep -q "not merged" err'
cd ../..
unset CAIRN_STORE
done_testing
