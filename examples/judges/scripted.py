"""Scripted judges, so that the example runs offline: each answers from its prompt, the same every time."""

import json
import re


def checker(prompt):
    """Supported is a sentence that a source has word for word."""
    return _verdict(prompt, lambda sentence, source: sentence in source)


def skimmer(prompt):
    """Supported is a sentence most of whose words a source has."""

    def most(sentence, source):
        words = sentence.lower().split()
        return sum(word in source.lower() for word in words) > 0.7 * len(words)

    return _verdict(prompt, most)


def optimist(prompt):
    """Finds everything supported."""
    return _verdict(prompt, lambda sentence, source: True)


def _verdict(prompt, is_supported):
    source = re.search(r"<source.*?>\n(.*?)\n</source>", prompt, re.DOTALL)[1]
    answer = re.search(r"<answer>\n(.*?)\n</answer>", prompt, re.DOTALL)[1]
    sentences = [part.strip() for part in answer.split(".") if part.strip()]
    said = [{"statement": each, "supported": is_supported(each, source)} for each in sentences]
    return json.dumps({"statements": said})
