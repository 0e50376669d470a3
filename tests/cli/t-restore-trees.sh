# A directory that a restore makes anew waits as a whole, and comes into place in one step:
# also where somebody makes that directory meanwhile, where a kill comes in between, and
# where what is made in a directory is given its group.
. "$TESTS/cli/tap.sh"

state_of() {
    (cd "$1" && find . \( -type l -printf 'l %p %l\n' \) -o -printf '%y %m %p %TY-%Tm-%Td %TT\n' | sort
        find . -type f -exec sha256sum {} + | sort -k 2)
}
begin() { # one: a tree with much in it; two: nothing of it
    chmod -R u+w p 2>chmod.out
    rm -rf p .cairn
    mkdir -p p/new/sub/deep p/new/locked p/new/empty p/file
    echo 1 >p/new/a
    echo 2 >p/new/sub/b
    echo 3 >p/new/sub/deep/c
    echo 4 >p/new/locked/d
    : >p/new/none
    echo 5 >p/file/e
    ln -s sub/b p/new/link
    chmod 640 p/new/a
    chmod 755 p/new/sub/b
    touch -d '2001-02-03 04:05:06.789' p/new/a p/new/sub/deep p/new/locked
    chmod 500 p/new/locked
    touch -d '2002-02-03 04:05:06' p/new p/file
    run cairn session start s
    run cairn session config files p
    exits 0 cairn checkpoint create one
    state_of p | grep -v '^d [0-9]* \. ' >one
    chmod u+w p/new/locked
    rm -r p/new p/file
    echo 'a file where a directory was' >p/file
    exits 0 cairn checkpoint create two
}
restored() { state_of p | grep -v '^d [0-9]* \. ' | cmp - one; }

begin
exits 0 cairn checkpoint restore 1 --yes
ok 'contents, modes, times and links are those of the checkpoint' restored
ok 'nothing waits' test ! -e .cairn/restore
exits 0 cairn checkpoint undo-restore
is "$(cd p && find . | sort)" "$(printf '.\n./file')" 'and it goes again'

# ---- What others may make in a directory that has a group of its own ----
begin
group=$(id -G | tr ' ' '\n' | grep -vx "$(id -g)" | head -n 1)
if [ "$(id -u)" = 0 ]; then group=12345; fi
if [ -z "$group" ] || ! chgrp "$group" p 2>err; then
    skip 'a directory with a group of its own' 'there is no second group'
else
    chmod g+s p
    exits 0 cairn checkpoint restore 1 --yes
    is "$(stat -c %g p/new p/new/sub/deep | sort -u)" "$group" 'new directories get the group of where they are'
fi

# ---- Somebody makes the directory at the very moment ----
cat >moment.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int renameat2(int from, const char *name, int to, const char *other, unsigned flags)
{
    int (*next)(int, const char *, int, const char *, unsigned) = dlsym(RTLD_NEXT, "renameat2");
    const char *how = getenv("MOMENT");
    if (how && strstr(name, ".tree") && !strcmp(other, "new")) {
        if (!strcmp(how, "link"))
            (void)!symlinkat("../outside", to, "new");
        else if (mkdirat(to, "new", 0755) == 0) {
            int fd = openat(to, "new/a", O_WRONLY | O_CREAT, 0600);
            dprintf(fd, "theirs\n");
            close(fd);
            close(openat(to, "new/other", O_WRONLY | O_CREAT, 0600));
        }
    }
    return next(from, name, to, other, flags);
}
END
if ! ${CC:-cc} -shared -fPIC -o moment.so moment.c -ldl 2>err; then
    skip 'a directory that is made at the very moment' 'there is no compiler'
    done_testing
    exit
fi
# A library that is loaded first is not AddressSanitizer's.
export ASAN_OPTIONS="${ASAN_OPTIONS-}${ASAN_OPTIONS:+:}verify_asan_link_order=0"
begin
exits 0 env MOMENT=directory LD_PRELOAD="$PWD/moment.so" cairn checkpoint restore 1 --yes
is "$(cat p/new/a.before-restore)" theirs 'what somebody has made there is kept beside'
says 'was changed meanwhile' 'and named'
ok 'what is not in the way stays' test -f p/new/other
rm p/new/a.before-restore p/new/other
touch -d '2002-02-03 04:05:06' p/new
ok 'all else is as in the checkpoint' restored
ok 'nothing waits' test ! -e .cairn/restore

begin
mkdir -p outside
exits 0 env MOMENT=link LD_PRELOAD="$PWD/moment.so" cairn checkpoint restore 1 --yes
is "$(find outside)" outside 'a link that comes there is not followed'
ok 'but kept beside' test -L p/new.before-restore
rm p/new.before-restore
ok 'and all is as in the checkpoint' restored

# ---- Killed before each step of that ----
if ! command -v strace >strace.out || ! strace -o strace.out true; then
    skip 'killed in between' 'there is no strace, or it may not trace'
    done_testing
    exit
fi
begin
cp -a p before-kills
cp -a .cairn store
kills=0 bad=0
state_of p | grep -v '^d [0-9]* \. ' >two
for call in renameat2 unlinkat fchmodat syncfs; do
    n=1
    while :; do
        chmod -R u+w p
        rm -rf p .cairn
        cp -a before-kills p
        cp -a store .cairn
        MOMENT=directory LD_PRELOAD=$PWD/moment.so strace -f -o strace.out \
            -e trace=$call -e inject=$call:signal=KILL:when=$n cairn checkpoint restore 1 --yes >out 2>err
        grep -q 'killed by SIGKILL' strace.out || break
        kills=$((kills + 1))
        cairn note add next >out 2>err || bad=$((bad + 1))
        [ ! -e .cairn/restore ] || bad=$((bad + 1))
        if [ -e p/new ] && [ -e p/new/a ] && [ -e p/new/other ]; then
            grep -qx theirs p/new/a.before-restore || bad=$((bad + 1))
            rm p/new/a.before-restore p/new/other
            touch -d '2002-02-03 04:05:06' p/new
        fi
        state_of p | grep -v '^d [0-9]* \. ' >got
        cmp -s got one || cmp -s got two || {
            bad=$((bad + 1))
            echo "# killed at $call $n:"
            diff one got | sed 's/^/# /'
        }
        n=$((n + 1))
    done
done
is $bad 0 "killed at $kills places: all old or all new, and what is somebody's is kept"
ok 'it was killed' [ "$kills" -gt 15 ]
done_testing
