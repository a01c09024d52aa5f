"""READ FIRST: the records, the seams, and the life of a run, in some 2,000 lines.

Read in this order, in which nothing is used before it is defined. About how long each takes:

    describe      1 min  what a part says of itself: its numbers, their range and direction, what it needs
    types         3 min  the records: Sample -> Request -> Completion -> Trace -> Score or Failure -> Record
    errors        1 min  UsageError is for the person, FailureError is for the journal
    seams         2 min  what a model, solver, scorer, aggregate, dataset and executor are, and what else they may offer
    regular_file  1 min  opening and reading untrusted files: regular files only, up to a size limit
    fingerprint          the identity of anything: sha256 of its canonical JSON
    task          1 min  a TaskDefinition whose names have become objects
    usage         1 min  the tokens an attempt used, including those that no trace shows
    draws         1 min  which of a model's possible answers a request asks for
    attempt       1 min  one sample once through its task; the one place where an exception becomes a failure
    journal       4 min  a line per attempt: scored, failed or damaged; what remains, and which line counts
    model_stack   2 min  limits and settings, each a model around a model
    run           1 min  every remaining attempt, through an executor, into the journal

`assay.run_config` are the settings of a run, `assay.run_file` the run.json that stores them.
`assay.runs.evaluate` puts these together; the other packages supply the parts.
"""
