# The files of all checkpoints of a session: the versions of one file, what is searched
# in all of them, who made a line, archives. Every command is a process of its own.
. "$TESTS/cli/tap.sh"
unset CAIRN_PAGER PAGER LESS NO_COLOR

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>/dev/null
    json_get "$get_path" doc.json
}
make_one() { # MESSAGE: the number of the checkpoint
    cairn checkpoint create "$1" 2>/dev/null | sed 's/^debug:\([0-9]*\)-.*/\1/'
}

nl=$(printf 'new\nline')
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

# ---- What is in all of them ----
found() { # the lines of `out` on one line
    tr '\n' '|' <out
}
run cairn session start search
run cairn session config files p
mv p kept
mkdir -p p/src
printf 'first\nneedle one\nlast' >p/src/a
printf 'no needle here\n' >p/b.txt
a=$(make_one a)
echo unrelated >p/c
b=$(make_one b)
printf 'first\nneedle two\nlast needle' >p/src/a
c=$(make_one c)
rm p/b.txt
mv p/src/a p/src/moved
d=$(make_one d)
e=$(echo x >p/c && make_one e)
exits 0 cairn checkpoint grep needle
is "$(found)" "$a..$c:b.txt:1:no needle here|$a..$b:src/a:2:needle one|$c:src/a:2:needle two|$c:src/a:3:last needle|$d..:src/moved:2:needle two|$d..:src/moved:3:last needle|" \
    'every version, with the checkpoints that have it'
exits 0 cairn checkpoint grep '^needle (one|two)$'
is "$(wc -l <out)" 3 'an extended regular expression, of lines'
exits 1 cairn checkpoint grep 'needle (one'\|'none)$' "$e"
silent_on out
exits 0 cairn checkpoint grep needle "$b"
is "$(found)" "$b:b.txt:1:no needle here|$b:src/a:2:needle one|" 'one checkpoint alone'
exits 1 cairn checkpoint grep NEEDLE
silent_on out
exits 0 cairn checkpoint grep -i 'NEEDLE ONE'
exits 1 cairn checkpoint grep -F 'needle.'
exits 0 cairn checkpoint grep -F -i 'NEEDLE T'
exits 0 cairn checkpoint grep needle --paths 'src'
is "$(grep -c b.txt out)" 0 'only some of the paths'
exits 0 cairn checkpoint grep needle --paths '*.txt,none'
is "$(found)" "$a..$c:b.txt:1:no needle here|" 'by patterns'
exits 2 cairn checkpoint grep needle --paths ''
exits 2 cairn checkpoint grep 'needle ('
says 'is not an extended regular expression'
says '(at byte ' 'with the position'
exits 2 cairn checkpoint grep '(a*)*\1'
says 'a back-reference (\1, at byte 6)'
exits 2 cairn checkpoint grep '((((a{50}){50}){50}){50}){50}'
says 'the pattern is too large: more than 5000 parts'
exits 2 cairn checkpoint grep "$nl"
exits 2 cairn checkpoint grep "$(printf '%01001d' 1)"
exits 10 cairn checkpoint grep needle 99999
exits 10 cairn checkpoint grep needle "$bare"
exits 0 cairn checkpoint grep needle --json
json_ok 'as JSON'
is "$(json_get '.matches[1].path' out) $(json_get '.matches[1].line' out) $(json_get '.matches[1].present' out)" \
    'src/a 2 false' 'with what people see'
is "$(json_get .checkpoints out) $(json_get .contents out)" '5 5' 'each content was read once'
is "$(json_get '.matches[1].last' out | cut -d- -f1)" "debug:$b" 'with the last checkpoint'
exits 1 cairn checkpoint grep nothing --json
json_ok 'as JSON, too, where nothing was found'
# Odd contents.
{ head -c 3000000 /dev/zero | tr '\0' x; printf 'long needle\nafter needle\n'; } >p/wide
{ head -c 5000000 /dev/urandom | tr '\n' ' '; printf 'needle in the dark\n'; } >p/binary
printf 'esc \033[31mneedle\r\n' >"p/$nl"
: >p/empty
f=$(make_one f)
exits 0 cairn checkpoint grep 'needle$' "$f" --paths wide
is "$(cut -d: -f1-3 out)" "$f:wide:1
$f:wide:2" 'a line of MiBs'
ok 'of which a piece is printed' [ "$(head -n 1 out | wc -c)" -lt 1200000 ]
exits 1 cairn checkpoint grep '^long' "$f" --paths wide
exits 0 cairn checkpoint grep dark "$f"
is "$(cat out)" "Binary file $f:binary matches" 'a binary file is named'
exits 0 cairn checkpoint grep '31mneedle' "$f"
is "$(cat out)" "$f:new^Jline:1:esc ^[[31mneedle^M" 'what is printed does nothing to a terminal'
exits 0 cairn checkpoint grep '' "$f" --paths c,empty
is "$(cat out)" "$f:c:1:x" 'an empty pattern: every line there is'
# Two branches.
run cairn checkpoint restore "$a" --yes
echo 'needle of the branch' >p/b.txt
g=$(make_one g)
exits 0 cairn checkpoint grep 'needle of|no needle|needle two' --paths b.txt,moved
is "$(found)" "$a..$c:b.txt:1:no needle here|$d..$f:src/moved:2:needle two|$g..:b.txt:1:needle of the branch|" \
    'the newest one is that of the present branch'
cp -r .cairn whole
digest=$(printf 'no needle here\n' | sha256sum | cut -c1-64)
run "$BUILD/tests/tools/sql" .cairn/cairn.db "DELETE FROM object WHERE digest = x'$digest'" \
    "UPDATE checkpoint SET record = zeroblob(length(record)) WHERE seq = $e"
exits 5 cairn checkpoint grep needle --paths 'b.txt,moved'
is "$(found)" "$d..$f:src/moved:2:needle two|$d..$f:src/moved:3:last needle|$g..:b.txt:1:needle of the branch|" \
    'all that is whole is searched'
says "debug:$a:b.txt: " 'damaged content is named'
says "debug:$e: " 'and so is a damaged checkpoint'
rm -r .cairn
mv whole .cairn
run cairn session switch history
rm -r p
mv kept p

# ---- Who made a line ----
origins() { # the numbers of the checkpoints, line by line
    sed 's/^debug:\([0-9]*\)-.*/\1/' out | tr '\n' ' '
}
run cairn session start blame
run cairn session config files p
mv p kept
mkdir p
seq 1 5 >p/f
run cairn session message add 'write five lines'
a=$(make_one 'five lines')
echo other >p/other
make_one 'another file' >made
run cairn session message add 'make the third
better'
sed 's/^3$/three/' p/f >f && cat f >p/f
b=$(make_one 'the third')
run cairn session message add --role assistant 'done'
{ echo zero; cat p/f; echo six; } >f && cat f >p/f
c=$(make_one 'around them')
mv p/f p/g
make_one renamed >made
grep -v '^2$' p/g >f && cat f >p/g
d=$(make_one 'without a line')
chmod 600 p/g
make_one 'a mode' >made
exits 0 cairn checkpoint blame-file g
is "$(origins)" "$c $a $b $a $a $c " 'each line with the checkpoint in which it came'
is "$(awk '{ print $4, $5 }' out | tr '\n' '|')" '1 zero|2 1|3 three|4 4|5 5|6 six|' 'and its text'
exits 0 cairn checkpoint blame-file g:3
says "checkpoint debug:$b-"
says 'message    the third'
says 'prompt     make the third' "with the user's last prompt before it"
says 'better' 'of which each line is shown'
says 'then       f:3' 'and what the file was called then'
ok 'and nothing of another checkpoint' sh -c '! grep -q five out'
exits 0 cairn checkpoint blame-file f --at "$b"
is "$(origins)" "$a $a $b $a $a " 'as it was at a checkpoint'
exits 0 cairn checkpoint blame-file g:4 --json
json_ok 'as JSON'
is "$(json_get '.lines[0].seq' out) $(json_get '.lines[0].path_then' out) $(json_get '.lines[0].line_then' out) $(json_get '.lines[0].prompt' out)" \
    "$a f 4 write five lines" 'with all that people see'
exits 10 cairn checkpoint blame-file g:7
says 'g has 6 lines'
exits 10 cairn checkpoint blame-file g:0
exits 10 cairn checkpoint blame-file f
exits 10 cairn checkpoint blame-file g:99999999999999999999
printf 'a\000b' >p/binary
mkdir p/dir
: >p/empty
head -c 5000000 /dev/zero | tr '\0' '\n' >p/large
e=$(make_one 'odd ones')
for path in binary dir large; do
    exits 2 cairn checkpoint blame-file $path
    says "$path has no lines"
done
exits 0 cairn checkpoint blame-file empty
silent_on out
printf 'a text now\n' >p/binary
echo >>p/large
f=$(make_one 'a text')
exits 0 cairn checkpoint diff "$e" "$f" --stat
says '   binary  binary'
says '  > 4 MiB  large' 'a large text is not said to be binary'
exits 0 cairn checkpoint diff "$e" "$f" --patch
says 'Files a/large and b/large differ: too large to compare lines (4 MiB)' 'nor in a patch'
exits 0 cairn checkpoint blame-file binary
is "$(origins)" "$f " 'what was no text before came as a whole'
run cairn checkpoint restore "$b" --yes
echo 'of the branch' >>p/f
g=$(make_one branch)
exits 0 cairn checkpoint blame-file f
is "$(origins)" "$a $a $b $a $a $g " 'along the line of the present branch'
exits 10 cairn checkpoint blame-file g
cp -r .cairn whole
run "$BUILD/tests/tools/sql" .cairn/cairn.db \
    "UPDATE checkpoint SET record = zeroblob(length(record)) WHERE seq = $b"
exits 5 cairn checkpoint blame-file f
is "$(origins)" "$a $a $g $a $a $g " 'a damaged checkpoint is passed over'
says 'cannot be read, so a line may be older' 'and told'
rm -r .cairn
cp -r whole .cairn
digest=$(seq 1 5 | sha256sum | cut -c1-64)
run "$BUILD/tests/tools/sql" .cairn/cairn.db "DELETE FROM object WHERE digest = x'$digest'"
exits 5 cairn checkpoint blame-file f
is "$(origins)" "$b $b $b $b $b $g " 'and so is a damaged content'
rm -r .cairn
mv whole .cairn
run cairn session switch history
rm -r p
mv kept p

# ---- What differs ----
run cairn session start differ
run cairn session config files p
mv p kept
mkdir -p p/src
seq 1 20 >p/src/a
seq 30 50 >p/src/b
seq 60 80 >p/src/gone
printf 'x' >p/empty
a=$(make_one a)
rm -rf work
cp -a p work
cp p/src/b p/copy
cp p/src/a p/second
echo more >>p/src/a
cp p/src/gone p/src/twice
mv p/src/gone p/src/here
: >p/nothing
exits 0 cairn checkpoint diff "$a" --worktree
says 'C file  src/b -> copy' 'a copy of a file that stays'
says 'C file  src/a -> second' 'and of one that was changed'
says 'R file  src/gone -> src/here' 'one with the content of a file that is gone was renamed'
says '+ file  src/twice' 'another one was added, since there is nothing to copy any more'
says '+ file  nothing' 'an empty file is no copy'
says '6 files, links and directories differ'
is "$(get '.files[0].change' cairn checkpoint diff "$a" --worktree) $(json_get '.files[0].old_path' doc.json)" \
    'copied src/b' 'as JSON'
b=$(make_one b)
exits 2 cairn checkpoint diff "$a" "$b" --worktree
says '--worktree is in the place of TO'
cairn checkpoint diff "$a" "$b" --patch >the.patch 2>err
ok 'a patch says copies' grep -q '^copy from src/b$' the.patch
for with in 'git apply -p1' 'patch -s -p1'; do
    rm -rf applied
    cp -a work applied
    if command -v "${with%% *}" >which.out; then
        ok "$with takes it" sh -c "cd applied && $with <../the.patch"
        rm -f applied/nothing # patch makes no empty file
        ok 'and gets the same files' diff -r -x nothing p applied
    else
        skip "$with takes it" 'there is none'
    fi
done
exits 0 cairn checkpoint diff "$a" "$b" --paths src
ok 'only some of the paths' sh -c '! grep -qE "copy|nothing" out'
says 'R file  src/gone -> src/here'
says '3 files, links and directories differ' 'and counts of these'
exits 0 cairn checkpoint diff "$a" "$b" --paths 'gon?' --stat
is "$(grep -c -e '->' out)" 1 'a rename counts under its old name, too'
echo now >>p/src/b
exits 0 cairn checkpoint diff --paths 'b,*.c'
says '~ file  src/b' 'since the newest checkpoint until now'
exits 0 cairn checkpoint diff --paths '*.c' --patch
silent_on out
exits 2 cairn checkpoint diff --paths ''

# On a terminal.
esc=$(printf '\033')
exits 0 cairn checkpoint diff "$b" --patch --color always
says "${esc}[32m+now${esc}[0m" 'colors where they are wanted'
says "${esc}[1mdiff --git"
exits 0 cairn checkpoint diff "$b" --worktree --color=always
says "${esc}[33m~${esc}[0m file  src/b"
exits 0 env TERM=xterm cairn checkpoint diff "$b" --patch
ok 'and not where no terminal is' sh -c "! grep -q '$esc' out"
exits 2 cairn checkpoint diff "$b" --patch --color=sometimes
printf 'bell \007 and \033[2J\n' >p/controls
exits 0 cairn checkpoint diff "$b" --patch --paths controls
ok 'a patch for programs has the bytes' grep -q "${esc}\\[2J" out
exits 2 cairn checkpoint diff "$b" -U 9
says '-U is for --patch' 'elsewhere it would have no effect'
exits 0 cairn checkpoint diff "$b" --patch --paths controls --color=always
says 'bell ^G and ^[[2J' 'one for people does nothing to a terminal'
on_terminal() { # ENVIRONMENT... -- ARGUMENT...: of cairn checkpoint diff
    terminal_command='env'
    while [ "$1" != -- ]; do
        terminal_command="$terminal_command '$1'"
        shift
    done
    shift
    tap_last="$* on a terminal"
    script -qec "$terminal_command cairn checkpoint diff $*" typescript </dev/null >out 2>err
    status=$?
}
if command -v script >which.out; then
    on_terminal TERM=xterm PAGER=cat -- "$b" --patch --paths controls
    is "$status" 0 'a terminal'
    says "${esc}[32m+bell ^G and ^[[2J${esc}[0m" 'has colors'
    on_terminal TERM=xterm PAGER=cat NO_COLOR=1 -- "$b" --patch --paths controls
    ok 'but with NO_COLOR' sh -c "! grep -q '$esc' out"
    says '+bell ^G and ^[[2J'
    on_terminal TERM=xterm PAGER=false 'CAIRN_PAGER=sed s/^/paged:/' -- "$b" --patch --paths controls
    is "$status" 0 'a pager'
    says 'paged:' 'is that of CAIRN_PAGER'
    on_terminal TERM=xterm 'PAGER=sed s/^/paged:/' -- "$a" "$b"
    says 'paged:' 'or of PAGER'
    on_terminal TERM=dumb 'CAIRN_PAGER=sed s/^/paged:/' -- "$a" "$b"
    ok 'and none on a dumb terminal' sh -c '! grep -q paged out'
    on_terminal TERM=xterm 'CAIRN_PAGER=true' -- "$a" "$b" --patch
    is "$status" 0 'a pager that reads nothing'
    on_terminal TERM=xterm 'CAIRN_PAGER=cat >/dev/null; exit 141' -- "$a" "$b" --patch
    is "$status" 0 'a pager that was interrupted'
    silent_on out
    on_terminal TERM=dumb -- "$b" --patch --paths controls
    says '+bell ^G and ^[[2J' 'nothing is done to a dumb terminal'
    on_terminal TERM=xterm CAIRN_PAGER=no-such-pager -- "$a" "$b" --patch
    is "$status" 75 'a pager that cannot be executed'
    says 'the pager could not be executed: no-such-pager'
    on_terminal TERM=xterm 'CAIRN_PAGER=sed s/^/paged:/' -- "$a" "$b" --json
    ok 'JSON is not paged' sh -c '! grep -q paged out'
else
    skip 'colors and a pager on a terminal' 'there is no script(1)'
fi
exits 0 env TERM=xterm 'CAIRN_PAGER=sed s/^/paged:/' cairn checkpoint diff "$a" "$b"
ok 'nor what goes into a pipe or file' sh -c '! grep -q paged out'
run cairn session switch history
rm -r p work applied
mv kept p

# ---- An archive ----
listing() { # DIRECTORY: all of it but the times of links
    (cd "$1" && find . -mindepth 1 \( -type l -printf '%P\0l %l\0' -o \
        -printf '%P\0%y %m %s %T@\0' \) | sed -z 's/^d \([0-7]*\) [0-9]*/d \1/' | tr '\0' '\n' | LC_ALL=C sort)
}
mkdir -p p/tar/empty p/tar/closed
echo line >"p/tar/$nl"
bad=$(printf 'b\377d')
echo bad >"p/tar/$bad"
long=$(printf '%0200d' 1)
echo long >"p/tar/$long"
mkdir "p/tar/$long.d"
echo longer >"p/tar/$long.d/$long"
echo 'long and no UTF-8' >"p/tar/$bad$long"
echo 'umlauts' >"p/tar/äöü-$long"
echo option >p/tar/--help
echo blank >"p/tar/ blank "
: >p/tar/nothing
head -c 512 /dev/urandom >p/tar/block
head -c 9000000 /dev/urandom >p/tar/large
ln -s "$long/$long" p/tar/far
ln -s ../../nowhere p/tar/dangling
ln -s /etc p/tar/outside
ln -s "$(printf 'no\377utf8')" p/tar/odd
echo run >p/tar/tool
chmod 0755 p/tar/tool
chmod 0400 p/tar/block
touch -d '1960-01-02 03:04:05.5 UTC' p/tar/nothing
touch -d '2150-01-02 03:04:05.123456789 UTC' p/tar/tool
touch -d '2250-01-02 03:04:05 UTC' p/tar/block
touch -d '2001-02-03 04:05:06 UTC' p/tar/empty
mkfifo p/tar/pipe
chmod 0500 p/tar/closed
archived=$(make_one 'to be archived')
touch -r p/tar times
rm p/tar/pipe
touch -r times p/tar
listing p >want
exits 0 cairn checkpoint export --tar "$archived" "an archive.tar"
says '1 of the files are not in the archive' 'what was left out is said'
mkdir taken
exits 0 tar -C taken -xpf 'an archive.tar'
listing taken >got
ok 'tar -x gives the same names, modes, times and links' cmp want got
ok 'and contents' diff -r --no-dereference p taken
cairn checkpoint export --tar "$archived" 2>err >piped.tar
ok 'to stdout the same' cmp 'an archive.tar' piped.tar
cairn checkpoint export --tar "$archived" - 2>err >piped.tar
ok 'which - is, too' cmp 'an archive.tar' piped.tar
exits 0 cairn checkpoint export --tar "$archived" 'an archive.tar' --json
json_ok 'as JSON'
is "$(json_get .bytes out)" "$(wc -c <piped.tar)" 'with its size'
is "$(json_get .files.left_out out)" 1 'and counts'
exits 2 cairn checkpoint export --tar "$archived" --json
exits 2 cairn checkpoint export "$archived" x.tar
says 'say in which form: --tar'
exits 10 cairn checkpoint export --tar "$bare" x.tar
says 'holds no files'
exits 10 cairn checkpoint export --tar "$archived" none/x.tar
exits 2 cairn checkpoint export --tar "$archived" p
exits 2 cairn checkpoint export --tar "$archived" /dev/null
says '/dev/null is not a file: - is stdout'
printf 'older\n' >shared-tar
chmod 664 shared-tar
ln -s shared-tar linked-tar
exits 0 cairn checkpoint export --tar "$archived" linked-tar
ok 'a link stays one' test -L linked-tar
ok 'what it leads to is replaced' cmp 'an archive.tar' shared-tar
is "$(stat -c %a shared-tar)" 664 'and keeps its mode'
if command -v script >which.out; then
    script -qec "cairn checkpoint export --tar $archived" typescript </dev/null >out 2>err
    status=$?
    is "$status" 2 'a terminal gets no archive'
    says 'an archive is not for a terminal'
else
    skip 'a terminal gets no archive' 'there is no script(1)'
fi
if [ -w /dev/full ]; then
    cairn checkpoint export --tar "$archived" >/dev/full 2>err
    is $? 75 'a full disk is told'
fi
is "$(find . -maxdepth 1 \( -name '*.tar.*' -o -name x.tar \))" '' 'no other files are left'
chmod 0700 p/tar/closed taken/tar/closed

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
cp -r sound .cairn
digest=$(sha256sum p/tar/block | cut -c1-64)
run "$BUILD/tests/tools/sql" .cairn/cairn.db "DELETE FROM object WHERE digest = x'$digest'"
echo before >kept.tar
exits 5 cairn checkpoint export --tar "$archived" kept.tar
says 'tar/block' 'damaged content is named'
is "$(cat kept.tar)" before 'and nothing of half an archive takes a place'
is "$(find . -maxdepth 1 -name 'kept.tar.*')" '' 'or is left'
cairn checkpoint export --tar "$archived" >half.tar 2>err
is $? 5 'to stdout the exit status says it'
ok 'and tar does' sh -c '! tar -tf half.tar >out 2>err'
rm -r .cairn
mv sound .cairn

# ---- One on a terminal ----
if command -v script >which.out; then
    rm -rf seen
    mkdir seen
    exits 0 cairn session start seen
    exits 0 cairn session config files seen
    printf 'bell \007 and \033[2J\n' >seen/controls
    { printf x && yes 'äß€' | head -n 100000 | tr '\n' ' ' && echo; } >seen/wide
    exits 0 cairn checkpoint create seen
    seen=$(cat out)
    script -qec "cairn checkpoint cat $seen:controls" typescript </dev/null >out 2>err
    says 'bell ^G and ^[[2J' 'a file does nothing to a terminal'
    script -qec "cairn checkpoint cat $seen:wide" typescript </dev/null | tr -d '\r' >shown
    ok 'no character of a large one is cut' cmp seen/wide shown
    cairn checkpoint cat "$seen:controls" | cmp -s - seen/controls
    is $? 0 'elsewhere it is as it was'
    printf 'body \033[2J' | cairn session message add - >message.out
    script -qec 'cairn session message show 1 --raw' typescript </dev/null >out 2>err
    says 'body ^[[2J' 'nor does a message'
else
    skip 'a file on a terminal' 'there is no script(1)'
fi

# ---- By their names from the working directory ----
mkdir -p named/src/src
printf 'top\n' >named/src/add.c
printf 'deep\n' >named/src/src/twice.c
printf 'twice\n' >named/src/twice.c
run cairn session start named
run cairn session config files named
run cairn checkpoint create one
printf 'more\n' >>named/src/add.c
run cairn checkpoint create two
two=$(cat out)
cd named/src || exit 1
for way in "cat $two add.c" "cat $two:add.c" "cat $two:./add.c" "cat $two:$PWD/add.c" "cat $two:src/add.c" "cat $two src/../add.c"; do
    # shellcheck disable=SC2086 # words
    exits 0 cairn checkpoint $way
    is "$(tr '\n' ' ' <out)" 'top more ' "checkpoint $way: from the working directory, or the top"
done
exits 0 cairn checkpoint cat "$two:src/twice.c"
is "$(cat out)" deep 'what lies below the working directory comes first'
for path in add.c ../src/add.c src/add.c; do
    exits 0 cairn checkpoint log "$path"
    is "$(awk 'NR > 1 { print $4 }' out | tr '\n' ' ')" 'changed added ' "log $path"
    is "$(get .path cairn checkpoint log "$path")" src/add.c 'JSON names it from the top'
    exits 0 cairn checkpoint blame-file "$path"
    is "$(grep -c . out)" "$(cairn checkpoint blame-file src/add.c | grep -c .)" "blame-file $path"
    is "$(get .path cairn checkpoint blame-file "$path")" src/add.c 'JSON names it, too'
done
exits 0 cairn checkpoint blame-file add.c:2
exits 10 cairn checkpoint blame-file add.c:9
says '2 lines' 'the file that there is is meant'
exits 10 cairn checkpoint cat "$two:none.c"
says 'none.c'
exits 10 cairn checkpoint log none.c
exits 10 cairn checkpoint log none.c --json
exits 0 cairn checkpoint diff "$two~1" "$two" add.c
cd ../..

done_testing
