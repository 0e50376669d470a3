/* SPDX-License-Identifier: MIT */
/* The worker: a process of cairn that carries out one command line after the other, so
 * that a call which only reads starts no process and opens no store.
 *
 * It is this executable under the name WORKER_NAME. Its stdin is a socket (AF_UNIX,
 * SOCK_SEQPACKET): a packet to it is a command line, every word with its NUL, and one
 * from it, an int, is the exit status of that, sent when all is written to stdout and
 * stderr. It ends when the socket is closed. */
#ifndef SERVER_WORKER_H
#define SERVER_WORKER_H

#define WORKER_NAME "cairn-worker"
#define WORKER_WORDS 256   /* of a command line */
#define WORKER_BYTES 65536 /* likewise, with their NULs */

#endif
