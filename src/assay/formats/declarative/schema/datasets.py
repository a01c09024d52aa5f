"""Datasets: where samples come from."""

from __future__ import annotations

from assay.datasets.cell_types import DTYPES
from assay.datasets.tables import FORMATS as URL_FORMATS
from assay.datasets.traces import FORMATS as TRACE_FORMATS
from assay.formats.declarative.code_shapes import TemplateText
from assay.formats.declarative.from_annotations import REFERENCED_KEY
from assay.formats.declarative.schema.fields import (
    DESCRIPTION,
    LONG_DESCRIPTION,
    NAME,
    TAGS,
    Kind,
    kind,
    kinds,
    mapping,
    snippet,
    template,
    text,
)
from assay.formats.declarative.schema.filters import FILTER
from assay.formats.declarative.schema.together import exactly_one
from assay.formats.declarative.shape import (
    Anything,
    Boolean,
    Field,
    Fields,
    ListOf,
    MapOf,
    Number,
    OrMapping,
    Refused,
    Report,
    Tagged,
    Text,
)
from assay.formats.declarative.yaml_reader import FieldPath

_FILTERS = Field(ListOf(FILTER), [], "Rows kept: those that match all.")
_COLUMNS = Field(ListOf(Text(min_length=1)), None, "Columns kept; all when absent.")
_DTYPES = Field(
    OrMapping(Text(words=("string",)), MapOf(Text(words=DTYPES))),
    None,
    "What columns of a table hold, where they do not hold what they look like; `string` keeps every cell as text.",
)
MAX_GENERATED_ROWS = 1_000_000
_ROW = ("sample", "index")
GENERATOR_STEP = Tagged(
    "generator step",
    kinds(
        "{} step",
        {
            "template": kind(
                "Columns by templates over the row so far.",
                columns=Field(MapOf(TemplateText(_ROW), least=1), doc="Each column with its template."),
            ),
            "python": kind(
                "Columns that `generate(sample, index, seed)` returns.",
                generate_snippet=snippet("generate", "Returns a mapping of columns."),
            ),
            "model": kind(
                "What a model writes.",
                model_key=Field(REFERENCED_KEY, doc="The key of the model that writes."),
                system_prompt=template("Over the row so far.", _ROW, None),
                user_prompt=template("Over the row so far.", _ROW, min_length=1),
                column=text("The column that holds the answer.", "output", min_length=1),
                json=Field(Boolean(), False, "The answer is a JSON object, whose fields are the columns."),
            ),
        },
    ),
)


def _source(doc: str, **own: Field) -> Kind:
    return kind(doc, **own, filters=_FILTERS, columns=_COLUMNS)


_SOURCES = {
    "local": _source(
        "A file: .jsonl, .csv, .tsv or .parquet.",
        file_path=text("Relative to the file that defines the dataset.", min_length=1),
        dtypes=_DTYPES,
    ),
    "inline": _source(
        "Rows written in the YAML file.",
        samples=Field(ListOf(MapOf(Anything())), doc="The rows: columns and their values."),
    ),
    "url": _source(
        "A file at an address: .jsonl, .csv, .tsv or .parquet, fetched once and kept.",
        url=text("http:// or https://; a name or password in it is refused.", min_length=1),
        sha256=Field(
            Text(pattern=r"[0-9a-fA-F]{64}"),
            None,
            "Of the file; a mismatch is an error. Without it the score cannot be reproduced.",
        ),
        format=Field(Text(words=URL_FORMATS), None, "What the file is, where its address does not say it."),
        dtypes=_DTYPES,
    ),
    "folder": _source(
        "Text files: columns `sample_id`, `file_name`, `content`, and the fields of their YAML front matter.",
        directory_path=text("Relative to the file that defines the dataset.", min_length=1),
        extension=text("Which files: `.md`; all when absent.", ""),
    ),
    "task_result": _source(
        "What a finished run asked, answered and scored: its journal, a row for each attempt.",
        run_path=text("The run's folder, relative to the file that defines the dataset.", min_length=1),
        task=text("Which of the run's tasks; may be left out when it has one.", None),
    ),
    "traces": _source(
        "Recorded conversations: an Inspect log, spans of OpenTelemetry, or chats in JSON lines.",
        file_path=text(".eval, .json or .jsonl, relative to the file that defines the dataset.", min_length=1),
        format=Field(Text(words=TRACE_FORMATS), None, "What wrote the file, where it does not show."),
        operations=Field(
            ListOf(Text(min_length=1), least=1),
            None,
            "Spans that are samples: `chat`, `text_completion` and `generate_content` when absent.",
        ),
    ),
    "generated": _source(
        "Rows made by templates, Python or a model, written to a file before anything is scored.",
        num_samples=Field(Number(whole=True, least=1, most=MAX_GENERATED_ROWS), doc="How many rows."),
        seed=Field(Number(whole=True), 0, "Another seed is another dataset."),
        dataset_key=Field(REFERENCED_KEY, None, "Rows to begin with, in an order that the seed decides."),
        draw=Field(MapOf(ListOf(Anything(), least=1)), {}, "Columns, each one of these values, chosen by the seed."),
        steps=Field(ListOf(GENERATOR_STEP, least=1), doc="What is done to each row, one after the other."),
    ),
    "huggingface": _source(
        "A dataset of the hub; without a revision the score cannot be reproduced.",
        path=text("The dataset's name on the hub, `owner/name`.", min_length=1),
        split=text("Which part of it, such as `test`.", min_length=1),
        revision=text("Commit or tag; also accepted in `load_dataset_kwargs`.", None),
        load_dataset_kwargs=Field(MapOf(Anything()), {}, "Passed on to `datasets.load_dataset`."),
    ),
}
SOURCE = Tagged(
    "dataset source",
    kinds("{} source", _SOURCES),
    kind="dataset",
    own=mapping("a source", "A dataset of an installed package or your own.", type=Field(Text())),
    refused=dict.fromkeys(
        ("inspect_ai", "langsmith", "phoenix", "claude_code"),
        "Traces are read from files here: export them, and write `source: {type: traces, file_path: …}`.",
    ),
)


def _dataset_rule(result: Fields, where: FieldPath, report: Report) -> None:
    old = result.pop("file_path")
    if old is not None and result["source"] is not None:
        report.wrong((*where, "file_path"), "`source` is given too; keep only that")
    elif old is not None:
        report.warn((*where, "file_path"), "`file_path` is deprecated; write `source: {type: local, file_path: …}`")
        result["source"] = {"type": "local", "file_path": old, "dtypes": None, "filters": [], "columns": None}
    if result["source"] is None:
        report.wrong(where, "a dataset needs `source`")


DATASET = mapping(
    "a dataset",
    "Where samples come from.",
    _dataset_rule,
    exactly_one("source", "file_path"),
    key=Field(REFERENCED_KEY, doc="The key that tasks use."),
    display_name=NAME,
    description=DESCRIPTION,
    long_description=LONG_DESCRIPTION,
    tags=TAGS,
    source=Field(SOURCE, None, "Where the rows are."),
    file_path=text("Old; use `source`.", None),
    generator_specification=Field(
        Refused("generators are written into the dataset here: `source: {type: generated, …}`"),
        None,
        "Refused: write `source: {type: generated, …}`.",
    ),
)
