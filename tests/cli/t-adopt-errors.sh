# make: sanitize
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
ok 'the library is made' ${CC:-cc} -shared -fPIC -o nosync.so nosync.c

# The intent is stored, the keeper is not there: the next run has to bar it from starting.
LD_PRELOAD=$BUILD/tests/crash/killer.so CRASH_KILL=clone-entry:1 CRASH_MARK=mark \
    cairn run flow.yaml >out 2>err
is "$?" 137 'killed before the first task'
run env LD_PRELOAD="$PWD/nosync.so" cairn resume
is "$status" 75 'resume fails if the bar cannot be made durable'
matches 'barring an attempt in .*No space left' 'and says why'
ok 'nothing has run' test ! -e ran
exits 0 cairn resume
is "$(count a ran)" 1 'then it continues'

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

# A keeper that wants its attempt after the next cairn has looked for it: what runs once is
# not started by both. The first cairn is killed while its keeper is about to be executed; the
# second one stands still behind its first look.
cat >late.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static long (*next_syscall)(long, ...);
static int (*next_access)(const char *, int);
__attribute__((constructor)) static void find(void)
{
    *(void **)&next_syscall = dlsym(RTLD_NEXT, "syscall");
    *(void **)&next_access = dlsym(RTLD_NEXT, "access");
}
static void rest(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}
long syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    const char *late = getenv("LATE");
    if (late && number == SYS_execveat && !strcmp(((char **)a[2])[0], "cairn-keeper")) {
        close(open(late, O_CREAT | O_WRONLY, 0600));
        rest(700);
    }
    return next_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
int access(const char *path, int mode)
{
    static int looked;
    int result = next_access(path, mode);
    if (getenv("LOOK") && strstr(path, ".keep") && !looked++)
        rest(1500);
    return result;
}
END
cat >late.yaml <<'END'
name: late
on_crash: adopt
tasks:
  t: {once: true, run: echo $CAIRN_ATTEMPT >>late.log; sleep 0.1}
END
ok 'the library is made' ${CC:-cc} -shared -fPIC -o late.so late.c -ldl
LATE="$PWD/waiting" LD_PRELOAD="$PWD/late.so" cairn run late.yaml >out 2>err &
wait_for 10 test -e waiting
kill -9 "$!"
LOOK=1 LD_PRELOAD="$PWD/late.so" cairn resume >out 2>err
is "$?" 0 'the run continues'
sleep 1
is "$(wc -l <late.log)" 1 'it ran once'

# A task puts something else in the place of its claim: the others go on, and the run can.
cat >claim.yaml <<'END'
name: claim
on_crash: adopt
on_failure: continue
tasks:
  a: {run: 'f=$(echo .cairn/live/run-*.keep); rm -f $f; mkdir $f; touch $f/x'}
  b: {needs: [a], when: always, run: echo b >>claimed}
END
rm -rf .cairn
cairn run claim.yaml >out 2>err
ok 'a claim that cannot be read does not end the run' test -s claimed
run cairn resume
ok 'nor keep it from going on' test "$status" -le 1
run cairn status
is "$status" 0 'status answers'
done_testing
