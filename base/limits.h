/* SPDX-License-Identifier: MIT */
/* Every limit of cairn in one place; each is tested at its value and one past it.
 * docs/limits.md lists them for users. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

enum {
    LIMIT_ID_BYTES = 200,   /* id of a task, member values included */
    LIMIT_NAME_BYTES = 200, /* name of a workflow, pool, param */
    LIMIT_VALUE_BYTES = 64, /* a foreach value inside an id; longer: hashed */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION /* a few bytes may ask for as many */
    LIMIT_TASKS = 20000,
    LIMIT_EDGES = 100000,
#else
    LIMIT_TASKS = 10000000, /* of a workflow, members counted */
    LIMIT_EDGES = 100000000,
#endif
    LIMIT_FILE_BYTES = 1 << 30,      /* a workflow file */
    LIMIT_INCLUDED = 100,            /* files that a workflow includes, */
    LIMIT_INCLUDED_DEPTH = 8,        /* one inside another, */
    LIMIT_INCLUDED_BYTES = 64 << 20, /* all of them */
    LIMIT_EXTENDED = 10000000,       /* keys that templates add to tasks */
    LIMIT_DEPTH = 32,                /* nesting in a workflow file */
    LIMIT_ALIASED = 100000,          /* nodes that aliases and `<<` add to it, and */
    LIMIT_ALIASED_FACTOR = 10, /* as many more for each node that is written out */
    LIMIT_FOREACH_KEYS = 8,
    LIMIT_FOREACH_BYTES = 1 << 30, /* of all values of a workflow */
    LIMIT_COLUMNS = 1000,          /* of sheets, that one task names */
    LIMIT_GLOB_BYTES = 16 << 20, /* of the names of directories that a pattern finds */
    LIMIT_ENV_STRING = 128 * 1024 - 1, /* the kernel's MAX_ARG_STRLEN, less the NUL */
    LIMIT_JOBS = 4096,
    LIMIT_POOLS = 1000,
    LIMIT_POOL_PLACES = 1000000, /* of one pool */
    LIMIT_TASK_POOLS = 16,       /* in which one task is */
    LIMIT_MEMORY_MIB = 1 << 30,  /* of a task, or a run */
    LIMIT_RETRIES = 1000000,
    LIMIT_ADDITIONS = 10000,         /* of tasks to a run, and */
    LIMIT_ADDED_BYTES = 16 << 20,    /* their texts together */
    LIMIT_PAYLOAD_BYTES = 256 << 20, /* of one record */
    LIMIT_OBJECT_BYTES = 1 << 30,    /* one object of the content pool */
    LIMIT_OBJECT_BASES = 16,         /* of one object, one below the other */
    LIMIT_ROW_BYTES = 999000000,  /* of that as it is stored: SQLite has 10^9 a row */
    LIMIT_OUTPUT_BYTES = 1 << 20, /* kept of each stream of an attempt, by default */
    LIMIT_OUTPUT_MOST = 1 << 30,  /* the same, at most */
    LIMIT_EXPRESSION_DEPTH = 64,
    LIMIT_EXPRESSION_BYTES = 16 << 10,
    LIMIT_EXPRESSION_TEXT = 16 << 20, /* that replace, split or join make */
    LIMIT_LEASES_LOST = 10,       /* of one offer of an external task: then it fails */
    LIMIT_LOST_CLAIMS = 999,      /* the most that it can say in place of these */
    LIMIT_VALUES = 1000,          /* of one attempt in $CAIRN_OUTPUT */
    LIMIT_VALUES_BYTES = 1 << 20, /* that file */
    LIMIT_PORTS = 16,             /* of a service */
    LIMIT_SERVICES = 64,          /* of a workflow, each member of a group counted */
    LIMIT_SECRETS = 1000,         /* of a workflow */
    LIMIT_CHOICES = 1000,         /* of a param */
    LIMIT_SECRET_LEAST = 6,     /* bytes of a secret: shorter ones cannot be redacted */
    LIMIT_ITEM_BYTES = 1 << 20, /* of one item of a board */
    LIMIT_TEXT_BYTES = 64 << 10 /* a message given to cairn fail, an external text */
};

#endif
