/* SPDX-License-Identifier: MIT */
/* Loaded into user-mode Linux, so that it runs on processors with more state than it
 * knows: it sets the extended registers of its processes from a buffer of fixed size,
 * which newer kernels refuse if theirs is larger. What is missing at the end is taken
 * from the process as it is. */
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef long ptrace_fn(enum __ptrace_request request, ...);

long ptrace(enum __ptrace_request request, ...)
{
    static ptrace_fn *next;
    static char whole[1 << 16];
    va_list list;
    va_start(list, request);
    pid_t pid = va_arg(list, pid_t);
    void *address = va_arg(list, void *), *data = va_arg(list, void *);
    va_end(list);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "ptrace");
    if (request == PTRACE_SETREGSET && (uintptr_t)address == NT_X86_XSTATE) {
        const struct iovec *given = data;
        struct iovec all = {whole, sizeof whole};
        if (next(PTRACE_GETREGSET, pid, address, &all) == 0 &&
            given->iov_len < all.iov_len) {
            memcpy(whole, given->iov_base, given->iov_len);
            return next(request, pid, address, &all);
        }
    }
    return next(request, pid, address, data);
}
