/* SPDX-License-Identifier: MIT */
/* Where large content is cut, so that a change of it changes few chunks: at places that
 * the content itself decides by the last 64 bytes before them (FastCDC: Xia et al.,
 * "FastCDC: a Fast and Efficient Content-Defined Chunking Approach", USENIX ATC 2016,
 * with normalized chunking). */
#ifndef SNAPSHOT_CHUNKS_H
#define SNAPSHOT_CHUNKS_H

#include "base/str.h"

enum { CHUNK_LEAST = 256 << 10, CHUNK_USUAL = 1 << 20, CHUNK_MOST = 4 << 20 };

/* The bytes of the first chunk of `content`, of which all up to CHUNK_MOST is there or
 * else all that is left. Never 0 but for no content. Stored lists of chunks depend on
 * it: what it returns never changes. */
size_t chunk_cut(struct str content);

#endif
