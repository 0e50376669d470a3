/* SPDX-License-Identifier: MIT */
/* Secrets that can be told by how they look, in any text. Their forms:
 *
 *   AWS             access key ids (AKIA, ASIA, ABIA, ACCA and 16 characters), and the
 *                   40 characters behind aws_secret_access_key or SecretAccessKey:
 *                   "IAM identifiers" in the IAM user guide
 *   GitHub          ghp_, gho_, ghu_, ghs_, ghr_, github_pat_: "Behind GitHub's new
 *                   authentication token formats" (2021)
 *   Slack           xoxa- to xoxs-, xoxe., xapp-, and webhooks: api.slack.com, "Token
 *                   types" and "Sending messages using incoming webhooks"
 *   OpenAI,         sk-, sk-proj-, sk-ant-: what their consoles hand out
 *   Anthropic
 *   private keys    from -----BEGIN ... PRIVATE KEY to its -----END: RFC 7468, and
 *                   OpenSSH and OpenPGP, which have the same lines
 *   bearer tokens   the word Bearer and what follows it, RFC 6750; in a header
 *                   Authorization also Basic, RFC 7617
 *   URLs            the password in scheme://user:password@host, RFC 3986
 *
 * What only looks like one is taken for one. Pure, and linear in the text. */
#ifndef SECRETS_KNOWN_SECRETS_H
#define SECRETS_KNOWN_SECRETS_H

#include "base/str.h"

#define KNOWN_SECRET_MARK "[REDACTED]"

bool known_secrets_found(struct str text);
/* The first one, from byte to byte. */
bool known_secrets_find(struct str text, size_t *from, size_t *to);
/* Appends the text from byte `from` on with KNOWN_SECRET_MARK in the place of each
 * secret. What begins before `from` is recognised, too. */
void known_secrets_redact(struct str text, size_t from, struct buf *out);

#endif
