# Files of checkpoints are damaged, and a repair loses a directory: then each command names
# the checkpoints that lack something, and none sends from one to the next in a circle.
. "$TESTS/cli/tap.sh"
sql=$BUILD/tests/tools/sql
db=.cairn/cairn.db

change_lost() { # content of one file, with the same time
    echo "$1" >lost/lost-1
    touch -d @1700000000 lost/lost-1
}

exits 0 cairn session start s
exits 0 cairn session config files .
for dir in lost kept; do
    mkdir $dir
    for i in 1 2 3; do
        echo "$dir $i" >"$dir/$dir-$i"
    done
done
change_lost 'lost 1'
exits 0 cairn checkpoint create one
change_lost changed
exits 0 cairn checkpoint create two
mv lost ..
exits 0 cairn checkpoint create three
mv ../lost .
# The directory as it was first, from which the next one is made.
id=$("$sql" $db 'SELECT min(base) FROM object WHERE base > 0')
ok 'the directory is an object' test -n "$id"
cp -r .cairn whole

"$sql" $db "UPDATE object SET data = flip(data, 60) WHERE id = $id"
exits 5 cairn doctor
ok 'more than one object is damaged by that' test "$(grep -c '^BAD' out)" -gt 1
is "$(grep -c 'remedy: ' out)" 1 'one remedy for all of them'
says 'cairn doctor --repair' 'which is the repair'
ok 'it says nothing of runs, of which there are none' sh -c '! grep -q "resume works" out'
exits 5 cairn doctor --json
is "$(grep -o '"remedy":"' out | wc -l)" "$(json_get .bad out)" 'a program finds it with each'

matches '"files":[[]{"object":"[0-9a-f]*","checkpoint":"debug:[12]-[0-9a-f]*","path":"lost"}' 'the doctor names the directory and the checkpoint'
exits 5 cairn doctor
matches '^object [0-9a-f]{12} is of lost in checkpoint debug:1-' 'to people, too'
exits 5 cairn checkpoint verify
matches '^object [0-9a-f]{12} is of lost in checkpoint debug:1-' 'and so does verify'
exits 5 cairn checkpoint verify --json
matches '"files":[[]{"object":"[0-9a-f]*","checkpoint":"debug:[12]-[0-9a-f]*","path":"lost"}' 'for programs'
exits 5 cairn checkpoint verify 1
matches '^object [0-9a-f]{12} is of lost in checkpoint debug:1-' 'verify of one checkpoint'
rm -r .cairn && cp -r whole .cairn
id=$("$sql" $db "SELECT id FROM object WHERE digest = X'$(printf 'lost 2\n' | sha256sum | cut -c 1-64)'")
"$sql" $db "UPDATE object SET data = flip(data, 1) WHERE id = $id"
exits 5 cairn checkpoint verify
matches '^object [0-9a-f]{12} is of lost/lost-2 in checkpoint debug:1-' 'a damaged file has its path'
"$sql" $db "DELETE FROM object WHERE id = $id"
exits 5 cairn checkpoint verify
matches '^object [0-9a-f]{12} is of lost/lost-2 in checkpoint debug:1-' 'a missing one, too'
rm -r .cairn && cp -r whole .cairn
id=$("$sql" $db 'SELECT min(base) FROM object WHERE base > 0')
"$sql" $db "UPDATE object SET data = flip(data, 60) WHERE id = $id"

exits 5 cairn doctor --repair
exits 0 cairn checkpoint verify
matches '^debug:1-[0-9a-f]*: a repair could not save' 'verify names the first'
matches '^debug:2-[0-9a-f]*: a repair could not save' 'and the second'
ok 'and no other' test "$(grep -c 'could not save' out)" = 2
says '2 of the checkpoints lack something' 'the sum is told'
exits 0 cairn checkpoint verify --json
is "$(json_get .ok out) $(json_get .damaged out) $(json_get .part_lost out)" 'true 0 2' 'for programs, too'
is "$(json_get '.problems[0].kind' out)" lost 'of a kind of its own'
exits 0 cairn checkpoint verify 1
says 'could not save' 'verify of one says so'
exits 0 cairn checkpoint verify 3
ok 'nothing of the one that is whole' test ! -s out
exits 0 cairn doctor
matches '^warn +lost +2 checkpoints lack something .*debug:1-.*debug:2-' 'the doctor names them'
says 'cairn checkpoint verify' 'and where to read on'

exits 0 cairn checkpoint list
is "$(grep -c 'PART LOST' out)" 2 'the list marks them'
ok 'and not the one that is whole' sh -c 'grep debug:3 out | grep -v LOST'
exits 0 cairn checkpoint list --json
is "$(json_get '.checkpoints[0].part_lost' out) $(json_get '.checkpoints[2].part_lost' out)" 'false true' 'with --json, too'
exits 0 cairn checkpoint show 1
says 'PART LOST' 'show says so'
exits 0 cairn checkpoint show 3
ok 'of the whole one it does not' sh -c '! grep LOST out'
exits 0 cairn checkpoint timeline
is "$(grep -c 'PART LOST' out)" 2 'the timeline marks them'

for command in 'restore 1 --yes' 'diff 1 3' 'files 1' 'cat 1 lost/lost-2'; do
    # shellcheck disable=SC2086
    exits 5 cairn checkpoint $command
    says 'could not be saved by a repair' "$command says why" err
    says 'cairn checkpoint verify' "$command: and what names them all" err
    ok "$command: it does not send to the doctor" sh -c '! grep -q "run .cairn doctor" err'
done
exits 5 cairn checkpoint grep kept
says 'cairn checkpoint verify' 'what searches all sends to what names them'
exits 0 cairn checkpoint cat 1 kept/kept-2
is "$(cat out)" 'kept 2' 'what is left can be read'

# What a lost list may have named stays, until somebody lets it go.
cp -r .cairn repaired
exits 0 cairn gc
matches '^[0-9]* objects? stays? \([0-9]+ bytes\) because a repair has lost' 'gc says how much stays, and why'
says 'cairn gc --forget-lost' 'and how it goes'
exits 0 cairn gc --json
held=$(json_get .held_objects out)
ok 'it is counted' test "$held" -gt 0
is "$(json_get .objects out)" 0 'and nothing went'
echo 'made since' >since
exits 0 cairn checkpoint create since
exits 0 cairn checkpoint delete "$(cairn checkpoint list --limit 1 | sed -n '2s/ .*//p')" --yes
exits 0 cairn gc --json
ok 'what came later goes as ever' test "$(json_get .objects out)" -gt 0
is "$(json_get .held_objects out)" "$held" 'and the rest stays'
exits 0 cairn gc --forget-lost --dry-run --json
is "$(json_get .objects out) $(json_get .held_objects out)" "$held 0" 'a dry run says what would go'
exits 0 cairn gc --forget-lost --json
is "$(json_get .objects out) $(json_get .held_objects out)" "$held 0" 'and then it does'
exits 0 cairn gc
ok 'once and for all' sh -c '! grep -q forget-lost err'
exits 0 cairn checkpoint verify
exits 0 cairn checkpoint cat 1 kept/kept-2
rm -rf .cairn since
mv repaired .cairn

# The same where the record of a checkpoint is lost.
mv .cairn repaired
cp -r whole .cairn
"$sql" $db 'UPDATE checkpoint SET record = flip(record, 90) WHERE seq = 2'
exits 5 cairn doctor --repair
exits 0 cairn gc
says 'cairn gc --forget-lost' 'what a lost checkpoint may have named stays, too'
rm -rf .cairn
mv repaired .cairn

# What comes back is lost no more.
change_lost changed
exits 0 cairn checkpoint create again
exits 0 cairn checkpoint list
is "$(grep 'PART LOST' out | cut -d- -f1)" debug:1 'a checkpoint is whole as soon as its files are there again'
change_lost 'lost 1'
exits 0 cairn checkpoint create 'and again'
exits 0 cairn doctor
ok 'at last nothing is lost' sh -c '! grep "could not save" out'
done_testing
