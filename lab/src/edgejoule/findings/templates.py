"""All templates of verdicts: one case, its forms, the longest first. A form has no verb that must agree with a level.

A placeholder without a value removes its form. The first form that is short enough is used.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping

WORDS_MAX = 25

TEMPLATES: Mapping[str, tuple[str, ...]] = {
    # nothing to rank
    "a run of a command": ("A run of {name} {clauses}.", "A run {clauses}.", "A run {first_clause}."),
    "all failed": ("All {runs} failed, so there is no verdict.",),
    "one run failed": ("The only run failed, so there is no verdict.",),
    "no value": ("No run has a value of {what}, so there is no verdict.",),
    "no value yet": ("No run has a value of {what} yet, so there is no verdict.",),
    "set by a factor": ("The factor {factor} sets the {what}, so it is not compared; see the tables.",),
    "one level": (
        "Nothing to compare {best} with: no other level has values of {what}.",
        "Nothing to compare with: only one level has values of {what}.",
    ),
    "rate missed": ("Nothing to compare: {missed}.", "Nothing to compare: no cell sustains its rate."),
    "not comparable": (
        "No comparison of {what} is possible: {why}.",
        "No comparison of {what} is possible: {short_why}.",
        "No comparison of {what} is possible; the reason is below.",
    ),
    "disturbed": ("Other programs took {share} of the CPU; the watts are not usable.",),
    # levels of one factor
    "untested": (
        "{most} with {best}: {value}{others}; not tested.",
        "{most} with {best}: {value}{range}; not tested.",
        "{most} with {best}: {value}; not tested.",
        "{most}: {value}; not tested.",
    ),
    "decided": (
        "{most} with {leaders}{tie}: {value}{others}{exact}.",
        "{most} with {leaders}{tie}: {value}{range}{exact}.",
        "{most} with {leaders}{tie}: {value}{exact}.",
        "{most} with {count}{tie}: {value}{range}{exact}.",
        "{most}: {value}, with {count}{tie}{exact}.",
    ),
    "equal": ("{label}: equal {margin} with {levels}.", "{label}: equal {margin} with all {count}."),
    "some equal": (
        "{label}: no difference shows between {levels}{interval}; {equal} are equal {margin}.",
        "{label}: no difference shows between {levels}; {equal} are equal {margin}.",
        "{label}: no difference shows between {levels}{interval}.",
        "{label}: no difference shows between {count}{interval}.",
    ),
    "undecided": (
        "{label}: no difference shows between {levels}{interval}{resolved}.",
        "{label}: no difference shows between {count}{interval}{resolved}.",
        "{label}: no difference shows between {count}.",
    ),
    # conditions
    "the same best": (
        "{most} in {where}: {leaders}{tie}; {others}.",
        "{most} in {where}: {leaders}{tie}.",
        "{most} in {where}: {count}{tie}.",
    ),
    "conditions": (
        "{most}. {verdicts}",
        "{most}. {short_verdicts}",
        "{most}. {bests}",
        "{most}: {wins}; {open}.",
        "{most}: {wins}.",
        "{most}: {first_win}.",
        "{most}: {often}.",
        "{most}: decided in {decided}.",
        "Decided in {decided}.",
    ),
    "count of the best": ("{wins}; {open}.", "{wins}.", "{first_win}."),
    "undecided everywhere, counted": ("No difference shows in {where}.",),
    "equal everywhere": (
        "{label} in {where}: equal {margin} with {levels}.",
        "{label} in {where}: equal {margin} with all {count}.",
    ),
    "undecided everywhere": (
        "{label} in {where}: no difference shows between {levels}{interval}{resolved}.",
        "{label} in {where}: no difference shows between {count}{resolved}.",
        "{label} in {where}: no difference shows.",
    ),
    # one analysis of any table
    "an effect": (
        "{response} depends on {sources}; {most} {mean} with {best}, {standing}.",
        "{response} depends on {sources}; {most} {mean} with {best}.",
        "{response} depends on {first}{more}; {most} {mean} with {best}.",
        "{response} depends on {first}{more}; {most} {mean}.",
        "{response} depends on {first}{more}.",
        "An effect on {response} shows.",
    ),
    "groups differ": (
        "{response} differs between groups of {groups}; {most} {mean} with {best}, {standing}.",
        "{response} differs between {all}; {most} {mean} with {best}, {standing}.",
        "{response} differs between {all}; {most} {mean} with {best}.",
        "{response} differs between {all}; {most} {mean}.",
    ),
    "no difference": (
        "No effect of {factors} on {response} shows at α = {alpha}, which does not prove that there is none.",
        "No effect of {factor_count} on {response} shows, which does not prove that there is none.",
        "No effect on {response} shows.",
    ),
    "all equal": (
        "{response} is equal {margin} in {all} of {groups}, at α = {alpha}.",
        "{response} is equal {margin} in {all}.",
    ),
    # in front of a second response
    "first is undecided": ("{label}: undecided.",),
    "first is equal": ("{label}: equal {margin}.",),
    # behind the verdict
    "rate not sustained": ("{missed}.",),
    "other programs": ("Other programs took {share} of the CPU.",),
    "stand-in": ("{database} is a stand-in.",),
    "not here": ("{database} is not here.",),
    "preliminary": ("Preliminary: {done} of {runs}.",),
}


def forms(case: str, values: Mapping[str, object]) -> list[str]:
    """Returns the forms of a case that have all their values, the longest first."""
    return [form.format_map(values) for form in TEMPLATES[case] if _has_all(form, values)]


def _has_all(form: str, values: Mapping[str, object]) -> bool:
    return all(name is None or values.get(name) is not None for _, name, _, _ in string.Formatter().parse(form))


def fitting(texts: Iterable[str], words_max: int = WORDS_MAX) -> str:
    """Returns the first text of at most `words_max` words, or the last one."""
    text = ""
    for text in texts:
        if words(text) <= words_max:
            break
    return text


def words(text: str) -> int:
    """Counts words, separated by blanks."""
    return len(text.split())
