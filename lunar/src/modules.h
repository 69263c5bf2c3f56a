/* Build switches: a build without a module contains nothing of it. */
#ifndef LUNAR_MODULES_H
#define LUNAR_MODULES_H

#ifndef LUNAR_WITH_BUFFER
#define LUNAR_WITH_BUFFER 1 /* buffer.c: a hash table for many frames; without it, a linear search of few */
#endif
#ifndef LUNAR_WITH_PREFETCH
#define LUNAR_WITH_PREFETCH 1 /* prefetch.c: reads ahead of consecutive requests, in a window that adapts */
#endif
#ifndef LUNAR_WITH_TREE
#define LUNAR_WITH_TREE 1 /* tree.c: indexes in the order of their keys */
#endif
#ifndef LUNAR_WITH_CURSOR
#define LUNAR_WITH_CURSOR 1 /* cursor.c: scans and ranges */
#endif
#ifndef LUNAR_WITH_RING
#define LUNAR_WITH_RING 1 /* ring.c: tables that remove their oldest rows */
#endif
#ifndef LUNAR_WITH_SECONDARY
#define LUNAR_WITH_SECONDARY 1 /* secondary.c: indexes on further columns */
#endif
#ifndef LUNAR_WITH_CACHE
#define LUNAR_WITH_CACHE 1 /* cache.c: a cache, in separate RAM, of rows that were read by their keys */
#endif
#ifndef LUNAR_WITH_CARDS
#define LUNAR_WITH_CARDS 1 /* detects that another card was inserted, before anything is written to it */
#endif
#ifndef LUNAR_WITH_CHECKSUM
#define LUNAR_WITH_CHECKSUM 1 /* tables whose rows have a checksum */
#endif
#ifndef LUNAR_WITH_TRUNCATE
#define LUNAR_WITH_TRUNCATE 1 /* lunar_truncate: removes all rows of a table */
#endif
#ifndef LUNAR_WITH_COMPACT
#define LUNAR_WITH_COMPACT 1 /* lunar_compact (reclaim.c): reclaims the space of deleted rows in idle time */
#endif
#ifndef LUNAR_WITH_CHECK
#define LUNAR_WITH_CHECK 1 /* check.c: verifies the whole volume */
#endif
#ifndef LUNAR_WITH_REPAIR
#define LUNAR_WITH_REPAIR LUNAR_WITH_SECONDARY /* repair.c: makes a damaged table usable without what is lost */
#endif
#if LUNAR_WITH_REPAIR && !LUNAR_WITH_SECONDARY
#error "LUNAR_WITH_REPAIR needs LUNAR_WITH_SECONDARY"
#endif
#ifndef LUNAR_WITH_STAT
#define LUNAR_WITH_STAT 1 /* stat.c: sizes and counters */
#endif
#ifndef LUNAR_WITH_TEXTS
#define LUNAR_WITH_TEXTS 1 /* texts of errors and of lunar_check's problems */
#endif
#ifndef LUNAR_WITH_SQL
#define LUNAR_WITH_SQL LUNAR_WITH_CURSOR /* the folder sql: statements in SQL; needs cursors */
#endif
#if LUNAR_WITH_SQL && !LUNAR_WITH_CURSOR
#error "LUNAR_WITH_SQL needs LUNAR_WITH_CURSOR"
#endif

/* Assertions detect mistakes in lunar or in the arguments of a call. On a damaged device, calls return LUNAR_E_CORRUPT
 * instead. -DLUNAR_DEBUG=1 turns assertions on; otherwise they take no space in the program. A failed assertion calls
 * LUNAR_ASSERT_FAILED(file, line, condition), which you may define and which must not return. The default prints a line
 * to stderr and aborts or, without a hosted C library, executes a trap. */
#ifndef LUNAR_DEBUG
#define LUNAR_DEBUG 0
#endif
#if LUNAR_DEBUG
#ifndef LUNAR_ASSERT_FAILED
#if __STDC_HOSTED__
#include <stdio.h>
#define LUNAR_ASSERT_FAILED(file, line, condition) \
  (fprintf(stderr, "%s:%d: internal error in lunar: %s\n", file, line, condition), __builtin_abort())
#else
#define LUNAR_ASSERT_FAILED(file, line, condition) __builtin_trap()
#endif
#endif
#ifdef __FILE_NAME__ /* the name without folders */
#define LN_FILE __FILE_NAME__
#else
#define LN_FILE __FILE__
#endif
#define LUNAR_ASSERT(condition) ((condition) ? (void)0 : (void)(LUNAR_ASSERT_FAILED(LN_FILE, __LINE__, #condition)))
#else
#define LUNAR_ASSERT(condition) ((void)0)
#endif

#endif
