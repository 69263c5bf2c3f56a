"""What a comparison shows and does not, in sentences."""

from __future__ import annotations

from edgejoule.federation.comparison import BASE, LEVEL, QUANTITIES, Comparison
from edgejoule.federation.energy import METHOD
from edgejoule.findings.words import count, listed

BUSY_MAX = 0.1


def headline(comparison: Comparison) -> str:
    """The answer, as far as there is one."""
    throughput = QUANTITIES[0]
    effects = {p: comparison.effect(p, throughput) for p in comparison.policies if p != BASE}
    told = {p: effect for p, effect in effects.items() if effect and effect.told and effect.better}
    home = comparison.servers[0].name
    if not any(effects.values()):
        return "One round for each policy: an example, from which nothing can be told."
    if not told:
        return f"No policy can be told from local by the throughput of {home}, with {_rounds(comparison)}."
    gains = listed([f"{effect.mean:.0f} % under {policy}" for policy, effect in told.items()])
    return f"{home} writes more than with local compactions: {gains}."


def statements(comparison: Comparison) -> list[tuple[str, str]]:
    """Policy and what it did, against local."""
    said = []
    for policy in comparison.policies:
        own = comparison.of(policy)
        if policy == BASE:
            continue
        jobs = sum(one.filled.jobs_offloaded for one in own)
        back = sum(one.filled.fell_back for one in own)
        kept = sum(one.filled.kept for one in own)
        words = f"{jobs} of {count(jobs + back + kept, 'compaction')} of level 0 offloaded"
        words += f", {back} more in vain. " if back else ". "
        if not jobs:
            said.append((policy, words + "What sets it apart from local here is noise."))
            continue
        effects = [effect for quantity in QUANTITIES if (effect := comparison.effect(policy, quantity))]
        for what, chosen in (
            ("Better", [e for e in effects if e.told and e.better]),
            ("Worse", [e for e in effects if e.told and not e.better]),
        ):
            if chosen:
                words += f"{what}: {', '.join(f'{e.quantity.title} {e.words()}' for e in chosen)}. "
        alike = [effect.quantity.title for effect in effects if not effect.told]
        if alike:
            words += f"Not told from local: {listed(alike)}."
        said.append((policy, words.strip()))
    return said


def energy_words(comparison: Comparison) -> str:
    """Where the joules come from."""
    return (
        f"Energy is {METHOD}: CPU seconds of each server's processes times declared watts, and bytes that were moved "
        "times declared joules. No meter was read, and the watts are examples. Above idle: what writes and compactions "
        "took, on all servers. With idle: all servers' idle watts as well, for as long as the database was filled."
    )


def caveats(comparison: Comparison) -> list[str]:
    """What must be known before any of it is relied on."""
    shares = sum(server.share for server in comparison.servers)
    said = [
        f"All servers are processes on one machine with {count(comparison.cores, 'core')}; together they may use "
        f"{shares:.2f} of one, by {comparison.shares}. They share caches, memory and disk.",
        f"Network: {comparison.network}. A real one is slower, and moving bytes costs more.",
        "Only the first server writes; the others are idle when they get a job.",
    ]
    if len(comparison.of(BASE)) > 1:
        said.append(
            f"Intervals are of {100 * LEVEL:.0f} %, from {_rounds(comparison)} in pairs with local. There are several; "
            "one that barely leaves out zero may do so by chance."
        )
    busy = comparison.busy_by_others
    if busy is not None and busy > BUSY_MAX:
        said.append(f"Other programs used {100 * busy:.0f} % of this machine meanwhile: the figures are noisy.")
    return said


def _rounds(comparison: Comparison) -> str:
    return count(len(comparison.of(BASE)), "round")
