"""`function_call_coverage`: which of the required function calls were made, in any order or in the given one."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from assay.core.describe import ScorerInfo, count, describes, mean_of, share
from assay.core.errors import UsageError
from assay.core.seams import NO_CONTEXT, BuildContext
from assay.core.types import Completion, Sample, Score, Trace
from assay.part_options import Doc, TemplateOption, part
from assay.prompts.row_sample import parse_list
from assay.prompts.written_text import row_variables
from assay.scorers.judging.variables import scorer_field
from assay.snippets.payload import solver_output

_VALUES = (
    share("required_calls_coverage"),
    share("all_required_calls_made"),
    count("num_required_calls_made", lower_is_better=False),
    count("num_required_calls_not_made", lower_is_better=True),
    count("num_unrequired_calls", lower_is_better=True),
    count("num_required_calls_total"),
)
NamedCall = tuple[str, Any]
"""Name and arguments; arguments None means any."""


@describes(
    ScorerInfo(
        values=_VALUES, aggregates=tuple(mean_of(value.name, key=value.name) for value in _VALUES), needs_answer=True
    )
)
@part(
    "Which of the required function calls were made.",
    example='function_calls: "{{ sample.required | tojson }}", mode: in_order',
)
class FunctionCallCoverage:
    """How many of the required function calls were made, and whether all were.

    Calls before the first user message do not count.
    """

    def __init__(
        self,
        key: str,
        *,
        function_calls: Annotated[str, TemplateOption("Template of a JSON list of names or {name, arguments}.")],
        mode: Annotated[Literal["any_order", "in_order"], Doc("Whether the order of the list counts.")] = "any_order",
        has_solver: bool = True,
        context: BuildContext = NO_CONTEXT,
    ) -> None:
        if not has_solver:
            raise UsageError(f"scorer `{key}`: a task without a solver has no function calls")
        self.name = key
        self._in_order = mode == "in_order"
        self._required = scorer_field(key, "function_calls", function_calls, context)

    async def __call__(self, sample: Sample, trace: Trace) -> Score:
        required = self._wanted(sample)
        trace_seen = solver_output(trace).trace
        made = [(str(call.get("name")), _arguments(call)) for call in trace_seen.function_calls]
        places = matches(required, made)
        matched = [call for call, at in zip(required, places, strict=True) if at is not None]
        missing = [call for call, at in zip(required, places, strict=True) if at is None]
        complete = not missing and (not self._in_order or is_subsequence(required, made))
        return Score(
            name=self.name,
            values={
                "all_required_calls_made": complete,
                "required_calls_coverage": len(matched) / len(required) if required else 1.0,
                "num_required_calls_made": len(matched),
                "num_required_calls_not_made": len(missing),
                "num_unrequired_calls": len(made) - len(matched),
                "num_required_calls_total": len(required),
            },
            metadata={
                "required": [_shown(call) for call in required],
                "called": [_shown(call) for call in made],
                "matched": [_shown(call) for call in matched],
                "unmatched": [_shown(call) for call in missing],
            },
        )

    def gold(self, sample: Sample) -> Completion | None:
        """An answer that makes every required call, in their order."""
        calls = [
            {
                "id": f"call_{at}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps({} if arguments is None else arguments)},
            }
            for at, (name, arguments) in enumerate(self._wanted(sample))
        ]
        return Completion(text="", finish_reason="tool_calls", tool_calls=calls) if calls else Completion(text="")

    def _wanted(self, sample: Sample) -> list[NamedCall]:
        text = self._required.render(row_variables(sample), sample)
        try:
            return [_entry(entry) for entry in parse_list(text)]
        except (ValueError, KeyError) as error:
            message = f"expected a list of names or {{name, arguments}}, got {text[:200]!r}"
            raise self._required.failure("bad_input", message, sample) from error


def matches(required: list[NamedCall], made: list[NamedCall]) -> list[int | None]:
    """For each required call the made call that meets it: entries with arguments choose first, each call once."""
    free = set(range(len(made)))
    matched: list[int | None] = [None] * len(required)
    for strict in (True, False):
        for at, wanted in enumerate(required):
            if (wanted[1] is not None) is strict:
                chosen = next((number for number in sorted(free) if _meets(made[number], wanted)), None)
                matched[at] = chosen
                free -= {chosen}
    return matched


def is_subsequence(required: list[NamedCall], made: list[NamedCall]) -> bool:
    calls = iter(made)
    return all(any(_meets(call, wanted) for call in calls) for wanted in required)


def _meets(call: NamedCall, wanted: NamedCall) -> bool:
    return call[0] == wanted[0] and (wanted[1] is None or call[1] == wanted[1])


def _entry(entry: Any) -> NamedCall:
    if isinstance(entry, str):
        return entry, None
    if not isinstance(entry, dict):
        raise ValueError("neither a name nor a mapping")
    arguments = entry.get("arguments")
    return str(entry["name"]), json.loads(arguments) if isinstance(arguments, str) else arguments


def _arguments(call: Any) -> Any:
    arguments = call.get("arguments")
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        return json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return arguments  # what the model wrote is not JSON: it equals only itself


def _shown(call: NamedCall) -> Any:
    return call[0] if call[1] is None else {"name": call[0], "arguments": call[1]}
