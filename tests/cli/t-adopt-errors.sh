# Taking over a run with on_crash: adopt where the system refuses.
. "$TESTS/cli/tap.sh"

# A directory whose sync fails.
cat >nosync.c <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int fsync(int fd)
{
    char link[64], name[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, name, sizeof name - 1);
    if (n > 5 && memcmp(name + n - 5, "/live", 5) == 0) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}
END
cat >flow.yaml <<'END'
name: barred
on_crash: adopt
tasks:
  a: {run: echo a >>ran}
END
export ASAN_OPTIONS="${ASAN_OPTIONS-}${ASAN_OPTIONS:+:}verify_asan_link_order=0"
ok 'the library is made' "${CC:-cc}" -shared -fPIC -o nosync.so nosync.c

# The intent is stored, the keeper is not there: the next run has to bar it from starting.
LD_PRELOAD=$BUILD/tests/crash/killer.so CRASH_KILL=clone-entry:1 CRASH_MARK=mark \
    cairn run flow.yaml >out 2>err
is "$?" 137 'killed before the first task'
run env LD_PRELOAD="$PWD/nosync.so" cairn resume
is "$status" 75 'resume fails if the bar cannot be made durable'
matches 'barring an attempt in .*No space left' 'and says why'
ok 'nothing has run' test ! -e ran
exits 0 cairn resume
is "$(count a ran)" 1 'then it goes on'

# A keeper that is killed takes its task with it; its place is another one's then.
cat >keeper.yaml <<'END'
name: keeper
on_crash: adopt
on_failure: continue
jobs: 1
tasks:
  a: {run: 'echo $PPID >keeper.new; mv keeper.new keeper; sleep 1000', priority: 1}
  b: {run: echo b >>after}
END
cairn run keeper.yaml >out 2>err &
wait_for 10 test -s keeper
kill -9 "$(cat keeper)"
wait "$!"
is "$?" 1 'a task failed'
is "$(cat after)" b 'the next one ran'
ok 'it is told' grep -q 'its keeper was killed' out err
done_testing
