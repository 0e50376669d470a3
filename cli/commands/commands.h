/* SPDX-License-Identifier: MIT */
/* Every command, and the tables that main hands to the frame. A command returns the
 * exit status. That of an agent's hook is always 0, since any other may keep an agent
 * from working. */
#ifndef CLI_COMMANDS_COMMANDS_H
#define CLI_COMMANDS_COMMANDS_H

#include "cli/command.h"
#include "cli/options.h"

int command_run(struct settings *settings);
int command_resume(struct settings *settings);
int command_rerun(struct settings *settings);
int command_clean(struct settings *settings);
int command_plan(struct settings *settings);
int command_explain(struct settings *settings);
int command_status(struct settings *settings);
int command_watch(struct settings *settings);
int command_runs(struct settings *settings);
int command_log(struct settings *settings);
int command_shell(struct settings *settings);
int command_values(struct settings *settings);
int command_diff(struct settings *settings);
int command_whence(struct settings *settings);
int command_artifact_list(struct settings *settings);
int command_artifact_get(struct settings *settings);
int command_events(struct settings *settings);
int command_graph(struct settings *settings);
int command_init(struct settings *settings);
int command_validate(struct settings *settings);
int command_cancel(struct settings *settings);
int command_resolve(struct settings *settings);
int command_undo(struct settings *settings);
int command_next(struct settings *settings);
int command_renew(struct settings *settings);
int command_claim(struct settings *settings);
int command_complete(struct settings *settings);
int command_fail(struct settings *settings);
int command_add(struct settings *settings);

extern const struct command_part external_commands;

int command_doctor(struct settings *settings);
int command_gc(struct settings *settings);
int command_stats(struct settings *settings);
int command_search(struct settings *settings);
int command_checkpoint_list(struct settings *settings);
int command_checkpoint_show(struct settings *settings);
int command_checkpoint_timeline(struct settings *settings);
int command_checkpoint_verify(struct settings *settings);
int command_checkpoint_head(struct settings *settings);
int command_checkpoint_delete(struct settings *settings);
int command_checkpoint_prune(struct settings *settings);
int command_mcp(struct settings *settings);
/* The socket of a worker of `cairn mcp`; -1: this process is none. */
int worker_control(int argc, char **argv);
/* Has each command line that comes carried out by that function; until there is none. */
int worker_run(int control, int (*carry_out)(int argc, char **argv));
int command_web(struct settings *settings);

/* Those of --allow-host. */
enum { HOSTS_MAX = 16 };
struct host_names {
    char *text; /* heap, in which they lie */
    const char *names[HOSTS_MAX + 1];
};

/* Returns an exit status; released in any case. */
int host_names_read(const struct settings *settings, struct host_names *hosts);
void host_names_release(struct host_names *hosts);

/* The pages of the store, as `cairn web` and `cairn mcp --web` serve them (web.c).
 * Released by pages_end in any case. Returns an exit status. */
struct serving;
struct site_options;
int pages_begin(struct settings *settings, struct serving **out);
/* Without an address and names; the serving's. */
struct site_options *pages_options(struct serving *serving);
void pages_end(struct serving *serving);
int command_help(struct settings *settings);
int command_version(struct settings *settings);

int command_session_start(struct settings *settings);
int command_session_list(struct settings *settings);
int command_session_show(struct settings *settings);
int command_session_switch(struct settings *settings);
int command_session_end(struct settings *settings);
int command_session_delete(struct settings *settings);
int command_session_size(struct settings *settings);
int command_session_config(struct settings *settings);
int command_session_undo(struct settings *settings);
int command_session_log(struct settings *settings);
int command_message_add(struct settings *settings);
int command_message_import(struct settings *settings);
int command_message_list(struct settings *settings);
int command_message_show(struct settings *settings);
int command_session_watch(struct settings *settings);
int command_session_export(struct settings *settings);
int command_session_import(struct settings *settings);
int command_branch_start(struct settings *settings);
int command_branch_list(struct settings *settings);
int command_branch_switch(struct settings *settings);
int command_branch_abandon(struct settings *settings);
int command_branch_merge(struct settings *settings);
int command_belief_cascade(struct settings *settings);
/* All of `cairn hypothesis`, `evidence`, `belief`, `gap`, `note`, and what `command`
 * and `check` have in common with them. */
int command_item(struct settings *settings);
int command_exec(struct settings *settings);
int command_check_run(struct settings *settings);
int command_checkpoint_create(struct settings *settings);
int command_checkpoint_resume(struct settings *settings);
int command_checkpoint_at(struct settings *settings);
int command_checkpoint_diff(struct settings *settings);
int command_checkpoint_restore(struct settings *settings);
int command_checkpoint_label(struct settings *settings);
int command_checkpoint_note(struct settings *settings);
int command_checkpoint_undo_restore(struct settings *settings);
int command_checkpoint_redo_restore(struct settings *settings);
int command_checkpoint_fork(struct settings *settings);
int command_checkpoint_bisect(struct settings *settings);
int command_checkpoint_recover(struct settings *settings);
int command_report(struct settings *settings);
/* The same with --html. */
int report_page(struct settings *settings);

int command_checkpoint_files(struct settings *settings);
int command_checkpoint_cat(struct settings *settings);
int command_checkpoint_log(struct settings *settings);
int command_checkpoint_export(struct settings *settings);
int command_checkpoint_grep(struct settings *settings);
int command_checkpoint_blame(struct settings *settings);

int command_session_hook(struct settings *settings);
int command_install_hooks(struct settings *settings);

extern const struct command_part context_commands; /* checkpoint create and resume */
extern const struct command_part session_commands; /* and branches */
extern const struct command_part board_commands;
extern const struct command_part run_commands; /* exec, command, check */

extern const struct command_tables command_tables;

#endif
