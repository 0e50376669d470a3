# Outputs of finished tasks are checked as git checks its index: the recorded size, times
# and inode agree, or else the content decides. So another run that wrote the same file is
# never taken for this one, and a file that was only touched changes nothing.
. "$TESTS/cli/tap.sh"

# ---- Two runs of one workflow share files ----

cat >w.yaml <<'END'
name: w
params: {who: none}
tasks:
  a: {run: 'echo "$who" >a.txt; echo a >>ran', outputs: [a.txt]}
  b: {run: '[ -e go ]; cat a.txt >b.txt; echo b >>ran', needs: [a], outputs: [b.txt]}
END
exits 1 cairn run w.yaml --param who=first
exits 1 cairn run w.yaml --param who=other
is "$(cat a.txt)" other 'another run wrote the file'
touch go
: >ran
exits 0 cairn explain a --run 1
says 'the content of its output a.txt differs' 'explain tells that the file is not as it was'
says 'a of run 2' '... and who wrote it since'
is "$(planned --run 1)" 'a b' 'plan: both run'
exits 0 cairn resume 1
is "$(tr '\n' ' ' <ran)" 'a b ' 'which resume does'
is "$(cat b.txt)" first 'and the result is the one of run 1'
exits 0 cairn resume 1
says 'nothing to do'

# ---- What does not count ----

: >ran
touch a.txt
exits 0 cairn resume 1
says 'nothing to do' 'a file that was only touched changes nothing'
cp -p a.txt x && rm a.txt && cp -p x a.txt
exits 0 cairn resume 1
says 'nothing to do' 'nor one that was put back with the same content'
is "$(cat ran)" '' 'nothing ran'

# ---- What does ----

echo worse >a.txt
exits 0 cairn explain a --run 1
says 'the content of its output a.txt differs'
ok 'nobody is named if nobody is known' sh -c '! grep -q "written since" out'
is "$(planned --run 1 --check-outputs=exist)" '' 'with --check-outputs=exist it is enough that it is there'
is "$(planned --run 1)" 'a b' 'by default it counts'
is "$(planned --run 1 --check-outputs=content)" 'a b' 'with --check-outputs=content, too'
exits 0 cairn resume 1

# The same size and times, which only the change time gives away.
stamp=$(stat -c %y a.txt)
sleep 0.05
printf 'FIRST\n' >a.txt
touch -d "$stamp" a.txt
is "$(planned --run 1)" 'a b' 'a change of the same size with the old time counts'
exits 0 cairn resume 1

# ---- A later task of the same run ----

cat >later.yaml <<'END'
name: later
tasks:
  one: {run: 'echo one >shared', outputs: [shared]}
  two: {run: 'echo two >shared', needs: [one], outputs: [shared]}
END
exits 0 cairn run later.yaml
exits 0 cairn explain one --run 3
says 'two has written it since' 'a later task is named'

# ---- Directories ----

cat >dir.yaml <<'END'
name: dir
tasks:
  make: {run: 'mkdir -p d/e; echo 1 >d/x; echo 2 >d/e/y; echo make >>ran', outputs: [d]}
END
: >ran
exits 0 cairn run dir.yaml
touch d/e/y
exits 0 cairn resume 4
says 'nothing to do' 'a touched file in a directory changes nothing'
echo 3 >d/e/y
exits 0 cairn resume 4
is "$(tr '\n' ' ' <ran)" 'make make ' 'a changed one does'
exits 0 cairn resume 4
says 'nothing to do'

# ---- The index is only a cache ----

i=.cairn/outputs.1
for damage in 'rm $i' ': >$i' 'head -c 40 $i >x; cat x >$i' \
    'printf x | dd of=$i bs=1 seek=60 conv=notrunc status=none' 'rm $i; mkdir $i'; do
    ok 'what was seen is noted' test -s $i
    eval "$damage"
    exits 0 cairn resume 1
    says 'nothing to do' "without it all is as before ($damage)"
done
is "$(ls -d .cairn/outputs.*)" "$(printf '%s\n' .cairn/outputs.1 .cairn/outputs.2 .cairn/outputs.3)" \
    'one for each workflow, and nothing beside them'
exits 0 cairn checkpoint verify

# An edit of the declared names was kept: what was recorded is still compared.
mkdir kept && cd kept || exit 1
export CAIRN_STORE="$PWD/.cairn"
cat >w.yaml <<'END9'
name: w
tasks:
  a: {run: 'echo a >>log; echo good >o; echo x >extra; echo y >gone', outputs: [o, gone]}
END9
exits 0 cairn run w.yaml
sed -i 's/\[o, gone\]/[extra, o]/' w.yaml
exits 0 cairn resume --on-change=keep
is "$(wc -l <log)" 1 'the edit is kept'
rm gone
exits 0 cairn resume
is "$(wc -l <log)" 1 'what is not declared any more does not matter'
echo other >o
exits 0 cairn plan
says 'the content of its output o differs' 'what was recorded is compared'
echo good >o
exits 0 cairn plan
says '0 of 1 task will run' 'by its content'
rm extra
exits 0 cairn plan
says 'its output extra is missing' 'and the others must be there'
cd ..
# A directory with a store in it: what cairn writes there is no change of the directory.
mkdir -p around/in && cd around || exit 1
cat >in/w.yaml <<'END'
name: around
tasks:
  a: {inputs: [.], run: 'echo a >>"$LOG"'}
  b: {needs: a, outputs: [../made], run: 'mkdir -p ../made; cp "$LOG" ../made/l; echo b >>"$LOG"'}
  c: {needs: b, run: 'test -e "$GO"'}
END
LOG=$(mktemp) GO=$LOG.go
export LOG GO
(unset CAIRN_STORE; cairn run in/w.yaml -q) >/dev/null 2>&1
: >"$GO"
mkdir made/inner && CAIRN_STORE=made/inner cairn session start x -q >/dev/null 2>&1
(unset CAIRN_STORE; cairn resume in/w.yaml -q) >/dev/null 2>&1
is "$(tr '\n' ' ' <"$LOG")" 'a b ' 'a store in an input or an output is no change of it'
echo new >in/more
(unset CAIRN_STORE; cairn plan in/w.yaml) >"$LOG" 2>&1
ok 'a new file in the directory is one' grep -q 'run   a' "$LOG"
rm -f "$LOG" "$GO"
cd ..
# On a file system whose times are whole seconds the content is read.
if [ "$(id -u)" = 0 ] && truncate -s 16M seconds.img && mkfs.ext4 -q -F -I 128 seconds.img 2>/dev/null &&
    mkdir seconds && mount -o loop seconds.img seconds 2>/dev/null; then
    mkdir seconds/p && cd seconds/p || exit 1
    export CAIRN_STORE="$PWD/.cairn"
    printf 'name: w\ntasks:\n  a: {run: "echo one >f; echo a >>log", outputs: f}\n' >w.yaml
    exits 0 cairn run w.yaml
    exits 0 cairn resume
    is "$(cat log)" a 'it stays finished'
    # Written again within the second in which the task wrote it, with the same length.
    for try in 1 2 3 4 5 6 7 8; do
        rm -rf .cairn log
        cairn run w.yaml -q 2>/dev/null
        before=$(stat -c %Z f)
        echo two >f
        [ "$(stat -c %Z f)" != "$before" ] || break
    done
    is "$(stat -c %Z f)" "$before" "the times are the same (try $try)"
    exits 0 cairn plan
    says 'the content of its output f differs' 'but the content tells'
    cd ../..
    umount seconds
else
    skip 'times of whole seconds' 'no such file system can be mounted here'
fi
done_testing
