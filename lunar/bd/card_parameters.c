/* Where each parameter of the card model comes from. They were committed before anything was measured with them.
 *
 * [T2]  K. Liu, X. Wang, F. Chen: Understanding Energy Efficiency of Databases on Single Board Computers for Edge
 *       Computing, Table II: a 64 GB SanDisk Ultra microSDXC card, dd with blocks of 4 KB.
 * [PCT] pctips.click, 2018-05, "SanDisk Ultra 64GB microSD SDXC Card Review", Test Results (by flashbench): read
 * latency 0.85 ms of 1 KiB; random writes 4 KiB 2.18, 16 KiB 6.20, 64 KiB 13.50, 512 KiB 18.20 MB/s; 64 or more open
 *       allocation units, sequential and random.
 * [LIN] Linaro, WorkingGroups/KernelArchived/Projects/FlashCardSurvey, Access Units, Pages: NAND pages have 4 KB, and
 *       512 bytes take as long to write as a page; controllers join pages to 8 or 16 KB.
 * [SD]  SD Specifications Part 1, Physical Layer Simplified Specification: at most 100 mA in Default Speed mode at 2.7
 * to 3.6 V; a card's write cache, and the command that flushes it, are optional (since version 6.0). [OEM] SanDisk SD
 * Card Product Manual: the card sleeps by itself when 5 ms have passed without a command; at most 250 uA asleep.
 */
#include "card.h"

const struct card_parameters card_sandisk_ultra = {
    /* [LIN]. Not 16 KB: 4 KiB at random take 1.88 ms and 16 KiB 2.64 ms [PCT]. */
    .page_bytes = 4096,
    /* [PCT] */
    .open_positions = 64,
    /* [PCT], less 1 KiB at the next line's rate */
    .read_request_ns = 850e3 - 1024 * 24.2,
    /* [T2]: 41.3 MB/s */
    .read_byte_ns = 24.2,
    /* An assumption: the cost of a small sequential write is not published, so the controller is taken to need the
     * same time for a write request as for a read request. */
    .write_request_ns = 850e3 - 1024 * 24.2,
    /* [T2]: 14.1 MB/s */
    .write_byte_ns = 70.9,
    /* [PCT]: the rest of the 1.88 ms of a random write of 4 KiB */
    .write_random_ns = 1879e3 - (850e3 - 1024 * 24.2) - 4096 * 70.9,
    /* An assumption: a card without a cache [SD] has written when it is no longer busy, and a flush is a question for
     * its state. A card with a cache would take up to a page's programming; the sensitivity table has a row for it. */
    .flush_ns = 100e3,
    /* [SD]: 100 mA at 3.3 V; an upper bound, the same for all engines */
    .read_w = 0.33,
    .write_w = 0.33,
    /* [OEM]: 250 uA at 3.3 V */
    .idle_w = 0.000825,
};
