"""Your own metric: a plain function, named in a task file as `my_metric:starts_politely`."""


def starts_politely(prediction, targets, extras):
    """1.0 when the answer begins with one of the targets, ignoring case."""
    text = prediction.strip().lower()
    return float(any(text.startswith(target.lower()) for target in targets))
