/* SPDX-License-Identifier: MIT
 *
 * acl access|default PATH GROUP MASK [u|g ID PERM]...: gives a file or directory an
 * ACL, without the programs that would have to be installed for that. Permissions are
 * digits, as of modes; the owner has 7, others have 5. Exit status 77: there are no
 * ACLs here. */
#include <endian.h>
#include <errno.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

static struct {
    struct posix_acl_xattr_header header;
    struct posix_acl_xattr_entry entries[32];
} acl;
static size_t n_entries;

static void add(unsigned tag, const char *perm, unsigned long id)
{
    acl.entries[n_entries].e_tag = htole16((uint16_t)tag);
    acl.entries[n_entries].e_perm = htole16((uint16_t)(perm[0] - '0'));
    acl.entries[n_entries++].e_id = htole32((uint32_t)id);
}

/* The kernel wants them in the order of their tags. */
static void add_named(unsigned tag, const char *letter, char **args)
{
    for (; *args && n_entries < 28; args += 3)
        if (strcmp(args[0], letter) == 0)
            add(tag, args[2], strtoul(args[1], NULL, 10));
}

int main(int argc, char **argv)
{
    char name[40];
    if (argc < 5 || (argc - 5) % 3 != 0)
        return 2;
    acl.header.a_version = htole32(POSIX_ACL_XATTR_VERSION);
    add(ACL_USER_OBJ, "7", (unsigned)ACL_UNDEFINED_ID);
    add_named(ACL_USER, "u", argv + 5);
    add(ACL_GROUP_OBJ, argv[3], (unsigned)ACL_UNDEFINED_ID);
    add_named(ACL_GROUP, "g", argv + 5);
    add(ACL_MASK, argv[4], (unsigned)ACL_UNDEFINED_ID);
    add(ACL_OTHER, "5", (unsigned)ACL_UNDEFINED_ID);
    snprintf(name, sizeof name, "system.posix_acl_%s", argv[1]);
    if (setxattr(argv[2], name, &acl,
                 sizeof acl.header + n_entries * sizeof *acl.entries, 0) == 0)
        return 0;
    perror(argv[2]);
    return errno == ENOTSUP ? 77 : 1;
}
