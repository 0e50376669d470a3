/* SPDX-License-Identifier: MIT */
/* Properties that several tools have, for the tables of tools. */
#ifndef SERVER_PROPERTIES_H
#define SERVER_PROPERTIES_H

#include "server/tool.h"

#define NUMBER_MAX 9007199254740991.0 /* what every client can count to */

#define TEXT(name_, about_)                                       \
    {                                                             \
        .name = (name_), .kind = PROPERTY_TEXT, .about = (about_) \
    }
#define PROSE(name_, about_)                                       \
    {                                                              \
        .name = (name_), .kind = PROPERTY_PROSE, .about = (about_) \
    }
#define FLAG(name_, about_)                                          \
    {                                                                \
        .name = (name_), .kind = PROPERTY_BOOLEAN, .about = (about_) \
    }
#define CHOICE(name_, words_, about_)                                                  \
    {                                                                                  \
        .name = (name_), .kind = PROPERTY_CHOICE, .words = (words_), .about = (about_) \
    }
#define WHOLE(name_, low_, high_, about_)                                          \
    {                                                                              \
        .name = (name_), .kind = PROPERTY_INTEGER, .low = (low_), .high = (high_), \
        .about = (about_)                                                          \
    }
#define REAL(name_, low_, high_, about_)                                          \
    {                                                                             \
        .name = (name_), .kind = PROPERTY_NUMBER, .low = (low_), .high = (high_), \
        .about = (about_)                                                         \
    }
#define LIST(name_, about_)                                       \
    {                                                             \
        .name = (name_), .kind = PROPERTY_LIST, .about = (about_) \
    }
/* Of the values of an option: an empty one is none. */
#define WORDS(name_, about_)                                                     \
    {                                                                            \
        .name = (name_), .kind = PROPERTY_LIST, .empty = true, .about = (about_) \
    }
#define PAIRS(name_, about_)                                       \
    {                                                              \
        .name = (name_), .kind = PROPERTY_PAIRS, .about = (about_) \
    }

#define SESSION                                                                        \
    {                                                                                  \
        .name = "session", .also = "session_id", .kind = PROPERTY_TEXT, .empty = true, \
        .about = "Name or number of the debugging session (default: the current one)"  \
    }
#define CONFIRM FLAG("confirm", "Do it; otherwise only what would be done is said")
#define DIRECTORY                                                                \
    {                                                                            \
        .name = "directory", .also = "project_path", .kind = PROPERTY_DIRECTORY, \
        .empty = true,                                                           \
        .about = "Absolute path of the project's directory: its store is used, " \
                 "unless the server was started with --store, and relative "     \
                 "paths are below it (default: the directory of the server)"     \
    }
/* There are no tenants in a store yet. */
#define TENANT                                                               \
    {                                                                        \
        .name = "tenant_id", .kind = PROPERTY_CHOICE, .words = "default",    \
        .empty = true, .ignored = true,                                      \
        .about = "For older clients: a store has the one tenant \"default\"" \
    }
#define LIMIT WHOLE("limit", 1, 100, "At most so many (default: 10)")
#define OFFSET WHOLE("offset", 0, NUMBER_MAX, "Leave out so many first (default: 0)")
#define CHECKPOINT(about_)                                                         \
    {                                                                              \
        .name = "checkpoint", .also = "checkpoint_id|id", .kind = PROPERTY_TEXT,   \
        .about =                                                                   \
            about_ " (its id, a prefix of the id, or its number such as debug:42)" \
    }
#define RUN(about_) WHOLE("run", 1, NUMBER_MAX, about_)

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
/* How a tool is carried out, and what it takes. */
#define CALLS(template_) VARIANTS({NULL, template_})
#define VARIANTS(...)                                  \
    .variants = (const struct variant[]){__VA_ARGS__}, \
    .n_variants = COUNT(((const struct variant[]){__VA_ARGS__}))
#define PROPERTIES(...)                                   \
    .properties = (const struct property[]){__VA_ARGS__}, \
    .n_properties = COUNT(((const struct property[]){__VA_ARGS__}))

#endif
