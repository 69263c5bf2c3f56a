"""Computes the findings of an experiment from the store."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from edgejoule.dictionary.responses import Better
from edgejoule.experiment.model import Analysis
from edgejoule.findings import verdict
from edgejoule.findings.additions import addition_caveats, alone_in_block
from edgejoule.findings.alone import alone_forms, alone_statement, is_alone
from edgejoule.findings.answer import answer_of
from edgejoule.findings.attached_meter import attached_caveats
from edgejoule.findings.compare import SequentialPlan, respond
from edgejoule.findings.design import Layout, design_of, subject_of
from edgejoule.findings.effects import effects, what_text
from edgejoule.findings.facts import (
    database_facts,
    database_level,
    deciding_response,
    durability_caveats,
    effective_responses,
    load_facts,
    meters_of,
    not_here,
    not_here_caveats,
    progress_of,
    run_facts,
    session_caveats,
    stand_ins,
)
from edgejoule.findings.headline import Circumstances, headline_of_a_run, is_comparable, why_none
from edgejoule.findings.headline import headline as headline_of
from edgejoule.findings.lines import energy_lines
from edgejoule.findings.model import Effect, Findings, ResponseFinding
from edgejoule.findings.other_programs import cpu_share_text, other_caveats
from edgejoule.findings.rates import is_asked_for, rate_caveats, rate_lines
from edgejoule.findings.syncs import sync_caveats
from edgejoule.findings.text import count, listed
from edgejoule.findings.updates import update_caveats
from edgejoule.store import RULE, Experiment, Run, Store


def find(store: Store, experiment: Experiment, *, look: int | None = None) -> Findings:
    """All findings of an experiment: responses as analysis.responses declares them, the others shown beside.

    look: the declared look of a sequential design that is being taken; by default the last one that was.
    Failed, missing and planned runs leave gaps, which are reported and never filled.
    """
    attempts = store.attempts(experiment.id)
    runs = [run for run in attempts if not run.set_aside]
    spec = experiment.spec
    names = dict.fromkeys(r.name for run in runs for r in run.responses)
    declared = spec.analysis.model_copy(update={"responses": effective_responses(spec, runs)})
    taken = experiment.environment.get("looks", [])
    begun = len({r.block for r in runs if r.status == "finished"})
    plan = SequentialPlan.of(spec, len(taken) if look is None else look, begun)
    added_blocks = experiment.replications - spec.design.replications
    design = design_of(spec, added_blocks=added_blocks)
    responses = _responses(declared.responses, runs, experiment, design, declared, plan, analysed=True)
    deciding = deciding_response(spec, declared.responses, runs)
    all_effects = _effects(responses, deciding, design)
    largest = next((e.factors[0] for e in all_effects if len(e.factors) == 1), None)
    if (subject := subject_of(spec, largest)) != design.subject:
        design = design_of(spec, subject, added_blocks=added_blocks)
        responses = _responses(declared.responses, runs, experiment, design, declared, plan, analysed=True)
    first = next((r for r in responses if r.name == deciding), None)
    in_order = spec.known_responses()
    known = [*(n for n in in_order if n in names), *(n for n in names if n not in set(in_order))]
    others = _responses([n for n in known if n not in declared.responses], runs, experiment, design, declared, plan)
    progress = progress_of(runs)
    usable = [r for r in responses if not r.unusable]
    look_results = [f"{t['words'][0].upper()}{t['words'][1:]}." for t in taken]
    method = next((r.method for r in [*responses, *others] if r.is_energy), None)
    missed = rate_lines([*responses, *others])
    alone = is_alone(spec, responses)
    around = Circumstances(progress, cpu_share_text(runs), missed, stand_ins(runs), not_here(runs))
    what = what_text(first) if first else spec.known_responses()[deciding].label
    if alone:
        headline = headline_of_a_run(first, alone_forms(spec, responses), around)
    else:
        headline = headline_of(first, what, responses, design, all_effects, around)
    warnings = [*attached_caveats(runs), *rate_caveats(missed), *other_caveats(experiment, runs)]
    warnings += _absent(spec.analysis.responses, names, runs)
    warnings += verdict.caveats(progress, responses, [*responses, *others], experiment.replications)
    valued = {run.run_index for run in runs if run.value(declared.responses[0]) is not None}
    added = addition_caveats(experiment, len(alone_in_block(runs, valued, design, declared)))
    warnings += _why_not_compared(first, headline)
    return Findings(
        experiment=experiment.name,
        experiment_id=experiment.id,
        question=experiment.question,
        subject=design.subject,
        condition_factors=design.others,
        alpha=declared.alpha,
        energy_method=method,
        energy_words=experiment.energy_words,
        energy_min_ratio=experiment.energy_min_ratio,
        answer=answer_of(headline, _shown(first, responses, design), design, progress, runs),
        effects=all_effects,
        verdict=(alone_statement(usable),) if alone else verdict.statements(usable, design),
        caveats=(
            *not_here_caveats(runs),
            *durability_caveats(runs),
            *session_caveats(runs),
            *look_results,
            *_repeated(attempts),
            *added,
            *warnings,
            *sync_caveats(runs),
            *update_caveats(runs),
        ),
        progress=progress,
        responses=tuple(responses),
        others=tuple(others),
        databases=database_facts(runs),
        runs=tuple(run_facts(r, [x.name for x in (*responses, *others)]) for r in attempts),
        meters=meters_of(runs),
        lines=energy_lines(runs, design),
        loads=load_facts(runs),
    )


def _shown(
    first: ResponseFinding | None, responses: Sequence[ResponseFinding], design: Layout
) -> ResponseFinding | None:
    """Returns the response of the answer's rows: the one that decides, else the first one that can be compared."""
    ordered = [r for r in (first, *responses) if r is not None]
    valued = [r for r in ordered if any(k.cells for k in r.rankings) and not is_asked_for(r.name, design.subject)]
    return next((r for r in valued if r is first and not r.unusable), None) or next(
        (r for r in valued if is_comparable(r, design)), next(iter(valued), None)
    )


def _effects(responses: Sequence[ResponseFinding], deciding: str, design: Layout) -> tuple[Effect, ...]:
    """Returns the effects on the response that decides, else on the first usable one. An effect of a factor that sets
    the response is left out.
    """
    ordered = sorted(responses, key=lambda r: r.name != deciding)
    judged = (r for r in ordered if not r.unusable and r.better is not Better.NEITHER)
    first = next(judged, None)
    results = effects(first, design.levels) if first else ()
    return tuple(e for e in results if first and not any(is_asked_for(first.name, factor) for factor in e.factors))


def _responses(
    names: Sequence[str],
    runs: Sequence[Run],
    experiment: Experiment,
    design: Layout,
    declared: Analysis,
    plan: SequentialPlan,
    *,
    analysed: bool = False,
) -> list[ResponseFinding]:
    known = experiment.spec.known_responses()
    findings = (
        respond(n, runs, design, declared, experiment.energy_min_ratio, plan, analysed=analysed, responses=known)
        for n in names
    )
    return [r for r in findings if r is not None]


def _why_not_compared(first: ResponseFinding | None, headline: str) -> list[str]:
    """Returns why the response that decides is not compared, if the headline has no room for it."""
    if first is None or first.unusable or any(c.differs is not None for k in first.rankings for c in k.contrasts):
        return []
    why = why_none(first)
    return [] if why in headline or not first.rankings else [f"No comparison of {first.title}: {why}."]


def _absent(declared: Sequence[str], names: Collection[str], runs: Sequence[Run]) -> list[str]:
    """Returns a sentence if no finished run has some of the declared responses. names: the responses that runs have."""
    done = [run for run in runs if run.status == "finished"]
    absent = [name for name in declared if name not in names]
    if not done or not absent:
        return []
    without = listed(sorted({database_level(run) for run in done}), "or")
    return [f"No run has {listed(absent, 'or')}, which analysis.responses declares: {without} does not report it."]


def _repeated(attempts: Sequence[Run]) -> list[str]:
    """Returns a sentence if runs were repeated for their conditions, with the rule for the attempt that counts."""
    tried = len({run.run_index for run in attempts if run.attempt})
    if not tried:
        return []
    aside = sum(run.set_aside for run in attempts)
    return [f"{count(tried, 'run')} flagged for conditions and repeated, {count(aside, 'attempt')} set aside: {RULE}."]
