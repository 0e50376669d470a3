# shellcheck shell=sh disable=SC2154
# make: long
# Checkpoints after edits of files have settled, whoever edits them: what is an edit and
# what is none, two that watch at once, restores, and that nothing is done while nothing
# happens. What is not to happen is waited for; what is to happen has a long limit.
. "${TESTS:?}/cli/tap.sh"
unset CAIRN_SESSION

printed() { wait_for 100 grep -q -- "$1" "$2"; }
begin() { # NAME: watches into NAME.out and NAME.err
    cairn session watch >"$1.out" 2>"$1.err" &
    watch=$!
    printed 'watched in' "$1.err"
}
finish() {
    kill "$1"
    wait "$1" 2>/dev/null || true
}
is_stored() { # the newest checkpoint of the branch has the files as they are
    cairn checkpoint diff --patch >diff.out 2>diff.err && [ ! -s diff.out ] && [ ! -s diff.err ]
}
stored() { wait_for 100 is_stored; }
made() { grep -c 'checkpoint *debug:' "$1.out"; }
more_than() { # N NAME: checkpoints
    [ "$(made "$2")" -gt "$1" ]
}
another() { # N NAME: waits for one more
    wait_for 100 more_than "$1" "$2"
}
# Does the process watch this directory? The kernel says so, by device and inode.
watches() {
    cat "/proc/$1/fdinfo/"* 2>/dev/null | grep -q "^inotify wd:[0-9a-f]* ino:$(printf '%x' "$(stat -c %i "$2")") "
}

# ---- The setting ----
exits 0 cairn session start edits -q
is "$(cairn session config settle)" 2s 'two seconds unless it is set'
exits 2 cairn session config settle soon
says "is not a value of settle: give a time such as 2s or 1m, at most 366 days, or off"
exits 2 cairn session config settle ''
exits 0 cairn session config settle off
is "$(cairn session config settle)" off 'off'
exits 0 cairn session config settle 1s
is "$(cairn session config settle)" 1s 'a second'
exits 0 cairn session config --json
ok 'as JSON' grep -q '"name":"settle","value":"1s","default":false' out

# ---- Settings are followed ----
mkdir p
cairn session watch >one.out 2>one.err &
watch=$!
# What was done before it began is not told.
told() { cairn note add 'before the files' -q >note.out && grep -q 'before the files' one.out; }
ok 'it watches the session' wait_for 100 told
is "$(grep -c 'watched in' one.err)" 0 'and no files'
exits 0 cairn session config files p -q
ok 'then its files' printed 'watched in' one.err
echo one >p/a
ok 'an edit is stored' stored
ok 'and printed' printed 'checkpoint *debug:[0-9]*  Auto: files settled' one.out
exits 0 cairn checkpoint show debug:1
matches '^trigger *files-settled$'
matches '^tags *auto, files-settled$'

# ---- What is an edit ----
n=$(made one)
chmod 755 p/a
ok 'a mode' another "$n" one
n=$(made one)
ln -s a p/link
ok 'a link' another "$n" one
mkdir -p p/new/below
echo 1 >p/new/below/x
ok 'a new directory' stored
ok 'is watched' watches $watch p/new/below
echo 2 >p/new/below/x
ok 'so is what is in it' stored
mv p/new p/moved
ok 'it is moved' stored
echo 3 >p/moved/below/x
ok 'and watched where it is' stored
mv p/moved/below p/moved/other
mkdir p/moved/below
echo 4 >p/moved/other/x
echo 4 >p/moved/below/x
ok 'a directory in the place of another' stored
echo 5 >p/moved/other/x
ok 'both are watched: the one' stored
echo 5 >p/moved/below/x
ok 'and the other' stored
mv p/moved .
ok 'it leaves' stored
ok 'and is watched no more' sh -c "! cat /proc/$watch/fdinfo/* | grep -q ino:$(printf '%x' "$(stat -c %i moved)")"
mv moved p/again
ok 'it comes back' stored
echo 6 >p/again/other/x
ok 'and is watched' stored
exec 9>>p/open
echo 'not closed' >&9
ok 'a file that stays open' stored
exec 9>&-
truncate -s 3 p/open
ok 'a file that was never opened' stored
mv p/again/other/x p/x.tmp
mv p/x.tmp p/again/other/x
rm -r p/again/below
ok 'what was removed' stored

# ---- What is none ----
mkdir p/build outside
ln -s "$PWD/outside" p/way
printf 'build/\n*.o\n' >p/.gitignore
ok 'rules of what is ignored' stored
wait_for 100 sh -c "! cat /proc/$watch/fdinfo/* | grep -q ino:$(printf '%x' "$(stat -c %i p/build)")"
exits 1 watches $watch p/build
exits 1 watches $watch outside
n=$(made one)
echo o >p/build/a
echo o >p/a.o
mkdir p/build/deep
mkdir p/.git
echo x >p/.git/x
echo x >outside/x
cat p/a >/dev/null
sleep 3
is "$(made one)" "$n" 'what is ignored, what a link leads to, and what is read'
echo '*.o' >p/.gitignore
ok 'the rules have changed' stored
ok 'what is no more ignored is watched' wait_for 100 watches $watch p/build/deep
echo x >p/build/deep/x
ok 'and stored' stored

# ---- While edits go on ----
n=$(made one)
while [ ! -e enough ]; do
    echo x >>p/log
    sleep 0.2
done &
writer=$!
ok 'a checkpoint is made while edits go on' another "$n" one
: >enough
wait $writer
ok 'and after them' stored

# ---- Two that watch ----
cairn session watch >two.out 2>two.err &
second=$!
printed 'watched in' two.err
sleep 2
n=$(made one)
echo two >p/a
ok 'with two that watch it is stored' stored
sleep 3
is "$(made one)" $((n + 1)) 'once'
is "$(made two)" 1 'and both tell'
finish $second

# ---- Restores ----
exits 0 cairn checkpoint create wanted -q
wanted=$(cairn checkpoint list --session edits --json --last 1 2>/dev/null | sed -n 's/.*"id":"\(debug:[0-9]*\).*/\1/p' | head -n 1)
[ -n "$wanted" ] || wanted=$(grep -o 'debug:[0-9]*' one.out | tail -n 1)
echo changed >p/a
echo more >p/more
ok 'an edit' stored
exits 0 cairn note add 'new on the board' -q
n=$(made one)
exits 0 cairn checkpoint restore "$wanted" --yes
is "$(cat p/a)" two 'a restore'
ok 'is told' printed restored one.out
sleep 3
rest=$(made one)
ok 'and is no edit: at most the state before it was stored' [ "$rest" -le $((n + 1)) ]
is "$(grep -c 'files settled' one.out)" "$(sed '/restored/q' one.out | grep -c 'files settled')" 'no checkpoint is made of it'
exits 0 cairn note add 'on the other line' -q
exits 0 cairn checkpoint undo-restore --files-only
sleep 3
is "$(grep -c 'files settled' one.out)" "$(sed '/restored/q' one.out | grep -c 'files settled')" 'nor of one of the files alone'
echo after >p/a
ok 'edits after it are stored' stored
as_edits() { [ "$(grep -c 'files settled' one.out)" -gt "$(sed '/restored/q' one.out | grep -c 'files settled')" ]; }
ok 'as edits' wait_for 20 as_edits

# ---- Nothing happens ----
exits 0 cairn checkpoint create --trigger files-settled --json
ok 'all is stored' grep -q '"made":false,"why":"unchanged"' out
is_still() {
    timeout -s INT 3 strace -f -o trace -p $watch 2>strace.err
    [ -s trace ] && [ "$(grep -cv 'restart_syscall\|poll.*detached\|detached ...\|resuming' trace)" -eq 0 ]
}
if command -v strace >/dev/null && strace -o trace true 2>/dev/null; then
    ok 'it sleeps: no system call in two seconds' wait_for 5 is_still
else
    skip 'it sleeps' 'no process can be traced here'
fi
n=$(made one)
exits 0 cairn session config files-settled off -q
echo off >p/a
sleep 3
is "$(made one)" "$n" 'the trigger is off'
exits 0 cairn session config files-settled on -q
ok 'what was done meanwhile is stored when it is on' stored
exits 0 cairn session config settle off -q
is_one() { [ "$(find "/proc/$watch/fd" -lname 'anon_inode:*inotify*' | wc -l)" -eq 1 ]; }
ok 'then the store alone is watched' wait_for 100 is_one
exits 0 cairn session config settle 1s -q
exits 0 cairn session end -q
status=0
wait "$watch" || status=$?
is "$status" 0 'it ends with the session'

# ---- By documents ----
exits 0 cairn session switch edits -q
cairn session watch --json >documents 2>json.err &
watch=$!
ok 'the state of the files' printed '"watch":"state","state":"watched"' documents
echo json >p/a
ok 'a checkpoint' printed '"text":"Auto: files settled"' documents
finish $watch
json_ok 'a document a line' documents

# ---- A session of which nothing is done but by a shell ----
exits 0 cairn session start shell -q
mkdir -p q/src q/doc
echo 'target/' >q/.gitignore
exits 0 cairn session config files q -q
exits 0 cairn session config settle 1s -q
begin three
printf 'int main(void) { return 1; }\n' >q/src/main.c
echo '# project' >q/doc/README
ok 'files are written' stored
sed -i 's/return 1/return 0/' q/src/main.c
mkdir q/target q/lib
echo object >q/target/main.o
cp q/src/main.c q/lib/copy.c
ok 'edited in place' stored
mv q/lib q/library
mv q/doc/README q/README
rmdir q/doc
chmod +x q/src/main.c
ln -s src/main.c q/main.c
printf 'a\0b' >q/binary
ok 'moved, linked' stored
tar -C q -cf q.tar src library
rm -r q/src q/library
tar -C q -xf q.tar
printf 'int main(void) { return 2; }\n' | dd of=q/src/main.c conv=notrunc 2>/dev/null
ok 'unpacked, patched' stored
exits 0 cairn checkpoint create --trigger files-settled --json
ok 'nothing is left to be stored' grep -q '"made":false,"why":"unchanged"' out
first=$(grep -o 'debug:[0-9]*' three.out | head -n 1)
last=$(grep -o 'debug:[0-9]*' three.out | tail -n 1)
cp -a q kept
exits 0 cairn checkpoint restore "$first" --yes
is "$(cat q/src/main.c)" 'int main(void) { return 1; }' 'the first state'
ok 'all of it' sh -c 'test -f q/doc/README && ! test -e q/library && ! test -e q/binary'
is "$(cat q/target/main.o)" object 'what is ignored is left alone'
exits 0 cairn checkpoint restore "$last" --yes
ok 'the last state, whole' diff -r --no-dereference q kept
is "$(stat -c %a q/src/main.c)" "$(stat -c %a kept/src/main.c)" 'with modes'
finish $watch
exits 0 cairn checkpoint verify

# ---- What cairn itself prints is no edit, and what always grows is stored less often ----
mkdir logs
exits 0 cairn session start logs -q
exits 0 cairn session config files logs -q
exits 0 cairn session config settle 1s -q
cairn session watch >logs/out.log 2>logs/err.log &
watch=$!
ok 'it prints into the directory' printed 'watched in' logs/err.log
echo 1 >logs/a
stored_a() { cairn checkpoint cat "$(cairn checkpoint list --session logs --limit 1 --json | sed 's/.*"id":"\([^"]*\)".*/\1/')":a 2>cat.err | grep -qx "$1"; }
ok 'an edit beside is stored' wait_for 100 stored_a 1
total() { cairn checkpoint list --session logs --json | sed 's/.*"total":\([0-9]*\).*/\1/'; }
sleep 1.2 # in which a line would have been an edit, whose checkpoint is a line
n=$(total)
sleep 1.5
is "$(total)" "$n" 'its own lines make no checkpoints'
mv logs/out.log logs/renamed.log
ok 'a new name of it is an edit' wait_for 100 sh -c "[ \"\$(cairn checkpoint list --session logs --json | sed 's/.*\"total\":\([0-9]*\).*/\1/')\" -gt $n ]"
sleep 1.2
n=$(total)
sleep 1.5
is "$(total)" "$n" 'its lines are none by this name either'
i=0
while [ $i -lt 15 ] && ! grep -q 'grows all the time' logs/err.log; do
    i=$((i + 1))
    echo "line $i" >>logs/steady
    sleep 1.3
done
ok 'a file that grows all the time is named' grep -q 'steady: this file alone changes' logs/err.log
echo 2 >logs/a
ok 'another edit is stored as ever' wait_for 100 stored_a 2
finish $watch
done_testing
