/* SPDX-License-Identifier: MIT */
/* refuse CALL=ERROR... COMMAND ARGUMENT...: runs the command where the kernel refuses
 * these system calls, for it and all that it starts. Exit status 77: that is not
 * possible here. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    int number;
} calls[] = {{"fallocate", SYS_fallocate},
             {"execveat", SYS_execveat},
             {"getrandom", SYS_getrandom},
             {"memfd_create", SYS_memfd_create},
             {"waitid", SYS_waitid},
             {"pidfd_open", SYS_pidfd_open},
             {"pidfd_send_signal", SYS_pidfd_send_signal},
             {"clone3", SYS_clone3},
             {"close_range", SYS_close_range},
             {"copy_file_range", SYS_copy_file_range},
             {"statx", SYS_statx},
             {"statfs", SYS_statfs},
             {"renameat2", SYS_renameat2},
             {"linkat", SYS_linkat},
             {"openat2", SYS_openat2},
             {"prlimit64", SYS_prlimit64},
             {"getrusage", SYS_getrusage},
             {"sched_getaffinity", SYS_sched_getaffinity},
             {"eventfd2", SYS_eventfd2},
             {"epoll_create1", SYS_epoll_create1},
             {"timerfd_create", SYS_timerfd_create},
             {"signalfd4", SYS_signalfd4},
             {"ioprio_set", SYS_ioprio_set},
             {"process_vm_readv", SYS_process_vm_readv},
             {"kcmp", SYS_kcmp},
             {"sync_file_range", SYS_sync_file_range},
             {"syncfs", SYS_syncfs},
             {"fadvise64", SYS_fadvise64},
             {"madvise", SYS_madvise},
             {"mremap", SYS_mremap},
             {"io_uring_setup", SYS_io_uring_setup},
             {"inotify_init1", SYS_inotify_init1},
             {"sendfile", SYS_sendfile},
             {"splice", SYS_splice},
             {"setpriority", SYS_setpriority},
             {"faccessat2", SYS_faccessat2},
             {"ptrace", SYS_ptrace},
             {"flock", SYS_flock},
             {"prctl", SYS_prctl}},
  errors[] = {{"EACCES", EACCES},
              {"EOPNOTSUPP", EOPNOTSUPP},
              {"ENOSYS", ENOSYS},
              {"EPERM", EPERM}};

static int number_of(const char *name, size_t len, int which)
{
    size_t n = which ? sizeof errors / sizeof *errors : sizeof calls / sizeof *calls;
    for (size_t i = 0; i < n; i++) {
        const char *known = which ? errors[i].name : calls[i].name;
        if (strlen(known) == len && memcmp(known, name, len) == 0)
            return which ? errors[i].number : calls[i].number;
    }
    return -1;
}

static int refuse(int call, int error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
    int i = 1;
    for (const char *is; i < argc && (is = strchr(argv[i], '=')); i++) {
        int call = number_of(argv[i], (size_t)(is - argv[i]), 0);
        int error = number_of(is + 1, strlen(is + 1), 1);
        if (call < 0 || error < 0) {
            fprintf(stderr, "refuse: %s?\n", argv[i]);
            return 2;
        }
        if (refuse(call, error)) {
            perror("refuse");
            return 77;
        }
    }
    if (i >= argc)
        return 2;
    execvp(argv[i], argv + i);
    perror(argv[i]);
    return 127;
}
