"""READ FIRST: the records, the seams, and the life of a run, in some 2,000 lines.

An order in which nothing is used before it was met, and about how long each takes:

    types         3 min  the records: Sample -> Request -> Completion -> Trace -> Score or Failure -> Record
    errors        1 min  UsageError is for the person, FailureError is for the journal
    seams         2 min  what a model, solver, scorer, aggregate, dataset and executor are, and what they may be besides
    regular_file  1 min  files that may have come from elsewhere, opened and read with a bound
    fingerprint          the identity of anything: sha256 of its canonical JSON
    task          1 min  a TaskDefinition whose names have become objects
    usage         1 min  what an attempt has asked of models, also where no trace tells
    attempt       1 min  one sample once through its task; the one place where an exception becomes a failure
    key_set              many keys in little memory
    checksum      1 min  the number and checksum that every line of a journal ends with
    journal       4 min  a line per attempt: what is finished, what is still owed, and which line counts
    cache         1 min  completions by the fingerprint of their request
    model_stack   2 min  cache, retries and limits, each a model around a model
    run           1 min  every attempt that is owed, through an executor, into the journal
    config        1 min  what a run was asked to do
    run_file             the run.json that keeps it

What puts these together is `assay.runs.evaluate`; what fills them is everything else.
"""
