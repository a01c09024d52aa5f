"""Two models that can be run anywhere: small functions that make the mistakes models make."""

GOOD = ("love", "again tomorrow", "best", "great", "wonderful", "better", "quick", "stars", "not bad", "complain")
BAD = ("broke", "never", "late", "back", "none")
IRONIC = ("does not charge", "none for", "smell of glue")


def large(prompt: str) -> str:
    """Counts words of praise and blame; minds irony when the prompt says so."""
    review = prompt.splitlines()[-1].lower()
    if "irony" in prompt and any(sign in review for sign in IRONIC):
        return "negative"
    return _by_words(review)


def small(prompt: str) -> str:
    """Knows fewer words; with a long instruction it writes a sentence instead of a label now and then."""
    review = prompt.splitlines()[-1].lower()
    label = _by_words(review) if len(review) < 36 else "neutral"
    return f"The label is {label}." if "irony" in prompt and len(review) % 4 == 0 else label.capitalize()


def _by_words(review: str) -> str:
    praise, blame = (sum(sign in review for sign in signs) for signs in (GOOD, BAD))
    return "positive" if praise > blame else "negative" if blame > praise else "neutral"
