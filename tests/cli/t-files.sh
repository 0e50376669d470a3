# Files in the checkpoints of a session: what is kept, what is not, how they are listed
# and printed, that nothing is stored twice, and what gc, verify, export and a damaged
# store make of them. Every command is a process of its own.
. "$TESTS/cli/tap.sh"

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>/dev/null
    json_get "$get_path" doc.json
}
newest() { cat out; }
objects() { get .objects cairn checkpoint verify; }

mkdir p
run cairn session start files

# ---- The setting ----
is "$(cairn session config files)" off 'files are kept where somebody asks for it'
exits 10 cairn session config files nowhere
says 'there is no nowhere'
exits 2 cairn session config files .cairn
says 'belongs to the store'
exits 2 cairn session config files out
says 'is not a directory'
exits 0 cairn checkpoint create before
before=$(newest)
exits 10 cairn checkpoint files "$before"
says 'holds no files'
exits 0 cairn session config files p
exits 0 cairn session config files
says 'p' 'a directory below that of the store has a short name'

# ---- What is kept ----
mkdir -p p/dir/empty p/.git/objects p/.cairn
echo x >p/.git/objects/a
echo x >p/.cairn/a
printf 'zero \000 byte' >p/dir/binary
: >p/nothing
echo text >"p/name with blank"
nl=$(printf 'new\nline')
echo line >"p/$nl"
bad=$(printf 'b\377d')
echo bad >"p/$bad"
long=$(printf '%0255d' 1)
echo long >"p/$long"
echo option >p/--help
chmod 640 p/nothing
echo '#!/bin/sh' >p/dir/tool
chmod 755 p/dir/tool
ln -s ../nowhere p/dir/dangling
ln -s /etc p/outside
ln p/dir/tool p/dir/hard
mkfifo p/pipe
exits 0 cairn checkpoint create one
one=$(newest)
says '1 file was left out'
exits 0 cairn checkpoint files "$one"
says '-0640   0 bytes' 'a mode, and an empty file'
says '  dir/empty/' 'an empty directory'
says '  dir/dangling -> ../nowhere' 'a link'
says '  outside -> /etc' 'a link that leads out is a link'
says '  pipe  (is a socket, device or pipe)' 'what is left out is named'
says '-0755' 'a program'
ok 'no .git and no .cairn' sh -c '! grep -qE "\.git|\.cairn|objects" out'
is "$(grep -c 'outside/' out)" 0 'links are not followed'
cat_is() { # PATH: what is on disk
    cairn checkpoint cat "$one:$1" >got 2>err
    ok "the content of $1" cmp "p/$1" got
}
cat_is dir/binary
cat_is nothing
cat_is 'name with blank'
cat_is "$nl"
cat_is "$bad"
cat_is "$long"
cat_is --help
cat_is dir/hard
exits 10 cairn checkpoint cat "$one:dir/none"
exits 2 cairn checkpoint cat "$one:dir"
exits 2 cairn checkpoint cat "$one:outside"
says 'is a link to /etc'
exits 2 cairn checkpoint cat "$one:pipe"
exits 2 cairn checkpoint cat "$one"
exits 10 cairn checkpoint cat "$one:../out"
exits 0 cairn checkpoint show "$one"
says 'files     9, ' 'show counts them'
exits 0 cairn checkpoint files "$one" --json
json_ok 'as JSON'
is "$(json_get .files.files out)" 9 'files'
is "$(json_get .files.directories out)" 2 'directories'
is "$(json_get .files.links out)" 2 'links'
is "$(json_get .files.left_out out)" 1 'left out'
is "$(get .files cairn checkpoint show "$before")" null 'a checkpoint without any'

# ---- What has not changed ----
had=$(objects)
touch p/dir/tool p
is "$(get .made cairn checkpoint create --trigger compaction-warning)" false \
    'a time alone is no change'
is "$(objects)" "$had" 'and nothing is stored'
sleep 0.05
printf 'zero \000 bytE' >p/dir/binary # as long as before
is "$(get .made cairn checkpoint create --trigger compaction-warning)" true 'an edit by a shell is one'
chmod 600 p/nothing
is "$(get .made cairn checkpoint create --trigger compaction-warning)" true 'so is a mode'
rmdir p/dir/empty
is "$(get .made cairn checkpoint create --trigger compaction-warning)" true 'and a directory that is gone'
rm p/dir/dangling
ln -s elsewhere p/dir/dangling
is "$(get .made cairn checkpoint create --trigger compaction-warning)" true 'and another link'
is "$(get .made cairn checkpoint create --trigger compaction-warning)" false 'no change again'
had=$(objects)
cp -r p/dir p/copy
run cairn checkpoint create copied
more=$(($(objects) - had))
ok "a copied directory takes two objects and the record's, not $more" [ "$more" -le 4 ]
: >.cairn/files-1.index
is "$(get .made cairn checkpoint create --trigger compaction-warning)" false \
    'without the index every file is read, and nothing has changed'
exits 0 cairn checkpoint cat "$one:dir/binary"
printf 'zero \000 byte' >want
ok 'the earlier one is what it was' cmp want out

# ---- A file that cannot be read, and one that is not one any more ----
if [ "$(id -u)" = 0 ]; then
    skip 'a file that cannot be read' 'root reads every file'
else
    echo secret >p/locked
    chmod 0 p/locked
    run cairn checkpoint create locked
    exits 0 cairn checkpoint files "$(newest)"
    says 'locked  (cannot be read)'
    chmod 600 p/locked
    rm p/locked
fi
rm -r p/copy
echo now >p/copy
run cairn checkpoint create turned
turned=$(newest)
exits 0 cairn checkpoint cat "$turned:copy"
says now 'a directory that became a file'

# ---- What is ignored ----
mkdir -p p/build p/src/deep p/logs
echo o >p/build/a.o
echo c >p/src/a.c
echo o >p/src/a.o
echo keep >p/src/deep/keep.log
echo log >p/src/deep/x.log
echo log >p/logs/y.log
printf '/build/\n*.o\n*.log\n' >p/.gitignore
printf '!keep.log\n' >p/src/deep/.gitignore
printf '!y.log\n' >p/logs/.cairnignore
run cairn checkpoint create ignoring
exits 0 cairn checkpoint files "$(newest)"
ok 'rules of git are followed' sh -c '! grep -qE "build|a\.o|x\.log" out'
says '  src/a.c'
says '  src/deep/keep.log' 'a rule below another one'
says '  logs/y.log' '.cairnignore has the last word'
says '  .gitignore' 'the rules are files themselves'
rm p/.gitignore
run cairn checkpoint create 'not ignoring'
all=$(newest)
run cairn checkpoint restore "$all" --yes
printf '/build/\n' >p/.gitignore
echo changed >p/build/a.o
run cairn checkpoint create 'ignoring again'
exits 0 cairn checkpoint restore "$all" --yes
is "$(cat p/build/a.o)" o 'what is ignored now and in the checkpoint is restored'
exits 0 cairn checkpoint undo-restore
is "$(cat p/build/a.o)" changed 'and was kept before, though it is ignored'
rm -r p/build p/src p/logs p/.gitignore

# ---- What differs ----
mkdir -p p/src
printf 'one\ntwo\nthree\n' >p/src/text
printf 'a\000b' >p/src/bytes
printf 'moved along\n' >p/src/old
run cairn checkpoint create left
left=$(newest)
rm -rf work
cp -a p work
printf 'one\nTWO\nthree\nfour\n' >p/src/text
printf 'a\000c' >p/src/bytes
mv p/src/old p/src/new
chmod 755 p/src/text
echo added >p/src/added
exits 0 cairn checkpoint diff "$left" --patch
says '+TWO' 'the files as they are, without a checkpoint of them'
run cairn checkpoint create right
right=$(newest)
exits 0 cairn checkpoint diff "$left" "$right"
says '+ file  src/added'
says '~ file  src/text'
says 'R file  src/old -> src/new' 'a file with the content of one that is gone was renamed'
says '4 files, links and directories differ'
exits 0 cairn checkpoint diff "$left" "$right" --json
json_ok 'as JSON'
is "$(json_get '.files[0].path' out)" src/added 'by path'
is "$(json_get '.files[2].old_path' out)" src/old 'with the old name'
exits 0 cairn checkpoint diff "$left" "$right" --stat
says '   2    1  src/text'
says '   binary  src/bytes'
exits 2 cairn checkpoint diff "$left" "$right" --stat --json
exits 0 cairn checkpoint diff "$left" "$right" --patch --json
says "\"patch\":\"diff --git a/src/added" "with --json the patch is a member"
exits 0 cairn checkpoint diff "$left" "$right" --patch -U 0
says '@@ -2 +2 @@' 'with as many lines around as are wanted'
exits 0 cairn checkpoint diff "$left" "$right" --patch
says 'Binary files a/src/bytes and b/src/bytes differ'
cp out the.patch
if ! command -v git >which.out; then
    skip 'git takes the patch' 'there is no git'
else
    ok 'git takes the patch' sh -c 'cd work && git apply -p1 ../the.patch'
    cp p/src/bytes work/src/bytes
    ok 'and gets the same files' diff -r p/src work/src
    ok 'with their modes' [ -x work/src/text ]
fi
exits 0 cairn checkpoint diff "$right" "$left" --patch
says '-added' 'and the other way round'
rm -r p/src

# ---- Large files ----
head -c 9000000 /dev/urandom >p/large
run cairn checkpoint create large
large=$(newest)
cairn checkpoint cat "$large:large" >got
ok 'a large file, in chunks' cmp p/large got
had=$(objects)
{ head -c 100 /dev/urandom; cat p/large; } >moved
mv moved p/large
run cairn checkpoint create shifted
more=$(($(objects) - had))
ok "100 bytes in front of it are one chunk anew, not all ($more objects)" [ "$more" -le 6 ]

# ---- gc keeps it, and takes it when it is not referred to ----
run cairn gc
cairn checkpoint cat "$large:large" >got
is "$(wc -c <got)" 9000000 'gc keeps what checkpoints refer to'
run cairn checkpoint delete "$large" --yes
ok 'and deletes what only a deleted one had' [ "$(get .objects cairn gc)" -gt 0 ]
exits 0 cairn checkpoint verify
exits 0 cairn checkpoint create again
run cairn checkpoint verify "$(newest)"
is "$status" 0 'what is taken again after a collection is whole'

# ---- Export and import ----
run cairn session export s.cairn
mkdir other
exits 0 cairn --store other/.cairn session import s.cairn
is "$(get .damaged cairn --store other/.cairn checkpoint verify)" 0 'an import is whole'
cairn --store other/.cairn checkpoint list --limit 100 --json >list.json
id=$(tr '{' '\n' <list.json | sed -n 's/.*"id":"\(debug:[^"]*\)".*"message":"one".*/\1/p')
cairn --store other/.cairn checkpoint cat "$id:dir/binary" >got
ok 'files come with it' cmp want got

# ---- Damage ----
digest=$(printf 'zero \000 byte' | sha256sum | cut -c1-64)
run "$BUILD/tests/tools/sql" .cairn/cairn.db "DELETE FROM object WHERE digest = x'$digest'"
exits 5 cairn checkpoint verify
says "$(echo "$digest" | cut -c1-12)" 'content that is gone is missed and named'
exits 5 cairn checkpoint cat "$one:dir/binary"
exits 0 cairn checkpoint cat "$one:dir/tool"
exits 5 cairn checkpoint verify "$one"
exits 0 cairn gc
exits 5 cairn doctor --repair
exits 0 cairn checkpoint verify
done_testing
