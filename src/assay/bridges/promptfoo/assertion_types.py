"""promptfoo's assertion types, and which of them are checked here."""

from __future__ import annotations

from assay.scorers.assertions.answer_checks import GUARDRAILS, SKILL
from assay.scorers.assertions.package_assertions import PACKAGES
from assay.scorers.assertions.sample_assertions import GOAL
from assay.scorers.assertions.span_assertions import SPAN_ASSERTIONS
from assay.scorers.assertions.trajectory_assertions import TRAJECTORY_ASSERTIONS

PROGRAMS = ("javascript", "python")
GRADED = (
    "llm-rubric", "model-graded-closedqa", "factuality", "model-graded-factuality", "g-eval", GOAL,
)  # fmt: skip
PERPLEXITY = ("perplexity", "perplexity-score")
TRACED = (*SPAN_ASSERTIONS, *TRAJECTORY_ASSERTIONS, GOAL)
"""Types that look at the spans of a trace."""
SIMILAR = ("similar", "similar:cosine", "similar:dot", "similar:euclidean")
REFUSED = {
    "agent-rubric": "it needs an agent as grader",
    "answer-relevance": "it is not computed here",
    "classifier": "it needs a classification model",
    "context-faithfulness": "use the scorer `rag_checker` in a task of assay's own",
    "context-recall": "use the scorer `rag_checker` in a task of assay's own",
    "context-relevance": "use the scorer `rag_checker` in a task of assay's own",
    "conversation-relevance": "it needs the turns of a conversation",
    "human": "a person's verdict belongs to the viewer's marks",
    "max-score": "it compares the answers of several models",
    "moderation": "it needs a moderation service",
    "pi": "it needs a scoring service",
    "ruby": "Ruby is not run",
    "search-rubric": "it needs a grader that searches the web",
    "select-best": "it compares the answers of several models",
}
"""Types that promptfoo has and assay does not check, with the reason."""
CHECKED = (
    "equals", "contains", "icontains", "contains-all", "contains-any", "icontains-all", "icontains-any", "starts-with",
    "regex", "is-json", "contains-json", "is-xml", "contains-xml", "is-html", "contains-html", "is-refusal",
    "levenshtein", "word-count", "rouge-n", "bleu", "gleu", "cost", "latency", "finish-reason", "tool-call-f1",
    "webhook", "is-valid-openai-tools-call", "is-valid-function-call", "is-valid-openai-function-call",
    GUARDRAILS, SKILL, *PERPLEXITY, *PROGRAMS, *SPAN_ASSERTIONS, *TRAJECTORY_ASSERTIONS, *GRADED, *SIMILAR, *PACKAGES,
)  # fmt: skip
TYPES = (*CHECKED, *REFUSED)
THRESHOLDED = (
    "answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance", "cost", "latency",
    "levenshtein", "perplexity-score", "perplexity", "rouge-n", "similar", "starts-with",
)  # fmt: skip
"""Types that get a default threshold in the cell of a table."""
