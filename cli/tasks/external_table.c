/* SPDX-License-Identifier: MIT */
/* The commands with which people and other programs do external tasks. */
#include "cli/tasks/external_table.h"

#include "cli/commands/run_commands.h"

static const struct command external_table[] = {
    {"next",
     "[RUN]",
     "list the external tasks that can be done now",
     "Lists the external tasks of a run (default: the newest) that people or other "
     "programs can do now: those whose needs have ended and that nobody has "
     "claimed.",
     "  cairn next 3 --json",
     "0 2 5 10 75",
     0,
     1,
     {OPT_RUN, OPT_CLAIMED, OPT_NONE},
     command_next},
    {"claim",
     "RUN TASK | --any [RUN]",
     "claim an external task",
     "Claims an external task for a limited time and prints a token, which `cairn "
     "complete` and `cairn fail` require. Of several who claim a task, only one "
     "gets it. When the lease expires, the task can be claimed again and the token "
     "is no longer valid. With --any the first one that can be done now, and its "
     "text; exit 7 if there is none, 10 if the run is completed. With --exec it is "
     "done by a command: exit 1 if it fails.",
     "  cairn claim 3 review --lease 30m\n  while cairn claim --any --wait 1h --exec "
     "./worker.sh; do :; done",
     "0 1 2 5 6 7 10 75",
     0,
     2,
     {OPT_RUN, OPT_ANY, OPT_WAIT, OPT_CLAIM_EXEC, OPT_LEASE, OPT_HOLDER, OPT_NONE},
     command_claim},
    {"renew",
     "RUN TASK",
     "renew the lease of a claim",
     "From now on the claim of an external task lasts for another --lease. Exit 6 if "
     "the lease is over, or something before the task has run again.",
     "  cairn renew 3 review --token \"$token\" --lease 30m",
     "0 2 5 6 10 75",
     2,
     2,
     {OPT_RUN, OPT_TOKEN, OPT_LEASE, OPT_NONE},
     command_renew},
    {"complete",
     "RUN TASK",
     "report that an external task is done",
     "Completes an external task, with values that later tasks can refer to. Needs "
     "no other process: the tasks that follow run when the run continues.",
     "  cairn complete 3 review --token \"$token\" --output verdict=approve",
     "0 2 3 5 6 10 75",
     2,
     2,
     {OPT_RUN, OPT_TOKEN, OPT_VALUE, OPT_NONE},
     command_complete},
    {"fail",
     "RUN TASK",
     "report that an external task has failed",
     "Ends an external task as failed.",
     "  cairn fail 3 review --token \"$token\" --message 'rejected'",
     "0 2 3 5 6 10 75",
     2,
     2,
     {OPT_RUN, OPT_TOKEN, OPT_MESSAGE, OPT_NONE},
     command_fail},
};

const struct command_part external_commands = {
    external_table, sizeof external_table / sizeof external_table[0]};
