# make: long
# Going back to the files of a checkpoint: everything as it was, what was there kept in a
# checkpoint, nothing outside touched, all or nothing whenever it is killed. Every
# command is a process of its own.
. "$TESTS/cli/tap.sh"

get() { # PATH COMMAND...: a scalar of its JSON
    get_path=$1
    shift
    "$@" --json >doc.json 2>/dev/null
    json_get "$get_path" doc.json
}
# Names, kinds, modes, times of files and directories, targets, contents.
state_of() {
    (cd "$1" && find . -mindepth 1 \( -type l -printf 'l %p %l\n' \) -o \
        -mindepth 1 -printf '%y %m %T@ %p\n' | sort
        find . -type f -exec sha256sum {} + | sort -k 2)
}
same() { # DIR NAME
    state_of "$1" >state.got
    ok "$2" cmp "state.$3" state.got
}
first() {
    mkdir -p p/a/b p/gone/deep p/empty p/turns p/locked p/.git
    echo 1 >p/a/x
    echo 2 >p/a/b/y
    echo 3 >p/gone/deep/z
    ln -s x p/a/link
    printf 'bin\0' >p/bin
    chmod 600 p/bin
    echo file >p/becomes
    echo q >p/turns/q
    echo in >p/locked/in
    echo git >p/.git/config
    head -c 5000000 /dev/urandom >p/large
    echo -- >p/--help
    odd=$(printf 'p/odd\n\377 name')
    echo odd >"$odd"
}
second() {
    chmod 755 p/locked
    echo 11 >p/a/x
    rm -r p/gone p/turns p/becomes p/empty
    echo new >p/a/new
    ln -sf elsewhere p/a/link
    chmod 755 p/bin
    mkdir -p p/becomes p/add/ed
    echo in >p/becomes/in
    echo f >p/turns
    echo e >p/add/ed/e
    echo more >>p/large
    echo changed >p/locked/in
    echo option >p/--help
    rm -f "$odd"
    chmod 500 p/locked
    echo git2 >p/.git/config
}

run cairn session start r
mkdir p
run cairn session config files p
first
run cairn checkpoint create one
one=$(cat out)
state_of p | grep -av '\.git' >state.one
second
state_of p >state.all
run cairn checkpoint create two
two=$(cat out)
run cairn note add 'after two'

# ---- Dry run, refusals ----
exits 2 cairn checkpoint restore "$one"
says 'needs --yes'
exits 10 cairn checkpoint restore 99
says 'there is no checkpoint' 'one that is not there is the first thing to say'
ok 'and what it needs is not said' sh -c '! grep -q "needs --yes" err'
exits 0 cairn checkpoint restore "$one" --dry-run
says 'nothing was restored'
same p 'a dry run changes nothing' all
exits 2 cairn checkpoint restore "$one" --yes --files-only --board-only
exits 0 cairn checkpoint restore "$one" --dry-run --json
json_ok 'as JSON'
is "$(json_get .dry_run out)" true 'it says that it is one'
is "$(json_get .before out)" null 'and makes no checkpoint'

# ---- There and back ----
exits 0 cairn checkpoint restore "$one" --yes
matches 'files +[0-9]+ added, [0-9]+ changed, [0-9]+ removed'
state_of p | grep -av '\.git' >state.got
ok 'all of it is as it was, with modes and times' cmp state.one state.got
is "$(cat p/.git/config)" git2 'what is never kept is not touched'
is "$(get .total cairn note list)" 0 'so is the board'
ok 'nothing is left of the work' [ ! -e .cairn/restore ]
is "$(get .made cairn checkpoint create --trigger compaction-warning)" false \
    'the present state is that checkpoint'
exits 0 cairn checkpoint undo-restore
same p 'undo-restore takes all of it back' all
is "$(get .total cairn note list)" 1 'with the board'
exits 0 cairn checkpoint verify

# ---- Parts ----
exits 0 cairn checkpoint restore "$one" --yes --board-only
same p 'the board alone' all
exits 0 cairn checkpoint undo-restore
exits 0 cairn checkpoint restore "$one" --yes --files-only
state_of p | grep -av '\.git' >state.got
ok 'the files alone' cmp state.one state.got
is "$(get .total cairn note list)" 1 'the board is what it was'
exits 0 cairn checkpoint undo-restore
same p 'and back' all

# ---- Branches have their own files ----
run cairn branch start other --from "$one"
state_of p | grep -av '\.git' >state.got
ok 'a branch from a checkpoint begins with its files' cmp state.one state.got
echo other >p/other
exits 0 cairn branch switch main
same p 'a switch takes up the files of the branch' all
exits 0 cairn branch switch other
is "$(cat p/other)" other 'what was done there was kept'
exits 0 cairn branch switch main

# ---- What is in the way ----
mkdir outside
echo precious >outside/in
rm -r p/add
ln -s ../outside p/add
rm -rf p/becomes
run cairn checkpoint create linked
exits 0 cairn checkpoint restore "$two" --yes
is "$(cat outside/in)" precious 'a link in the place of a directory is not followed'
is "$(ls outside)" in 'and nothing comes there'
same p 'the directory is back' all
rm p/a/x
mkfifo p/a/x
exits 2 cairn checkpoint restore "$one" --yes
says 'socket, device or pipe'
ok 'nothing was changed' [ -p p/a/x ]
rm p/a/x
echo 11 >p/a/x
exits 0 cairn checkpoint restore "$two" --yes
run cairn session config files .
exits 2 cairn checkpoint restore "$one" --yes
says 'give --board-only'
exits 0 cairn checkpoint restore "$one" --yes --board-only
run cairn checkpoint undo-restore
run cairn session config files p

# ---- Other names of a file, and directories that may not be written ----
# Without what lets root write everywhere.
as_user() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --bounding-set -dac_override,-dac_read_search \
            --inh-caps -dac_override,-dac_read_search "$@"
    else
        "$@"
    fi
}
echo same >p/linked
chmod 600 p/linked
run cairn checkpoint create unlinked
unlinked=$(cat out)
chmod 644 p/linked
ln p/linked outside/linked
ln p/linked p/twin
run cairn checkpoint create linked
linked=$(cat out)
state_of outside >state.outside
exits 0 cairn checkpoint restore "$unlinked" --yes
state_of outside >state.got
ok 'another name of a file outside keeps mode and time' cmp state.outside state.got
is "$(stat -c '%a %h' p/linked)" '600 1' 'the file itself has them'
rm p/linked
ln outside/linked p/linked
ln outside/linked p/twin
chmod 600 outside/linked
echo two >p/beside
run cairn checkpoint create both
exits 0 cairn checkpoint restore "$linked" --yes
is "$(stat -c '%a %a' p/linked p/twin)" "644 644
644 644" 'two names of one file both get the mode'
rm -f p/linked p/twin p/beside outside/linked
exits 0 cairn checkpoint restore "$two" --yes
if ! as_user true 2>err; then
    skip 'directories that may not be written' 'there is no setpriv'
else
    state_of p >state.now
    chmod 500 p
    exits 75 as_user cairn checkpoint restore "$one" --yes
    says 'nothing was changed'
    same p 'a root that cannot be written is found before anything is touched' now
    exits 0 as_user cairn note add 'and nothing waits'
    chmod 755 p
    exits 0 cairn checkpoint restore "$two" --yes
    mkdir p/shut
    echo 1 >p/shut/in
    chmod 500 p/shut
    run cairn checkpoint create shut
    shut=$(cat out)
    state_of p | grep -av '\.git' >state.shut
    rm -rf p/shut
    echo 1 >p/a/x
    run cairn checkpoint create open
    if ! command -v strace >strace.out || ! strace -o strace.out true; then
        skip 'killed with all in place' 'there is no strace, or it may not trace'
    else
        as_user strace -f -o strace.out -e inject=syncfs:signal=KILL:when=1 \
            cairn checkpoint restore "$shut" --yes >out 2>err
        ok 'killed with all in place' grep -q 'killed by SIGKILL' strace.out
        exits 0 as_user cairn note add next
        state_of p | grep -av '\.git' >state.got
        ok 'a directory that was shut already is no obstacle' cmp state.shut state.got
    fi
    exits 0 as_user cairn checkpoint restore "$two" --yes
fi

# ---- Damage is found before anything is touched ----
cp -r .cairn saved
digest=$(printf '3\n' | sha256sum | cut -c1-64)
run "$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE object SET data = x'00' WHERE digest = x'$digest'"
state_of p >state.now
exits 5 cairn checkpoint restore "$one" --yes
same p 'with a damaged content nothing is touched' now
ok 'and nothing is left of the work' [ ! -e .cairn/restore ]
rm -rf .cairn
mv saved .cairn

# ---- What is there is damaged in the store, and whole on the disk ----
mkdir q
cd q || exit
export CAIRN_STORE="$PWD/.cairn"
run cairn session start damaged
mkdir w
run cairn session config files w
echo base >w/f
run cairn checkpoint create A
echo 'the only copy' >w/f
sleep 3.1
run cairn checkpoint create B
digest=$(printf 'the only copy\n' | sha256sum | cut -c1-64)
run "$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE object SET data = x'00' WHERE digest = x'$digest'"
exits 0 cairn checkpoint restore 1 --yes
is "$(cat w/f)" base 'it is restored'
exits 0 cairn checkpoint undo-restore
is "$(cat w/f)" 'the only copy' 'and what was there was read again and kept'

# ---- A name of which a checkpoint has nothing but the name ----
rm -rf w/f
mkfifo w/X
echo 1 >w/g
run cairn checkpoint create fifo
fifo=$(cat out)
rm w/X
mkdir -p w/X/sub
echo precious >w/X/sub/in
echo 2 >w/g
exits 0 cairn checkpoint restore "$fifo" --yes
is "$(cat w/g)" 1 'the rest is restored'
is "$(cat w/X/sub/in)" precious 'what came in its place stays'
rm -r w/X

# ---- What the rules of the other state ignore ----
printf '.env\nbuild/\n*.log\n' >w/.gitignore
mkdir -p w/build w/sub
echo key >w/.env
echo o >w/build/o
echo l >w/sub/x.log
run cairn checkpoint create rules
rules=$(cat out)
rm w/.gitignore
echo 4 >w/g
exits 0 cairn checkpoint restore "$rules" --yes
is "$(cat w/.env w/build/o w/sub/x.log)" "$(printf 'key\no\nl')" \
    'what it ignored stays, though nothing ignores it now'
exits 0 cairn checkpoint restore "$fifo" --yes
ok 'a state without the rules' [ ! -e w/.gitignore ]
exits 0 cairn checkpoint undo-restore
is "$(cat w/.env w/build/o w/sub/x.log)" "$(printf 'key\no\nl')" 'and taken back'
rm -r w/.env w/build w/sub w/.gitignore

# Something in an ignored directory is in that state, since it was there before the rules.
mkdir w/build
echo o >w/build/o
run cairn checkpoint create without-rules
without=$(cat out)
echo build/ >w/.gitignore
echo precious >w/build/cache
exits 0 cairn checkpoint restore "$without" --yes
echo new >w/build/new
run cairn checkpoint create all-of-it
exits 0 cairn checkpoint undo-restore
is "$(cat w/build/o w/build/cache w/.gitignore)" "$(printf 'o\nprecious\nbuild/')" \
    'what lies in a directory that a state ignored stays, though it held a part of it'
exits 0 cairn checkpoint redo-restore
is "$(cat w/build/o w/build/cache w/build/new)" "$(printf 'o\nprecious\nnew')" 'forward again'
rm -rf w/build w/.gitignore

# ---- Bits that let others act as the owner, who is not kept ----
echo tool >w/tool
chmod 4755 w/tool
run cairn checkpoint create set-id
set_id=$(cat out)
echo other >w/tool
chmod 4755 w/tool
exits 0 cairn checkpoint restore "$set_id" --yes
is "$(stat -c %a w/tool)" 755 'a file that is put back does not act as its owner'
exits 0 cairn checkpoint fork "$set_id" --to forked
is "$(stat -c %a forked/tool)" 755 'nor in a fork'
chmod 4755 w/tool
exits 0 cairn checkpoint restore "$set_id" --yes
is "$(stat -c %a w/tool)" 4755 'one that stays as it is keeps them'
rm -rf w/tool forked

# ---- What rename(2) would refuse is known before anything is touched ----
run cairn checkpoint create as-it-was
as_it_was=$(cat out)
mkdir -p w/aa w/mm
echo 1 >w/aa/a
echo 1 >w/mm/m
run cairn checkpoint create with-more
more=$(cat out)
echo 2 >w/aa/a
echo 2 >w/mm/m
if chattr +i w/mm/m 2>/dev/null; then
    exits 2 cairn checkpoint restore "$more" --yes
    says 'nothing was changed: mm/m' 'an immutable file is named'
    is "$(cat w/aa/a)" 2 'and the others stay, too'
    exits 0 cairn checkpoint create between
    chattr -i w/mm/m
else
    skip 'immutable files' 'this file system has none, or this user may make none'
fi
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
    mkdir other
    echo theirs >other/m
    exits 2 unshare -m sh -c 'mount --bind other w/mm && exec cairn checkpoint restore "$1" --yes' - "$more"
    says 'something else is mounted' 'a mount of the same file system'
    is "$(cat w/aa/a other/m)" "$(printf '2\ntheirs')" 'nothing was touched'
    rm -r other
else
    skip 'mounts below the directory' 'needs root and mount namespaces'
fi
exits 0 cairn checkpoint restore "$more" --yes
is "$(cat w/aa/a w/mm/m)" "$(printf '1\n1')" 'without them it continues'
exits 0 cairn checkpoint restore "$as_it_was" --yes

# ---- Nothing is tracked any more ----
run cairn session config files off
exits 2 cairn checkpoint restore "$fifo" --yes --files-only
says 'is off'
exits 0 cairn checkpoint restore "$fifo" --yes
says 'which were not restored' 'that files stay is said'
exits 0 cairn checkpoint undo-restore
run cairn session config files w

# ---- The directory of the files is a link now ----
run cairn checkpoint create before-link
echo 3 >w/g
mv w elsewhere
mkdir outside
echo mine >outside/g
ln -s outside w
exits 2 cairn checkpoint restore "$fifo" --yes
says 'by way of a link'
is "$(cat outside/g)" mine 'nothing is changed there'
rm w
mv elsewhere w
cd ..
unset CAIRN_STORE

# ---- Killed at every twentieth call of the system, or fewer ----
if can_sweep 'killed in the middle' 20; then
    state_of p | grep -av '\.git' >state.old
    cp -a p before-kills
    cp -a .cairn store
    calls=0 killed=0
    while :; do
        calls=$((calls + apart))
        rm -rf p .cairn
        cp -a before-kills p
        cp -a store .cairn
        strace -f -o strace.out -e inject=all:signal=KILL:when=$calls \
            cairn checkpoint restore "$one" --yes >out 2>err
        status=$?
        run cairn note add next
        noted=$status
        state_of p | grep -av '\.git' >state.got
        if [ "$noted" != 0 ] || [ -e .cairn/restore ] ||
            { ! cmp -s state.got state.old && ! cmp -s state.got state.one; }; then
            ok "killed at call $calls: all old or all new after the next command" false
            diff state.old state.got | head -n 20 | sed 's/^/# old and now: /'
            diff state.one state.got | head -n 20 | sed 's/^/# new and now: /'
            break
        fi
        grep -q 'killed by SIGKILL' strace.out || break
        killed=$((killed + 1))
    done
    # A directory that was there goes between the kill and the next command.
    rm -rf p .cairn
    cp -a before-kills p
    cp -a store .cairn
    strace -f -o strace.out -e trace=renameat2 -e inject=renameat2:signal=KILL:when=3 \
        cairn checkpoint restore "$one" --yes >out 2>err
    rm -rf p/a
    exits 0 cairn note add next
    exits 0 cairn checkpoint create 'and on'
    ok "killed at $killed places: all old or all new after the next command" [ "$killed" -gt 10 ]
    exits 0 cairn checkpoint verify
fi

# ---- A file that was changed at the very moment, and cannot be kept beside it ----
cat >moment.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int renameat2(int from, const char *name, int to, const char *other, unsigned flags)
{
    int (*next)(int, const char *, int, const char *, unsigned) = dlsym(RTLD_NEXT, "renameat2");
    int fd = getenv("EDIT") && flags & 2 ? openat(to, other, O_WRONLY | O_TRUNC) : -1;
    if (fd >= 0) {
        dprintf(fd, "%s\n", getenv("EDIT"));
        close(fd);
    }
    if (getenv("FULL") && strstr(other, ".before-restore")) {
        errno = ENOSPC;
        return -1;
    }
    return next(from, name, to, other, flags);
}
int access(const char *path, int mode)
{
    int (*next)(const char *, int) = dlsym(RTLD_NEXT, "access");
    const char *run = getenv("RUN"), *end = strrchr(path, '/');
    if (run && end && !strcmp(end, "/restore")) {
        unsetenv("RUN");
        if (system(run) < 0)
            abort();
    }
    return next(path, mode);
}
END
mkdir m
if ! ${CC:-cc} -shared -fPIC -o m/moment.so moment.c -ldl 2>err; then
    skip 'a file that is changed at the very moment' 'there is no compiler'
else
    cd m || exit
    export CAIRN_STORE="$PWD/.cairn"
    # A library that is loaded first is not AddressSanitizer's.
    export ASAN_OPTIONS="${ASAN_OPTIONS-}${ASAN_OPTIONS:+:}verify_asan_link_order=0"
    full() { env FULL=1 LD_PRELOAD="$PWD/moment.so" "$@"; }
    begun() { # one state; a restore of it that stopped with the edited file taken out
        rm -rf .cairn w
        mkdir w
        run cairn session start moment
        run cairn session config files w
        echo v1 >w/a.txt
        run cairn checkpoint create one
        echo v2 >w/a.txt
        run cairn checkpoint create two
    }
    precious() { grep -rlx precious w .cairn/restore 2>err; }
    begun
    exits 75 full env EDIT=precious cairn checkpoint restore 1 --yes
    ok 'the edited file waits' test -n "$(precious)"
    run full cairn note add 'still full'
    ok 'a command that cannot finish the restore deletes nothing' test -n "$(precious)"
    exits 75 full cairn session config files off
    says "$PWD/.cairn/restore; it can be moved away" 'giving up says where it is'
    ok 'and deletes nothing' test -n "$(precious)"
    exits 0 cairn note add 'room again'
    is "$(cat w/a.txt w/a.txt.before-restore)" "$(printf 'v1\nprecious')" 'it is kept beside its place'
    ok 'nothing waits any more' test ! -e .cairn/restore

    begun
    run full env EDIT=precious cairn checkpoint restore 1 --yes
    exits 0 cairn session config files off
    is "$(cat w/a.txt.before-restore)" precious 'a restore that is given up keeps it beside its place'
    ok 'and clears what had waited' test ! -e .cairn/restore

    begun
    run full env EDIT=precious cairn checkpoint restore 1 --yes
    run "$BUILD/tests/tools/sql" .cairn/cairn.db "UPDATE meta SET value = '1 x' WHERE key = 'restore'"
    exits 2 cairn session config files off
    says 'move that directory away' 'where it cannot be told apart, nothing is deleted'
    mv .cairn/restore apart
    exits 0 cairn session config files off
    is "$(cat apart/*)" precious 'and it can be moved away'

    begun
    run env RUN='EDIT=precious FULL=1 cairn checkpoint restore 1 --yes' LD_PRELOAD="$PWD/moment.so" \
        cairn note add 'at the same time'
    ok 'what another process began meanwhile is not cleared away' test -n "$(precious)"
    exits 0 cairn note add next
    is "$(cat w/a.txt.before-restore)" precious 'but finished'
    cd ..
    unset CAIRN_STORE
fi

# ---- A file that a process has open for writing is named, with the process ----
mkdir -m 700 open-there
cd open-there || exit 1
export CAIRN_STORE="$PWD/.cairn"
exits 0 cairn session start writers
exits 0 cairn session config files .
mkdir logs
echo one >logs/app.log
echo one >read.txt
echo same >same.txt
exits 0 cairn checkpoint create one
echo two >logs/app.log
echo two >read.txt
echo two >'new file'
sh -c 'exec 3>>logs/app.log 4>>"new file" 5<read.txt 6>>same.txt; echo >ready; exec sleep 60' &
writer=$!
wait_for 20 test -e ready
rm ready
opened="is open for writing by process $writer (sleep)"
exits 0 cairn checkpoint restore 1 --dry-run
says "logs/app.log $opened" 'the dry run names the file and the process'
says "new file $opened" 'also where it is to be removed'
ok 'not one that is only read' test "$(grep -c 'read.txt is open' err)" = 0
ok 'nor one that stays' test "$(grep -c 'same.txt is open' err)" = 0
sh -c 'exec 2>printed; cairn checkpoint restore 1 --dry-run >/dev/null; :'
ok 'nor where cairn prints to' test "$(grep -c 'printed is open' printed)" = 0
rm printed
exits 0 cairn checkpoint restore 1 --dry-run --json
is "$(json_get .warnings[0])" "logs/app.log $opened: what it writes after the restore goes into the old file, so restart it then" 'as JSON'
exits 0 cairn checkpoint restore 1 --yes --json
is "$(json_get .warnings[1])" "new file $opened: what it writes after the restore goes into the old file, so restart it then" 'and when it is done'
exits 0 cairn checkpoint restore 1 --yes --json
is "$(json_get .warnings[0])" '' 'the file that is there now is not open'
kill $writer
exits 0 cairn checkpoint undo-restore --json
is "$(json_get .warnings[0])" '' 'nor without that process'
cd ..
done_testing
