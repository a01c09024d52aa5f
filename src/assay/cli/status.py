"""`assay` alone in a project: what there is, how the last run ended, what needs attention, and what to do next."""

from __future__ import annotations

from datetime import UTC, datetime

from assay.formats.project.discovery import current_project
from assay.runs.exit_status import DONE
from assay.text.wording import count_of, few


def print_status() -> int:
    from assay.formats.project.aliases import spec_of
    from assay.formats.project.selection import project_tasks, suite_tasks
    from assay.tasks.last_results import last_results, last_run
    from assay.text.ages import age_text
    from assay.text.numbers import number

    project = current_project()
    assert project is not None  # noqa: S101 - the caller has looked
    tasks, entry = project_tasks(project), project.entry
    folders = {name.rpartition("/")[0] for name in tasks.by_name}
    parts = [f"{count_of(len(tasks.by_name), 'task')} in {count_of(len(folders), 'folder')}"]
    parts += [count_of(len(entry.suites), "suite")] if entry.suites else []
    names = [entry.model] if isinstance(entry.model, str) else entry.model or []
    parts += [
        f"model {name}" + (f" ({spec_of(project, name).model})" if name in entry.models else "") for name in names
    ]
    print(f"{project.name}: {', '.join(parts)}\n")
    run, results = last_run(project.root), last_results(project.root)
    if run is not None:
        score = "no score" if run.score is None else number(run.score)
        between = "" if run.low is None or run.high is None else f" ({number(run.low)} – {number(run.high)})"
        age = age_text((datetime.now(UTC) - run.time).total_seconds())
        print(
            f"last run   {run.model}, {age} ago: {score}{between} on {count_of(len(run.tasks), 'task')}, {run.folder}"
        )
    never = [name for name in tasks.by_name if name not in results]
    failed = [name for name, each in results.items() if name in tasks.by_name and not each.complete]
    attention = [f"failed attempts: {few(failed, 3)}"] if failed else []
    attention += [f"never run: {few(never, 3)}"] if never and results else []
    attention += [*tasks.files.notes]
    if attention:
        print(f"attention  {' · '.join(attention)}")
    print()
    for suite in list(entry.suites)[:3]:
        members = suite_tasks(tasks, suite)
        print(f"{f'assay run @{suite}':<22}  {count_of(len(members), 'task')}")
    if entry.baseline is not None:
        print(f"assay list . --changed {entry.baseline}   what would run")
    print("assay list   assay run   assay view   assay --help")
    return DONE
