/* SPDX-License-Identifier: MIT */
/* Stands in for the kind of a namespace that this release does not know, so that its
 * records can be found and listed by their bytes. */
#include "checkpoint/payload_kind.h"

static int refuse_unknown(struct cairn_error *error)
{
    return error_set(error, CAIRN_ENEWER,
                     "it is of a kind that this release does not know: use the release "
                     "that wrote it");
}

static int check_unknown(const struct sound_record *record, struct payload_check *check,
                         struct cairn_error *error)
{
    assert_sound(record);
    check->base = 0;
    return refuse_unknown(error);
}

static int describe_unknown(const struct sound_record *record,
                            struct cairn_checkpoint_info *info,
                            struct cairn_error *error)
{
    (void)error;
    assert_sound(record);
    assert(!info->counted);
    return 0;
}

static int apply_unknown(void *state, const struct sound_record *record,
                         struct payload_check *check, struct cairn_error *error)
{
    (void)state;
    return check_unknown(record, check, error);
}

static void release_nothing(void *state)
{
    (void)state;
}

static void summarize_nothing(const void *state, struct cairn_checkpoint_info *info)
{
    (void)state;
    (void)info;
}

static const struct payload_kind unknown_debug = {
    .namespace_id = NAMESPACE_DEBUG,
    .stream_noun = "stream",
    .loss_text = "",
    .restart = "the release that wrote it may begin another one",
    .root_noun = "object",
    .root_loss = "what needs it is not known",
    .check = check_unknown,
    .describe = describe_unknown,
    .state_bytes = 1,
    .apply = apply_unknown,
    .state_release = release_nothing,
    .summarize = summarize_nothing,
};

const struct payload_kind *debug_kind_of(const struct payload_kinds *kinds)
{
    const struct payload_kind *kind = kind_of(kinds, NAMESPACE_DEBUG);
    return kind ? kind : &unknown_debug;
}
