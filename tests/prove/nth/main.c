/* SPDX-License-Identifier: MIT */
/* make: only-x86_64 */
/* nth [--count] [--class CLASS] [--timeout MS] COMMAND...
 * nth --kill N | --kill-after N  [--class CLASS] COMMAND...
 * nth --fail CLASS:ERROR:N[+] COMMAND...
 *
 * Runs COMMAND and kills it before (or after) its N-th system call, or lets the N-th
 * call of a class fail, once or (+) from then on. Tells on stderr what that call was
 * and how the command ended, which is also the exit status. ERROR is an errno name, or
 * SHORT: half of the bytes are written.
 *
 * nth --sweep kill|fault ... : see sweep.h. */
#include "sweep.h"

#include <getopt.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int usage(void)
{
    fprintf(stderr, "usage: nth [--kill N | --kill-after N | --fail CLASS:ERROR:N[+]] "
                    "[--class CLASS] [--timeout MS] COMMAND...\n"
                    "       nth --sweep kill|fault [--case NAME] [--stride N] "
                    "[--from N] [--fault CLASS:ERROR:N[+]] DIRECTORY CAIRN\n");
    return 2;
}

bool parse_fault(const char *text, struct order *order)
{
    char class[32], error[32], more[2] = "";
    unsigned long long nth;
    int n = sscanf(text, "%31[a-z]:%31[A-Z]:%llu%1s", class, error, &nth, more);
    order->class = n >= 3 ? class_find(class) : CALLS_ALL;
    order->error = n >= 3 ? error_find(error) : 0;
    order->what = more[0] == '+' ? FAIL_FROM_THEN_ON : FAIL_ONCE;
    order->nth = n >= 3 ? nth : 0;
    return order->class != CALLS_ALL && order->error && order->nth;
}

static int run_once(const char *const *argv, const struct order *order)
{
    struct outcome outcome;
    char left[TEXT_SIZE];
    struct start how = {.argv = argv, .environment = environ};
    if (!trace(&how, order, &outcome)) {
        fprintf(stderr, "nth: cannot start %s\n", argv[0]);
        return 126;
    }
    int status = WIFEXITED(outcome.status) ? WEXITSTATUS(outcome.status)
                                           : 128 + WTERMSIG(outcome.status);
    fprintf(stderr, "nth: %llu calls%s%s%s%s; exit status %d\n",
            (unsigned long long)outcome.calls, outcome.fired ? "; it was " : "",
            outcome.what, outcome.hung ? "; it HUNG" : "",
            outcome.fired || order->what == COUNT_ONLY ? ""
                                                       : "; there was no such call",
            status);
    if (!none_left(2000, left, sizeof left))
        fprintf(stderr, "nth: left behind, and ended: %s\n", left);
    return status;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"count", no_argument, NULL, 'n'},
        {"kill", required_argument, NULL, 'k'},
        {"kill-after", required_argument, NULL, 'a'},
        {"fail", required_argument, NULL, 'f'},
        {"class", required_argument, NULL, 'c'},
        {"timeout", required_argument, NULL, 't'},
        {"sweep", required_argument, NULL, 's'},
        {NULL, 0, NULL, 0}};
    struct order order = {.what = COUNT_ONLY, .timeout_ms = 30000};
    int option;
    become_reaper();
    while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1)
        switch (option) {
        case 'n':
            break;
        case 'k':
        case 'a':
            order.what = option == 'k' ? KILL_AT_ENTRY : KILL_AT_EXIT;
            order.nth = strtoull(optarg, NULL, 10);
            break;
        case 'f':
            if (!parse_fault(optarg, &order))
                return usage();
            break;
        case 'c':
            order.class = class_find(optarg);
            break;
        case 't':
            order.timeout_ms = (int)strtol(optarg, NULL, 10);
            break;
        case 's':
            return sweep_main(optarg, argc - optind + 1, argv + optind - 1);
        default:
            return usage();
        }
    if (optind == argc)
        return usage();
    return run_once((const char *const *)(argv + optind), &order);
}
