"""What a value must be, in our own words: pydantic's errors as the end of a message, "expected ..., got ..."."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic_core import ErrorDetails

_INPUT_MAX = 60  # characters of a value that a message shows

#: pydantic's type of error -> what it expects; names in braces are of the error's context.
_EXPECTED = {
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "bytes_type": "bytes",
    "dict_type": "a table",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "less_than": "a number below {lt}",
    "less_than_equal": "a number of at most {le}",
    "list_type": "a list in brackets",
    "literal_error": "one of {expected}",
    "model_type": "a table",
    "none_required": "no value",
    "string_pattern_mismatch": "a text of the form {pattern}",
    "string_too_long": "a text of at most {max_length} characters",
    "string_too_short": "a text of at least {min_length} characters",
    "string_type": "a text in quotes",
    "too_long": "at most {max_length} entries",
    "too_short": "at least {min_length} entries",
}
#: The branches of a union of plain values, as pydantic names them.
_BRANCHES = {"bool": "true or false", "float": "a number", "int": "a whole number", "str": "a text in quotes"}


def expectation(error: ErrorDetails, beside: Iterable[ErrorDetails] = ()) -> str:
    """Returns "expected ..., got ..." for an error, or the message of a validator of ours. beside: all errors of the
    same check, among them those of the other branches of a union.
    """
    if error["type"] == "value_error":
        return error["msg"].removeprefix("Value error, ")
    value = repr(error["input"])
    shown = value if len(value) <= _INPUT_MAX else f"{value[: _INPUT_MAX - 3]}..."
    return f"expected {_expected(error, beside)}, got {shown}"


def _expected(error: ErrorDetails, beside: Iterable[ErrorDetails]) -> str:
    *place, branch = error["loc"] or ("",)
    others = [other["loc"][-1] for other in beside if list(other["loc"][:-1]) == place]
    branches = [_BRANCHES[name] for name in others if isinstance(name, str) and name in _BRANCHES]
    if branch in _BRANCHES and len(branches) > 1 and error["type"] != "finite_number":
        whole, number = _BRANCHES["int"], _BRANCHES["float"]
        kept = [text for text in branches if not (text == whole and number in branches)]
        return ", ".join(kept[:-1]) + f" or {kept[-1]}" if len(kept) > 1 else kept[0]
    context = {name: f"{v:g}" if isinstance(v, float) else v for name, v in error.get("ctx", {}).items()}
    if (text := _EXPECTED.get(error["type"])) is not None:
        entry = "entry" if context.get("min_length") == 1 else "entries"
        return text.format_map(context).replace("entries", entry)
    return error["msg"][0].lower() + error["msg"][1:]
