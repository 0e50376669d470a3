/* SPDX-License-Identifier: MIT */
/* Tools about the store: what it holds, whether it is whole, what can go. */
#include "server/properties.h"

static const struct variant stats[] = {{NULL, "stats --"}};
static const struct property only_directory[] = {DIRECTORY};
static const struct variant verify[] = {{NULL, "checkpoint verify -- {checkpoint}"}};
static const struct property verify_properties[] = {
    CHECKPOINT("Only this one (default: everything)"),
    DIRECTORY,
};
static const struct variant doctor[] = {{NULL, "doctor --"}};
static const struct variant recover[] = {
    {NULL, "checkpoint recover --session={session}"},
};
static const struct property session_properties[] = {SESSION, DIRECTORY};
static const struct variant size[] = {
    {NULL, "session size --limit={limit} --session={session}"},
};
static const struct property size_properties[] = {
    WHOLE("limit", 1, 100, "List at most so many"),
    SESSION,
    DIRECTORY,
};
static const struct variant config[] = {
    {NULL, "session config --session={session} -- {name} {value}"},
};
static const struct property config_properties[] = {
    TEXT("name", "The setting; without it, all are listed"),
    TEXT("value", "Its new value; without it, it is shown"),
    SESSION,
    DIRECTORY,
};
static const struct variant gc[] = {
    {NULL, "gc --keep-runs={keep_runs} --older-than={older_than} --dry-run!{confirm}"},
};
static const struct property gc_properties[] = {
    WHOLE("keep_runs", 1, 1e9,
          "Delete ended runs except the newest so many of each "
          "workflow"),
    TEXT("older_than", "Delete only runs that ended longer ago, such as 30d"),
    CONFIRM,
    DIRECTORY,
};
static const struct variant prune[] = {
    {NULL, "checkpoint prune --run={run} --keep={keep} --keep-last={keep_last} "
           "--keep-days={keep_days} --keep-hourly?{keep_hourly} --keep-tag={keep_tags} "
           "--manual-too?{manual_too} --session={session} --dry-run!{confirm}"},
};
static const struct property prune_properties[] = {
    RUN("Only checkpoints of this run"),
    WHOLE("keep", 1, 1e9, "Keep the newest so many of each run"),
    WHOLE("keep_last", 1, 1e9, "Of a session: keep the newest so many of each branch"),
    WHOLE("keep_days", 1, 36500, "Of a session: keep those of the last days"),
    FLAG("keep_hourly", "Of a session: keep the newest one of each hour"),
    WORDS("keep_tags", "Of a session: keep those with one of these tags"),
    FLAG("manual_too", "Of a session: delete manual ones that no rule keeps, too"),
    CONFIRM,
    SESSION,
    DIRECTORY,
};

static const struct tool rows[] = {
    {.name = "store_stats",
     .title = "What the store holds",
     .about = "Counts what the store holds: runs, checkpoints, bytes, durations.",
     .set = TOOLSET_STORE,
     .hints = HINT_READ_ONLY,
     VARIANTS(stats),
     PROPERTIES(only_directory),
     .shape = "families:a"},
    {.name = "store_verify",
     .title = "Check for damage",
     .about = "Checks one checkpoint, or all that is stored, for damage.",
     .set = TOOLSET_STORE,
     .hints = HINT_READ_ONLY | HINT_STATUS,
     VARIANTS(verify),
     PROPERTIES(verify_properties),
     .shape = "ok:b problems:a checked:i damaged:i"},
    {.name = "store_doctor",
     .title = "Look for problems",
     .about = "Looks for problems in the store and around it, with remedies. Changes "
              "nothing.",
     .set = TOOLSET_STORE,
     .hints = HINT_READ_ONLY | HINT_STATUS,
     VARIANTS(doctor),
     PROPERTIES(only_directory),
     .shape = "findings:a"},
    {.name = "store_gc",
     .title = "Delete old runs",
     .about = "Deletes old runs and content that nothing refers to. Without confirm: "
              "true only says what would go.",
     .set = TOOLSET_STORE,
     .hints = HINT_DESTRUCTIVE | HINT_IDEMPOTENT,
     VARIANTS(gc),
     PROPERTIES(gc_properties),
     .shape = "dry_run:b runs:i kept_runs:i sessions:i objects:i freed_bytes:i"},
    {.name = "checkpoint_prune",
     .title = "Delete old checkpoints",
     .about = "Deletes old checkpoints of runs or of a session. Without confirm: true "
              "only says what would go.",
     .set = TOOLSET_STORE,
     .hints = HINT_DESTRUCTIVE | HINT_IDEMPOTENT,
     VARIANTS(prune),
     PROPERTIES(prune_properties),
     .shape = "dry_run:b total:i kept:i deleted:i"},
    {.name = "checkpoint_recover",
     .title = "How to go on after damage",
     .about = "Says what to do to go on from the newest valid checkpoint.",
     .set = TOOLSET_STORE,
     .hints = HINT_READ_ONLY | HINT_STATUS,
     VARIANTS(recover),
     PROPERTIES(session_properties),
     .shape = "damaged:a checkpoint:s? steps:a"},
    {.name = "session_size",
     .title = "What takes room",
     .about = "Shows what takes room in the store, of a session.",
     .set = TOOLSET_STORE,
     .hints = HINT_READ_ONLY,
     VARIANTS(size),
     PROPERTIES(size_properties),
     .shape = "store:o"},
    {.name = "session_config",
     .title = "Settings of a session",
     .about = "Lists the settings of a session, shows one, or changes it. Hooks among "
              "them are commands that are run later.",
     .set = TOOLSET_STORE,
     .hints = HINT_DESTRUCTIVE,
     VARIANTS(config),
     PROPERTIES(config_properties),
     .shape = ""},
};
const struct tool_rows store_tools = {rows, COUNT(rows)};
