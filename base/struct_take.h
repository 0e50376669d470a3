/* SPDX-License-Identifier: MIT */
/* Structs that callers fill, from programs that were compiled with other versions of the
 * headers: `size` first, and members are only ever added at the end. The rule is that of
 * Linux (copy_struct_from_user, include/linux/uaccess.h): no byte behind `size` is read;
 * members that an older program does not know are 0; what a newer one sets and this
 * library does not know is refused. */
#ifndef BASE_STRUCT_TAKE_H
#define BASE_STRUCT_TAKE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* The last member in the headers of version 0.1, in which `size` may be 0. Never changed:
 * a member that is added later begins at or behind sizeof of the struct before. */
#define FIRST_END_cairn_addition n_secrets
#define FIRST_END_cairn_agent_options files
#define FIRST_END_cairn_artifact_get force
#define FIRST_END_cairn_callback description
#define FIRST_END_cairn_capture context
#define FIRST_END_cairn_checkpoint_filter page
#define FIRST_END_cairn_command_host context
#define FIRST_END_cairn_exec host
#define FIRST_END_cairn_files_diff n_paths
#define FIRST_END_cairn_files_part next_nth
#define FIRST_END_cairn_files_search part
#define FIRST_END_cairn_foreach where
#define FIRST_END_cairn_gc_options keep_outputs
#define FIRST_END_cairn_hooks host
#define FIRST_END_cairn_item_filter page
#define FIRST_END_cairn_keep_rules manual_too
#define FIRST_END_cairn_moment name
#define FIRST_END_cairn_new_message bytes
#define FIRST_END_cairn_prune_options dry_run
#define FIRST_END_cairn_restore_options others
#define FIRST_END_cairn_run_options registry
#define FIRST_END_cairn_search service
#define FIRST_END_cairn_shell_options inputs
#define FIRST_END_cairn_size_request context
#define FIRST_END_cairn_source registry
#define FIRST_END_cairn_store_options found
#define FIRST_END_cairn_task undo_call
#define FIRST_END_cairn_task_failure n_secrets
#define FIRST_END_cairn_thread_filter metadata
#define FIRST_END_cairn_thread_state only_new
#define FIRST_END_cairn_thread_writes keep_secrets
#define FIRST_END_cairn_transfer_calls changed
#define FIRST_END_cairn_watch_options context

/* sizeof of the struct in version 0.1; `whole` is one. */
#define STRUCT_END_(whole, member) \
    ((size_t)((uintptr_t)(&(whole).member + 1) - (uintptr_t) & (whole)))
#define STRUCT_END(whole, member) STRUCT_END_(whole, member)
#define STRUCT_FIRST(tag, whole)                                       \
    ((STRUCT_END(whole, FIRST_END_##tag) + _Alignof(struct tag) - 1) / \
     _Alignof(struct tag) * _Alignof(struct tag))

/* Fills `whole` (`known` bytes) from what the caller gave, with `size` set to `known`; all
 * zeros for NULL. CAIRN_EUSAGE: a size that no struct has, or something set behind what
 * is known. `first`: bytes where size is 0. */
int struct_take(void *whole, size_t known, size_t first, const void *given,
                const char *tag, struct cairn_error *error);

/* First in a public function that takes such a struct: makes the pointer `given` one to a
 * whole copy, which lives as long as the block; to zeros where it is NULL. */
#define STRUCT_TAKE(tag, given, error)                                          \
    struct tag given##_whole;                                                   \
    if (struct_take(&given##_whole, sizeof given##_whole,                       \
                    STRUCT_FIRST(tag, given##_whole), given, #tag, error) != 0) \
        return CAIRN_EUSAGE;                                                    \
    (given) = &given##_whole
/* The same, but NULL stays NULL. */
#define STRUCT_TAKE_IF(tag, given, error)                                       \
    struct tag given##_whole;                                                   \
    if (struct_take(&given##_whole, sizeof given##_whole,                       \
                    STRUCT_FIRST(tag, given##_whole), given, #tag, error) != 0) \
        return CAIRN_EUSAGE;                                                    \
    (given) = (given) ? &given##_whole : NULL

/* Gives what was set in the copy `whole` back: no more bytes than `given` has. */
void struct_give(void *given, size_t known, size_t first, const void *whole);
#define STRUCT_GIVE(tag, given, whole)                                               \
    do {                                                                             \
        if (given)                                                                   \
            struct_give(given, sizeof *(whole), STRUCT_FIRST(tag, *(whole)), whole); \
    } while (0)

/* The same for an array: its elements have all the size that the first one has. */
int struct_take_all(void *whole, size_t known, size_t first, const void *given,
                    size_t n, const char *tag, struct cairn_error *error);
#define STRUCT_TAKE_ALL(tag, whole, given, n, error)                               \
    struct_take_all(whole, sizeof *(whole), STRUCT_FIRST(tag, *(whole)), given, n, \
                    #tag, error)

#endif
