"""Which language a text is in: by its script, and by its common words where languages share one.

Enough to check whether a model answered in the requested language. It is no match for a trained detector on a few
words, and returns None rather than guess.
"""

from __future__ import annotations

import re
from collections import Counter

MOST_CHARACTERS = 100_000
"""The rest of a text is not read."""

# first and last code point of scripts that one or a few languages use
_SCRIPTS = {
    "devanagari": (0x0900, 0x097F),
    "bengali": (0x0980, 0x09FF),
    "gurmukhi": (0x0A00, 0x0A7F),
    "gujarati": (0x0A80, 0x0AFF),
    "tamil": (0x0B80, 0x0BFF),
    "telugu": (0x0C00, 0x0C7F),
    "kannada": (0x0C80, 0x0CFF),
    "malayalam": (0x0D00, 0x0D7F),
    "thai": (0x0E00, 0x0E7F),
    "hangul": (0xAC00, 0xD7AF),
    "kana": (0x3040, 0x30FF),
    "han": (0x4E00, 0x9FFF),
    "arabic": (0x0600, 0x06FF),
    "hebrew": (0x0590, 0x05FF),
    "greek": (0x0370, 0x03FF),
    "cyrillic": (0x0400, 0x04FF),
}
_ONLY = {
    "bengali": "bn",
    "gurmukhi": "pa",
    "gujarati": "gu",
    "tamil": "ta",
    "telugu": "te",
    "kannada": "kn",
    "malayalam": "ml",
    "thai": "th",
    "hangul": "ko",
    "kana": "ja",
    "han": "zh",
    "hebrew": "he",
    "greek": "el",
}
_WORDS = {
    "devanagari": {
        "hi": "है हैं और के में की को से का यह नहीं एक पर लिए भी था हो",
        "mr": "आहे आणि आहेत मध्ये हे ते एक नाही होते करते च्या ला या साठी असे",
        "ne": "छ हो र मा को छन् यो पनि गर्न भएको लागि हुन्छ थियो छैन",
    },
    "cyrillic": {
        "ru": "и в не на что я с он как это по но они мы из за то все так его был она для",
        "bg": "и в на е да се за от с не са че като по до това ще си при който към",
        "uk": "і в не на що з як це до та у він є за але й від для її",
    },
    "arabic": {
        "ar": "في من على إلى أن هذا التي الذي كان مع هو هي لا ما عن كل وقد هذه",
        "fa": "است که را این به از در با برای می آن های بود یک شد هم نیست خود",
        "ur": "ہے کے کی میں اور کا ہیں کو سے نے یہ پر ایک نہیں تھا جو بھی",
    },
    "latin": {
        "en": "the of and to in is that it was for on are with as be this have from or by not but you at we an they",
        "de": "der die und das ist nicht ein eine zu den mit von sich auf für es im dem sie werden auch wir ich haben",
        "fr": "le la les et des est un une dans que pour qui sur pas au avec ce il par plus sont nous",
        "es": "el la de que y en los se del las un por con no una su para es al lo como más o pero",
        "pt": "de que e o a do da em um para é com não uma os no se na por mais as dos como mas foi você está",
        "it": "di che e il la un per non una in sono è le con si dei da come gli più ma nel della anche questo",
        "nl": "de het een van en in is dat op te zijn voor met niet die er aan ook als maar door",
        "sv": "och att det i en som är på för med av till inte den har ett om jag men så",
        "fi": "ja on ei se että hän mutta oli kun niin myös ovat tämä kuin joka voi sen mitä ole",
        "vi": "và của là có không được cho một người trong với các những này đã tôi khi để từ làm đến",
        "sw": "na ya wa kwa ni katika za la kuwa hii yake cha au pia watu hiyo kama lakini sana vya",
        "pl": "i w nie na się z do to że jest jak po ale co za od przez dla tak są",
        "tr": "ve bir bu da için ile de çok olarak daha olan gibi en ne var ama kadar",
        "cs": "a se na v je že to s z do o i jsem jsou ale jako by jeho který které pro také nebo byl být po si svou",
        "sk": "a sa na v je že to s z do o i som sú ale ako by jeho ktorý ktoré pre aj alebo bol byť po si nie",
        "hu": "a az és hogy nem is egy van volt meg ez de csak mint már ki el én még mert azt ha vagy nagyon lesz",
        "ro": "și în de la nu cu pe un o este sunt că care mai din pentru se au fi ca am dar sau lui ce mă mea",
        "da": "og i at det er en den til på af for med som ikke de har jeg var et han men om vi fra også min",
        "no": "og i det er en på å som til av for med at ikke den de har jeg var et han men om vi fra også meg",
        "hr": "i u je na se da su za od s a što kao koji ne to bi ali iz ili sam smo nije će o po",
        "ca": "de la i que el a en les del per un amb una els no es al és són com però més",
        "id": "yang dan di untuk dengan dari ini dalam tidak itu pada adalah akan ke atau juga",
    },
}


def language_of(text: str) -> str | None:
    """The language's two-letter code, or None when the text does not show it.

    Misleads on a few words, on close relatives that are not in its table, and on a text that changes its language
    after its first 100,000 characters.
    Example: language_of("Der Hund ist nicht im Haus und die Katze auch nicht.") == "de"
    """
    text = text[:MOST_CHARACTERS]
    script = _script_of(text)
    if script is None:
        return None
    if script in _ONLY:
        return _ONLY[script]
    # vowel signs of Indian scripts are not word characters to `re`, so words are split at punctuation and spaces
    words = Counter(re.findall(r"[^\s\d.,;:!?()\[\]{}\"“”«»*_।॥،؟۔]+", text.lower()))
    hits = {language: sum(words[word] for word in common.split()) for language, common in _WORDS[script].items()}
    best = max(hits, key=hits.__getitem__)
    # Danish and Norwegian, or Czech and Slovak, may share every word of a sentence
    alone = sum(count == hits[best] for count in hits.values()) == 1
    return best if hits[best] and alone else None


def _script_of(text: str) -> str | None:
    """The script of most letters; Japanese mixes two, and then kana decides."""
    scripts: Counter[str] = Counter()
    for character, times in Counter(text).items():
        if character.isalpha():
            point = ord(character)
            scripts[next((name for name, (low, high) in _SCRIPTS.items() if low <= point <= high), "latin")] += times
    if not scripts:
        return None
    most = scripts.most_common(1)[0][0]
    return "kana" if most == "han" and scripts["kana"] else most
