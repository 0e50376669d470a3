# make: long sanitize
# Going on from a checkpoint beside what there is: on a branch, or in a directory with a
# session of its own, which is there whole or not at all. Every command is a process of
# its own.
# shellcheck disable=SC2103
. "$TESTS/cli/tap.sh"

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>/dev/null
    json_get "$get_path" doc.json
}
# Names, kinds, modes, times of files and directories, targets, contents.
state_of() {
    (cd "$1" && find . -mindepth 1 -name .cairn -prune -o -path ./out -prune -o -path ./err -prune -o -path ./doc.json -prune -o \( -type l -printf 'l %p %l\n' -o \
        -printf '%y %m %T@ %p\n' \) | sort
        find . -name .cairn -prune -o -path ./out -prune -o -path ./err -prune -o -path ./doc.json -prune -o \
            -type f -exec sha256sum {} + | sort -k 2)
}
same() { # DIR NAME TEXT
    state_of "$1" >state.got
    ok "$3" cmp "state.$2" state.got
}

# ---- A session with a checkpoint that has a bit of everything ----
mkdir proj
cd proj || exit
unset CAIRN_STORE
run cairn session start main
run cairn session config files .
run cairn session config redact SECRET_WORD
mkdir -p a/b empty locked sub/deep
echo 1 >a/x
printf 'bin\0' >a/b/bin
ln -s x a/link
head -c 5000000 /dev/urandom >large
odd=$(printf 'odd\n\377 [name]')
echo odd >"$odd"
echo -- >--help
echo in >locked/in
chmod 600 a/x
chmod 500 locked
printf 'ignored/\nout\nerr\ndoc.json\n' >.gitignore
run cairn note add 'first'
run cairn session message add hello
run cairn checkpoint create one
one=$(cat out)
cd ..
state_of proj >state.one
cd proj || exit
chmod 755 locked
echo 2 >a/x
rm -r a/b
echo 2 >locked/in
run cairn note add 'second'
run cairn session message add again
run cairn checkpoint create two
two=$(cat out)
cd ..
state_of proj >state.two

# ---- Into a new directory ----
cd proj || exit
exits 0 cairn checkpoint fork "$one" --to ../try
says 'to work there: cd ../try'
is "$(cat out)" main-2 'the name of the session'
cd ..
same try one 'the files are those of the checkpoint, with modes and times'
same proj two 'those of the session are as they were'
is "$(cd proj && get .name cairn session show)" main 'it is the current one still'
is "$(cd proj && get .total cairn note list)" 2 'with its board'
cd try || exit
is "$(get .name cairn session show)" main-2 'in the directory it is the new one'
is "$(get .total cairn note list)" 1 'with the board of the checkpoint'
is "$(get .messages cairn session show)" 1 'and its messages'
is "$(cairn session config redact 2>/dev/null)" SECRET_WORD 'and the settings'
mkdir -p new/deep
cd new/deep || exit
is "$(get .name cairn session show)" main-2 'below it, too'
cd ../..
rm -r new

# ---- Both go on ----
echo 3 >a/x
run cairn note add 'in the fork'
run cairn session message add there
exits 0 cairn checkpoint create three
three=$(cat out)
cd ../proj || exit
echo 4 >a/x
exits 0 cairn checkpoint create four
is "$(cat ../try/a/x a/x)" "$(printf '3\n4')" 'neither has what was done in the other'
cd ../try || exit
first=$(get '.checkpoints[1].id' cairn checkpoint list --session main-2)
exits 0 cairn checkpoint restore "$first" --yes
cd ..
same try one 'a restore there is one of its own files'
is "$(cat proj/a/x)" 4 'and of no others'
cd try || exit
exits 0 cairn checkpoint undo-restore
is "$(cat a/x)" 3 'so is an undo'
exits 2 cairn checkpoint restore "$one" --yes
says 'of another session'
exits 0 cairn branch start aside
echo 5 >a/x
exits 0 cairn branch switch main
is "$(cat a/x)" 3 'and a branch'
exits 0 cairn branch merge aside
exits 0 cairn checkpoint timeline
says "from $one of session main"
says 'session: main-2'
exits 0 cairn checkpoint timeline --json
json_ok 'as JSON'
says '"from_session":"main"'
exits 0 cairn session export ../fork.export
exits 0 cairn checkpoint verify
exits 0 cairn gc
exits 0 cairn doctor
cd ..
mkdir other
cd other || exit
run cairn session start x
exits 0 cairn session import ../fork.export
is "$(get .total cairn note list --session main-2)" 2 'a fork can be taken elsewhere'
cd ..

# ---- A fork of a fork, by name, into an empty directory, as JSON ----
cd try || exit
mkdir ../again
chmod 750 ../again
exits 0 cairn checkpoint fork "$three" --to ../again/ --name again --json
json_ok 'as JSON'
is "$(json_get .session_name out)" again 'its name'
is "$(stat -c %a ../again)" 750 'an empty directory keeps its mode'
is "$(cat ../again/a/x)" 3 'the files of that checkpoint'
exits 2 cairn checkpoint fork "$three" --to ../more --name again
says 'already'
exits 2 cairn checkpoint fork "$three" --to ../more --name ' x'
exits 2 cairn checkpoint fork "$one" --to ../more
says 'of another session'
ok 'nothing was begun' [ ! -e ../more ]

# ---- Its session is the current one there, whatever happens ----
exits 2 cairn session switch main
says 'always the current one there'
exits 2 cairn session start y
exits 0 cairn note list --session main
printf 'name: w\ntasks:\n  t: {run: "true"}\n' >cairn.yaml
exits 2 cairn run
says 'give a store of its own'
exits 0 cairn run --store ../runs
rm cairn.yaml
cd ../proj || exit
exits 0 cairn session switch main
cd ../try || exit
is "$(get .name cairn session show)" main-2 'also after a switch elsewhere'
cd ..
mv try moved
cd moved || exit
exits 2 cairn checkpoint create x
says 'whose files are not there' 'a file that was copied or moved makes no session'
exits 0 cairn session config files . --session main-2
exits 0 cairn checkpoint create x
cp .cairn ../planted
cd ..
mkdir evil
cp planted evil/.cairn
cd evil || exit
exits 2 cairn note list
says 'whose files are not there'
sed -i 's/^store .*/store \/nowhere/' .cairn
exits 2 cairn note list
says 'where it was moved'
echo 'cairn fork 1' >.cairn
exits 5 cairn note list
says 'is damaged'
echo 'cairn fork 2' >.cairn
run cairn note list
says 'newer release'
echo 'something else' >.cairn
exits 10 cairn note list
cd ..
mv moved try
cd try || exit
exits 0 cairn session config files . --session main-2
cd ..

# ---- What is refused ----
refused() { # DIR TEXT
    exits 2 cairn checkpoint fork "$two" --to "$1"
    says "$2"
}
cd proj || exit
mkdir ../full
touch ../full/in
ln -s ../elsewhere link
ln -s ../full linked
refused ../full 'is not empty'
refused link 'is a link'
refused linked/ 'is a link'
refused a/x 'is not a directory'
refused sub/new 'would be in them'
refused . 'would be in them'
refused .cairn/in 'belongs to the store'
refused / 'cannot be'
refused '' 'needs a name'
refused "$(printf '../x\001y')" 'control characters'
refused ../try/in 'would be in them'
run cairn checkpoint fork "$two" --to ../nowhere/in
ok 'a directory above has to be there' [ "$status" != 0 ]
is "$(get .total cairn session list)" 3 'no session was made by any of them'
rm -r ../full link linked
exits 0 cairn checkpoint fork "$two" --to ignored --name ignored
is "$(cat ignored/a/x)" 2 'a directory that is ignored may lie in the files'
exits 0 cairn checkpoint create 'with it'
run cairn checkpoint files "$(cat out)"
is "$(grep -c ignored/ out)" 0 'which do not hold it'
run cairn session start bare
run cairn session config files off
run cairn note add x
run cairn checkpoint create bare
exits 2 cairn checkpoint fork "$(cat out)" --to ../bare
says 'holds no files'
exits 0 cairn session switch main
exits 2 cairn checkpoint fork "$two" --to ../new --key ../planted
cd ..

# ---- Without a directory: a branch ----
cd proj || exit
exits 0 cairn checkpoint fork "$one"
is "$(cat out)" main-2 'the name of the branch'
is "$(cat a/x)" 1 'with the files'
exits 0 cairn checkpoint fork "$two" --name by-name
is "$(get .branch cairn session show)" by-name 'by its name'
exits 2 cairn checkpoint fork "$two" --name by-name
exits 10 cairn checkpoint fork 999
cd ..

# ---- Damage, a full disk ----
cp -a proj damaged
cd damaged || exit
digest=$(sha256sum --zero -- --help | cut -c1-64)
run "$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE object SET data = x'00' WHERE digest = x'$digest'"
exits 5 cairn checkpoint fork "$one" --to ../half
ok 'of a damaged file nothing is left' [ ! -e ../half ]
is "$(find .. -maxdepth 1 -name '.cairn-restore-*' | wc -l)" 0 'nor of the work'
is "$(get .total cairn session list)" "$(cd ../proj && get .total cairn session list)" \
    'there is no session of it'
cd ..
rm -rf damaged
mkdir small
if mount -t tmpfs -o size=2m none small 2>err; then
    cd proj || exit
    n=$(get .total cairn session list)
    exits 75 cairn checkpoint fork "$one" --to ../small/try
    is "$(find ../small -mindepth 1 | wc -l)" 0 'a full disk: nothing is left there'
    is "$(get .total cairn session list)" "$n" 'and there is no session of it'
    exits 2 cairn checkpoint fork "$one" --to ../small
    says 'where another file system begins'
    exits 0 cairn checkpoint create 'work continues'
    cd ..
    umount small
else
    skip 'a full disk' 'a file system cannot be mounted'
fi

# ---- Blocks that are shared ----
# What looks for leaks traces its process, as strace does.
export ASAN_OPTIONS="${ASAN_OPTIONS-}${ASAN_OPTIONS:+:}detect_leaks=0"
if ! command -v strace >strace.out || ! strace -o strace.out true; then
    skip 'shared blocks' 'there is no strace, or it may not trace'
else
    cd proj || exit
    exits 0 strace -f -o ../strace.out -e inject=ioctl:retval=0 \
        cairn checkpoint fork "$one" --to ../cloned
    ok 'a clone was tried' grep -q FICLONE ../strace.out
    cd ..
    same cloned one 'one that has other content is not believed'
    if mkfs.xfs -h >out 2>&1 || [ -x /sbin/mkfs.xfs ]; then
        truncate -s 400M disk
        mkdir xfs
        if /sbin/mkfs.xfs -q -m reflink=1 disk >out 2>err && mount -o loop disk xfs 2>err; then
            cp -a proj xfs/proj
            cd xfs/proj || exit
            exits 0 cairn checkpoint fork "$one" --to ../try --json
            is "$([ "$(json_get .cloned out)" -gt 0 ] && echo yes)" yes 'clones where they can be'
            cd ../..
            same xfs/try one 'with the right content'
            umount xfs
        else
            skip 'clones where they can be' 'there is no such file system'
        fi
        rm -f disk
    fi
fi

# ---- Killed at every thirtieth call of the system or fewer, and often near the end ----
if can_sweep 'killed in the middle' 30; then
    rm -rf cloned again other evil runs try
    mkdir saved
    cp -a proj saved/proj
    calls=0 bad=0 old=0 new=0 killed=0 near=$((apart / 12))
    while :; do
        calls=$((calls + apart))
        rm -rf proj k .cairn-restore-*
        cp -a saved/proj proj
        cd proj || exit
        strace -f -o ../strace.out -e inject=all:signal=KILL:when=$calls \
            cairn checkpoint fork "$one" --to ../k --name k >out 2>err
        if [ -e ../k ]; then
            (cd .. && state_of k) >../state.got
            cmp -s ../state.one ../state.got || bad=$calls # a half tree, before all else
        fi
        run cairn note add next
        [ "$status" = 0 ] || bad=$calls
        there=$(get .name cairn session show k)
        [ -z "$(find .. -maxdepth 2 -name '.cairn-restore-*')" ] || bad=$calls
        [ ! -e .cairn/restore ] || bad=$calls
        if [ "$there" = k ] && [ -e ../k/.cairn ]; then
            new=$((new + 1))
            (cd .. && state_of k) >../state.got
            cmp -s ../state.one ../state.got || bad=$calls
            cd ../k || exit
            [ "$(get .name cairn session show)" = k ] || bad=$calls
            cd ../proj || exit
        elif [ -z "$there" ] && [ ! -e ../k ]; then
            old=$((old + 1))
        else
            bad=$calls
        fi
        cd ..
        [ "$bad" = 0 ] || break
        if grep -q 'killed by SIGKILL' strace.out; then
            killed=$((killed + 1))
        elif [ "$apart" != "$near" ]; then
            calls=$((calls > apart + 120 ? calls - apart - 120 : 0))
            apart=$near
        else
            break
        fi
    done
    is "$bad" 0 "killed at $killed places: nothing ($old) or all of it ($new)"
    ok 'before it was decided and after that' test "$old" -gt 10 -a "$new" -gt 1
    cd proj || exit
    exits 0 cairn checkpoint verify
    cd ..
fi
done_testing
