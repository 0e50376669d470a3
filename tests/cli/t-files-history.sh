# The files of all checkpoints of a session: the versions of one file, what is searched
# in all of them, who made a line, archives. Every command is a process of its own.
. "$TESTS/cli/tap.sh"

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>/dev/null
    json_get "$get_path" doc.json
}
make_one() { # MESSAGE: the number of the checkpoint
    cairn checkpoint create "$1" 2>/dev/null | sed 's/^debug:\([0-9]*\)-.*/\1/'
}

mkdir -p p/src/deep p/other
run cairn session start history
bare=$(make_one 'without files')
run cairn session config files p

# ---- The versions of one file ----
printf 'one\ntwo\nthree\n' >p/src/deep/a.txt
echo other >p/other/b
one=$(make_one first)
echo more >>p/other/b
two=$(make_one 'another file')
printf 'one\nTWO\nthree\n' >p/src/deep/a.txt
three=$(make_one 'an edit')
chmod 600 p/src/deep/a.txt
four=$(make_one 'a mode')
rm p/src/deep/a.txt
five=$(make_one gone)
ln -s ../../other/b p/src/deep/a.txt
six=$(make_one 'a link')
exits 0 cairn checkpoint log src/deep/a.txt
is "$(awk 'NR > 1 { print $4 }' out | tr '\n' ' ')" 'added removed mode changed added ' \
    'what became of it, newest first'
ok 'a checkpoint of another file is none of its versions' \
    sh -c "! grep -q 'debug:$two-' out"
matches "^debug:$three-[0-9a-f]+ .* changed +14 bytes" 'with the size'
says 'an edit' 'and the message'
exits 0 cairn checkpoint log src/deep/a.txt -n 2
is "$(awk 'NR > 1 { print $4 }' out | tr '\n' ' ')" 'added removed ' 'the newest two'
exits 2 cairn checkpoint log src/deep/a.txt -n 0
exits 0 cairn checkpoint log src/deep/a.txt --json
json_ok 'as JSON'
is "$(json_get '.versions[0].file.target' out)" ../../other/b 'what a link points to'
is "$(json_get '.versions[1].change' out) $(json_get '.versions[1].file' out)" 'removed null' \
    'a version that is none'
is "$(json_get '.versions[4].seq' out)" "$one" 'the first one'
exits 0 cairn checkpoint log src
is "$(awk 'NR > 1' out | wc -l)" 5 'a directory: whatever is below it'
exits 0 cairn checkpoint log src/deep/
is "$(awk 'NR > 1' out | wc -l)" 5 'also with a slash behind it'
exits 10 cairn checkpoint log src/none
says 'none of 7 checkpoints holds src/none'
exits 10 cairn checkpoint log src/deep/a.txt/below
exits 10 cairn checkpoint log ../p/other/b
exits 2 cairn checkpoint log
exits 10 cairn checkpoint log other/b --session nobody

# ---- Along the line, and on all branches ----
run cairn checkpoint restore "$three" --yes
echo four >>p/src/deep/a.txt
seven=$(make_one 'on the new branch')
exits 0 cairn checkpoint log src/deep/a.txt
is "$(awk 'NR > 1 { print $4 }' out | tr '\n' ' ')" 'changed changed added ' \
    'what led to the present state'
ok 'and nothing else' sh -c "! grep -qE 'debug:($four|$five|$six)-' out"
exits 0 cairn checkpoint log src/deep/a.txt --all
is "$(awk 'NR > 1 { print $4 }' out | tr '\n' ' ')" \
    'changed added removed mode changed added ' 'with --all every branch'
is "$(get '.versions[0].branch' cairn checkpoint log src/deep/a.txt --all)" \
    "$(get .branch cairn session show)" 'and its name'
run cairn session config files off
make_one 'without files again' >made
run cairn session config files p
make_one 'and with' >made
is "$(cairn checkpoint log src/deep/a.txt | awk 'NR > 1' | wc -l)" 3 \
    'checkpoints without files are passed over'

# ---- Damage ----
cp -r .cairn sound
run "$BUILD/tests/tools/sql" .cairn/cairn.db \
    "UPDATE checkpoint SET record = zeroblob(length(record)) WHERE seq = $two"
exits 5 cairn checkpoint log src/deep/a.txt
says "debug:$two " 'a damaged checkpoint is named'
is "$(awk 'NR > 1 { print $4 }' out | tr '\n' ' ')" 'changed changed damaged added ' \
    'and all others are told of'
exits 5 cairn checkpoint log src/deep/a.txt --json
json_ok 'as JSON'
is "$(json_get .damaged out)" true 'also there'
rm -r .cairn
mv sound .cairn
done_testing
