/* Build switches: a build without a module contains nothing of it. */
#ifndef LUNAR_MODULES_H
#define LUNAR_MODULES_H

#ifndef LUNAR_WITH_BUFFER
#define LUNAR_WITH_BUFFER 1 /* buffer.c: many frames, found by hashing; without it a few are searched */
#endif
#ifndef LUNAR_WITH_PREFETCH
#define LUNAR_WITH_PREFETCH 1 /* prefetch.c: sequential reads ahead, in a window that adapts */
#endif
#ifndef LUNAR_WITH_TREE
#define LUNAR_WITH_TREE 1 /* tree.c: primary indexes in the order of the keys */
#endif
#ifndef LUNAR_WITH_CURSOR
#define LUNAR_WITH_CURSOR 1 /* cursor.c: scans and ranges */
#endif
#ifndef LUNAR_WITH_RING
#define LUNAR_WITH_RING 1 /* ring.c: tables that forget their oldest rows */
#endif
#ifndef LUNAR_WITH_SECONDARY
#define LUNAR_WITH_SECONDARY 1 /* secondary.c: indexes on further columns */
#endif
#ifndef LUNAR_WITH_CACHE
#define LUNAR_WITH_CACHE 1 /* cache.c: rows that were read by their keys, in RAM of their own */
#endif
#ifndef LUNAR_WITH_CHECK
#define LUNAR_WITH_CHECK 1 /* check.c: the whole volume verified */
#endif
#ifndef LUNAR_WITH_STAT
#define LUNAR_WITH_STAT 1 /* stat.c: sizes and counters */
#endif
#ifndef LUNAR_WITH_TEXTS
#define LUNAR_WITH_TEXTS 1 /* errors, and what lunar_check finds, in words */
#endif
#ifndef LUNAR_WITH_SQL
#define LUNAR_WITH_SQL LUNAR_WITH_CURSOR /* the folder sql: statements in SQL; needs cursors */
#endif
#if LUNAR_WITH_SQL && !LUNAR_WITH_CURSOR
#error "LUNAR_WITH_SQL needs LUNAR_WITH_CURSOR"
#endif

#endif
